// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink_message.hpp"

#include <netlink/attr.h>

namespace fastlet {

bool NetlinkAttributeReader::next(NetlinkAttribute& attribute) {
    if (left_ <= 0 || !nla_ok(at_, left_)) return false;
    attribute.type = static_cast<std::uint16_t>(nla_type(at_));
    attribute.value = {static_cast<const std::uint8_t*>(nla_data(at_)), static_cast<std::size_t>(nla_len(at_))};
    at_ = nla_next(at_, &left_);
    return true;
}

}  // namespace fastlet
