// SPDX-License-Identifier: Apache-2.0
// One function per kind of message. Pure. nullopt: not a message of that kind, or malformed beyond use.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/model/net_state.hpp"

namespace fastlet::linuxfp {

/// IFLA_XDP of a link: the programs' ids; 0: none.
struct XdpPrograms {
    XdpMode mode = XdpMode::none;
    std::uint32_t single = 0;  ///< where only one is attached, whatever its mode
    std::uint32_t hardware = 0;
    std::uint32_t driver = 0;
    std::uint32_t generic = 0;
};
[[nodiscard]] std::optional<XdpPrograms> parseXdpPrograms(ByteView attribute);

/// A link without its hooks; `xdp` has only the id of the program.
[[nodiscard]] std::optional<Link> parseLink(const nlmsghdr& message);

struct Qdisc {
    std::uint32_t ifindex = 0;
    std::uint32_t handle = 0;  ///< 0: the kernel's default one
    std::uint32_t parent = 0;
    std::string kind;
};
[[nodiscard]] std::optional<Qdisc> parseQdisc(const nlmsghdr& message);

struct TcFilter {
    std::uint32_t handle = 0;  ///< 0: only says that a classifier of this kind is there
    std::string kind;
    std::uint32_t program = 0;  ///< of a bpf filter
    std::string programName;    ///< of a bpf filter, as it was given when it was added
};
[[nodiscard]] std::optional<TcFilter> parseFilter(const nlmsghdr& message);

/// netdev generic netlink: ifindex and NETDEV_XDP_ACT_* bits.
[[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint64_t>> parseXdpFeatures(const nlmsghdr& message);

[[nodiscard]] std::optional<InterfaceAddress> parseAddress(const nlmsghdr& message);
[[nodiscard]] std::optional<PolicyRule> parseRule(const nlmsghdr& message);

struct NetconfEntry {
    Family family = Family::ipv4;
    std::int32_t ifindex = 0;
    InterfaceConf conf;
};
[[nodiscard]] std::optional<NetconfEntry> parseNetconf(const nlmsghdr& message);

/// The id of a nexthop object that is a group of several (and not one of the bridge's).
[[nodiscard]] std::optional<std::uint32_t> parseNexthopGroup(const nlmsghdr& message);

/// Base chains where forwarded packets pass, and flowtables; nullopt for all others. What is malformed becomes a chain that drops
/// everything. A device name that ends in "*" stands for
/// all interfaces that begin so.
[[nodiscard]] std::optional<NftChain> parseChain(const nlmsghdr& message);
[[nodiscard]] std::optional<NftChain> parseFlowtable(const nlmsghdr& message);

/// /proc/net/packet: sockets that see all, all IPv4 or all IPv6 frames.
struct PacketSockets {
    bool all = false;  ///< bound to no interface
    std::set<std::uint32_t> interfaces;
};
[[nodiscard]] PacketSockets parsePacketSockets(const std::string& table);

}  // namespace fastlet::linuxfp
