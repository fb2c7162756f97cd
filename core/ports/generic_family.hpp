// SPDX-License-Identifier: Apache-2.0
// Generic netlink families have numbers that the kernel hands out when they register (net/netlink/genetlink.c).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/ports/netlink.hpp"

namespace fastlet {

struct GenericFamily {
    std::uint16_t id = 0;               ///< message type of its requests
    std::map<std::string, int> groups;  ///< multicast group numbers by name
};

/// Error with code ENOENT: this kernel has no such family.
[[nodiscard]] Result<GenericFamily> findGenericFamily(Netlink& netlink, const std::string& name);

}  // namespace fastlet
