// SPDX-License-Identifier: Apache-2.0
#include "core/ports/generic_family.hpp"

#include <linux/genetlink.h>

#include <cerrno>

#include "core/ports/netlink_message.hpp"

namespace fastlet {
namespace {

NetlinkRequest familyRequest(const std::string& name) {
    genlmsghdr header{};
    header.cmd = CTRL_CMD_GETFAMILY;
    header.version = 1;
    return {NetlinkProtocol::generic, GENL_ID_CTRL, 0, NetlinkWriter(header).text(CTRL_ATTR_FAMILY_NAME, name).bytes()};
}

void readGroup(ByteView group, GenericFamily& family) {
    std::string name;
    int number = 0;
    NetlinkAttributeReader reader(group);
    for (NetlinkAttribute attribute; reader.next(attribute);) {
        if (attribute.type == CTRL_ATTR_MCAST_GRP_NAME) name = attribute.text();
        if (attribute.type == CTRL_ATTR_MCAST_GRP_ID) number = static_cast<int>(attribute.u32());
    }
    if (!name.empty() && number) family.groups[name] = number;
}

}  // namespace

Result<GenericFamily> findGenericFamily(Netlink& netlink, const std::string& name) {
    if (name.size() >= GENL_NAMSIZ) return Error::make("a generic netlink family name is too long: " + name);
    FASTLET_TRY(answer, netlink.query(familyRequest(name)));
    if (answer.size() < NLMSG_HDRLEN + GENL_HDRLEN) return Error::make("a truncated answer about netlink family " + name);
    GenericFamily family;
    NetlinkAttributeReader reader(ByteView(answer).subspan(NLMSG_HDRLEN + GENL_HDRLEN));
    for (NetlinkAttribute attribute; reader.next(attribute);) {
        if (attribute.type == CTRL_ATTR_FAMILY_ID) family.id = attribute.u16();
        if (attribute.type != CTRL_ATTR_MCAST_GROUPS) continue;
        NetlinkAttributeReader groups(attribute.value);
        for (NetlinkAttribute group; groups.next(group);) readGroup(group.value, family);
    }
    if (!family.id) return Error::make("an answer without a number about netlink family " + name, {}, ENOENT);
    return family;
}

}  // namespace fastlet
