// SPDX-License-Identifier: Apache-2.0
// What an event means for the model: which categories must be read anew, and what must be held at once.
#pragma once

#include <linux/netlink.h>

#include <cstdint>

#include "core/ports/netlink.hpp"

namespace fastlet::linuxfp {

enum Category : std::uint32_t {
    kLinks = 1u << 0,  ///< links, qdiscs, filters, attached programs, packet sockets
    kAddresses = 1u << 1,
    kRules = 1u << 2,
    kConf = 1u << 3,    ///< netconf and the sysctls beside it
    kRoutes = 1u << 4,  ///< a new full dump of routes and nexthop objects
    kNftables = 1u << 5,
    kVitals = 1u << 6,
    kEverything = (1u << 7) - 1
};

struct Impact {
    std::uint32_t categories = 0;
    bool holdAll = false;
    std::uint32_t holdInterface = 0;  ///< ifindex; 0: none
};

/// What a route message says that matters to the plan (RTM_NEWROUTE of a dump or of an event).
struct RouteFacts {
    bool ipv4 = true;
    bool multipath = false;
    bool realms = false;
    bool customLocal = false;
    std::uint32_t nexthopId = 0;  ///< RTA_NH_ID
    std::uint32_t mtu = 0;        ///< RTAX_MTU; 0: none
};

/// Everything but routes. Pure; a malformed message means: hold all and read everything.
[[nodiscard]] Impact classify(NetlinkProtocol protocol, const nlmsghdr& message);
/// A malformed message yields the most careful facts.
[[nodiscard]] RouteFacts routeFacts(const nlmsghdr& message);

}  // namespace fastlet::linuxfp
