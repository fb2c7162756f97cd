// SPDX-License-Identifier: Apache-2.0
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/coherence/invalidation.hpp"

namespace fastlet::linuxfp {
namespace {

/// As if everything were there, and no packet small enough.
RouteFacts careful(bool ipv4) {
    return {.ipv4 = ipv4, .multipath = true, .realms = true, .customLocal = true, .nexthopId = 0, .mtu = 1};
}

bool parseMetrics(ByteView bytes, RouteFacts& facts) {
    NetlinkAttributeReader reader(bytes);
    NetlinkAttribute attribute;
    while (reader.next(attribute))
        if (attribute.type == RTAX_MTU) facts.mtu = attribute.u32();
    return !reader.malformed();
}

bool parseNexthops(ByteView bytes, RouteFacts& facts) {
    facts.multipath = true;
    while (!bytes.empty()) {
        const auto hop = readStruct<rtnexthop>(bytes);
        if (bytes.size() < sizeof(hop) || hop.rtnh_len < sizeof(hop) || hop.rtnh_len > bytes.size()) return false;
        NetlinkAttributeReader reader(bytes.subspan(sizeof(hop), hop.rtnh_len - sizeof(hop)));
        NetlinkAttribute attribute;
        while (reader.next(attribute))
            if (attribute.type == RTA_FLOW) facts.realms = true;
        if (reader.malformed()) return false;
        bytes = bytes.subspan(std::min<std::size_t>(RTNH_ALIGN(hop.rtnh_len), bytes.size()));
    }
    return true;
}

}  // namespace

RouteFacts routeFacts(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    const auto header = readStruct<rtmsg>(payload);
    const bool ipv4 = payload.empty() || payload.front() != AF_INET6;
    if (payload.size() < sizeof(header)) return careful(ipv4);
    RouteFacts facts;
    facts.ipv4 = ipv4;
    std::uint32_t table = header.rtm_table;
    bool whole = true;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(header)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == RTA_TABLE) table = attribute.u32();
        if (attribute.type == RTA_FLOW) facts.realms = true;
        if (attribute.type == RTA_NH_ID) facts.nexthopId = attribute.u32();
        if (attribute.type == RTA_METRICS) whole = parseMetrics(attribute.value, facts) && whole;
        if (attribute.type == RTA_MULTIPATH) whole = parseNexthops(attribute.value, facts) && whole;
    }
    if (reader.malformed() || !whole) return careful(ipv4);
    facts.customLocal = header.rtm_type == RTN_LOCAL && (table != RT_TABLE_LOCAL || header.rtm_protocol != RTPROT_KERNEL);
    return facts;
}

}  // namespace fastlet::linuxfp
