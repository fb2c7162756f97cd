// SPDX-License-Identifier: Apache-2.0
// Single questions to the kernel's tables: which way would this packet go, and is the next hop resolved?
#pragma once

#include <cstdint>
#include <optional>

#include "core/ports/netlink.hpp"
#include "core/types/ip_address.hpp"
#include "core/types/mac_address.hpp"
#include "linuxfp/engine.hpp"

namespace fastlet::linuxfp {

struct RouteAnswer {
    std::uint8_t type = 0;             ///< RTN_*
    std::uint32_t egress = 0;          ///< ifindex
    std::optional<IpAddress> gateway;  ///< empty: the destination is on the link
    bool encapsulates = false;         ///< RTA_ENCAP
    bool several = false;              ///< chosen among several next hops
};

/// RTM_GETROUTE for a packet that comes in at `ifindex`. Without a source address Linux refuses that question for IPv4, and is
/// asked as for a packet of its own. Error codes as the kernel's: ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EXDEV (reverse
/// path).
[[nodiscard]] Result<RouteAnswer> askRoute(Netlink& netlink, const PacketQuery& query, std::uint32_t ifindex);

struct NeighbourAnswer {
    std::uint16_t state = 0;  ///< NUD_*
    MacAddress mac;
};
/// Error code ENOENT: the kernel does not know this neighbour.
[[nodiscard]] Result<NeighbourAnswer> askNeighbour(Netlink& netlink, const IpAddress& address, std::uint32_t ifindex);

}  // namespace fastlet::linuxfp
