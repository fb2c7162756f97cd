// SPDX-License-Identifier: Apache-2.0
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/parsers.hpp"

namespace fastlet::linuxfp {
namespace {

XdpMode xdpMode(std::uint8_t attached) {
    switch (attached) {
        case XDP_ATTACHED_NONE:
            return XdpMode::none;
        case XDP_ATTACHED_DRV:
            return XdpMode::native;
        case XDP_ATTACHED_SKB:
            return XdpMode::generic;
        case XDP_ATTACHED_HW:
            return XdpMode::offload;
        default:
            return XdpMode::multiple;
    }
}

bool parseXdp(ByteView bytes, Link& link) {
    const auto programs = parseXdpPrograms(bytes);
    if (!programs) return false;
    link.xdpMode = programs->mode;
    // Where several are attached the order of execution is: the device, the driver, the stack.
    for (const auto id : {programs->generic, programs->driver, programs->hardware, programs->single})
        if (id) link.xdp.id = id;
    return true;
}

bool parseLinkInfo(ByteView bytes, Link& link) {
    NetlinkAttributeReader reader(bytes);
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == IFLA_INFO_KIND) link.kind = attribute.text();
        if (attribute.type == IFLA_INFO_SLAVE_KIND) link.slaveKind = attribute.text();
    }
    return !reader.malformed();
}

bool parseLinkAttribute(const NetlinkAttribute& attribute, Link& link) {
    switch (attribute.type) {
        case IFLA_IFNAME:
            link.name = attribute.text();
            break;
        case IFLA_ADDRESS:
            if (attribute.value.size() == link.mac.bytes.size())
                std::copy(attribute.value.begin(), attribute.value.end(), link.mac.bytes.begin());
            break;
        case IFLA_MTU:
            link.mtu = attribute.u32();
            break;
        case IFLA_MASTER:
            link.master = attribute.u32();
            break;
        case IFLA_PROMISCUITY:
            link.promiscuity = attribute.u32();
            break;
        case IFLA_LINKINFO:
            return parseLinkInfo(attribute.value, link);
        case IFLA_XDP:
            return parseXdp(attribute.value, link);
        default:
            break;
    }
    return true;
}

}  // namespace

std::optional<XdpPrograms> parseXdpPrograms(ByteView attribute) {
    XdpPrograms programs;
    NetlinkAttributeReader reader(attribute);
    for (NetlinkAttribute one; reader.next(one);) {
        if (one.type == IFLA_XDP_ATTACHED) programs.mode = xdpMode(one.u8());
        if (one.type == IFLA_XDP_PROG_ID) programs.single = one.u32();
        if (one.type == IFLA_XDP_HW_PROG_ID) programs.hardware = one.u32();
        if (one.type == IFLA_XDP_DRV_PROG_ID) programs.driver = one.u32();
        if (one.type == IFLA_XDP_SKB_PROG_ID) programs.generic = one.u32();
    }
    if (reader.malformed()) return std::nullopt;
    return programs;
}

std::optional<Link> parseLink(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    if (message.nlmsg_type != RTM_NEWLINK || payload.size() < sizeof(ifinfomsg)) return std::nullopt;
    const auto header = readStruct<ifinfomsg>(payload);
    if (header.ifi_family != AF_UNSPEC || header.ifi_index <= 0) return std::nullopt;
    Link link;
    link.ifindex = static_cast<std::uint32_t>(header.ifi_index);
    link.flags = header.ifi_flags;
    link.arphrd = header.ifi_type;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(ifinfomsg)));
    NetlinkAttribute attribute;
    bool whole = true;
    while (reader.next(attribute)) whole = parseLinkAttribute(attribute, link) && whole;
    if (reader.malformed() || !whole || link.name.empty()) return std::nullopt;
    return link;
}

}  // namespace fastlet::linuxfp
