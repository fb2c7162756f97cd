// SPDX-License-Identifier: Apache-2.0
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/parsers.hpp"
#include "linuxfp/introspect/readers.hpp"

namespace fastlet::linuxfp {
namespace {

using Groups = std::set<std::uint32_t>;

Status dumpGroups(Netlink& netlink, Groups& groups) {
    NetlinkWriter payload(nhmsg{});
    payload.attribute(NHA_GROUPS, {});
    auto done = netlink.dump({NetlinkProtocol::route, RTM_GETNEXTHOP, 0, payload.bytes()}, [&](const nlmsghdr& message) {
        if (const auto id = parseNexthopGroup(message)) groups.insert(*id);
    });
    // Before Linux 5.3 there are no nexthop objects.
    if (!done && done.error().code == EOPNOTSUPP) return {};
    return done;
}

/// Routes that the kernel keeps for its own addresses are not counted.
bool isCounted(const nlmsghdr& message) { return readStruct<rtmsg>(netlinkPayload(message)).rtm_table != RT_TABLE_LOCAL; }

void addRoute(const nlmsghdr& message, const Groups& groups, RouteSummary& summary) {
    if (message.nlmsg_type != RTM_NEWROUTE) return;
    if (readStruct<rtmsg>(netlinkPayload(message)).rtm_flags & RTM_F_CLONED) return;
    const auto facts = routeFacts(message);
    if (isCounted(message)) ++summary.count;
    summary.multipath |= facts.multipath || (facts.nexthopId && groups.contains(facts.nexthopId));
    summary.realms |= facts.realms;
    summary.customLocal |= facts.customLocal;
    if (facts.mtu) summary.minMtu = summary.minMtu ? std::min(summary.minMtu, facts.mtu) : facts.mtu;
}

Status dumpRoutes(Netlink& netlink, std::uint8_t family, const Groups& groups, RouteSummary& into) {
    rtmsg header{};
    header.rtm_family = family;
    RouteSummary summary;
    FASTLET_CHECK(dumpFamily(netlink, RTM_GETROUTE, NetlinkWriter(header).bytes(),
                             [&](const nlmsghdr& message) { addRoute(message, groups, summary); }));
    into = summary;
    return {};
}

Status countNeighbours(Netlink& netlink, std::uint64_t& into) {
    std::uint64_t count = 0;
    for (const std::uint8_t family : {AF_INET, AF_INET6}) {
        ndmsg header{};
        header.ndm_family = family;
        FASTLET_CHECK(dumpFamily(netlink, RTM_GETNEIGH, NetlinkWriter(header).bytes(), [&](const nlmsghdr& message) {
            if (!(readStruct<ndmsg>(netlinkPayload(message)).ndm_state & NUD_NOARP)) ++count;
        }));
    }
    into = count;
    return {};
}

}  // namespace

Status readRoutes(Netlink& netlink, NetState& state) {
    Groups groups;
    FASTLET_CHECK(dumpGroups(netlink, groups));
    RouteSummary routes4;
    RouteSummary routes6;
    std::uint64_t neighbours = 0;
    FASTLET_CHECK(dumpRoutes(netlink, AF_INET, groups, routes4));
    FASTLET_CHECK(dumpRoutes(netlink, AF_INET6, groups, routes6));
    FASTLET_CHECK(countNeighbours(netlink, neighbours));
    state.routes4 = routes4;
    state.routes6 = routes6;
    state.neighbours = neighbours;
    return {};
}

}  // namespace fastlet::linuxfp
