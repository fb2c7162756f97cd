// SPDX-License-Identifier: Apache-2.0
// A router's configuration, drawn from a seed: the commands that build it, and what the packet generator must know about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/types/ip_address.hpp"
#include "core/types/mac_address.hpp"
#include "tests/oracle/random.hpp"

namespace fastlet::oracle {

enum class Tool : std::uint8_t { ip, tc, nft, iptablesNft, iptablesLegacy, sysctl };

/// One line of configuration. ip, tc: a line of `-batch`; nft: a line of `-f`; iptables: a line of iptables-restore's input is
/// not used, each is one call; sysctl: "net/ipv4/ip_forward=1" below /proc/sys.
struct Command {
    Tool tool = Tool::ip;
    std::string text;
};
[[nodiscard]] std::string asShell(const Command& command);

struct Neighbour {
    IpAddress address;
    MacAddress mac;
    bool resolved = true;  ///< the router starts with a usable entry
};

/// A veth pair: `r<i>` in the router, `h<i>` on the host side.
struct Port {
    std::uint32_t index = 0;
    std::uint32_t number = 0;  ///< position; ifindex in the router is kRouterIndex + number
    std::string name;
    std::string hostName;
    MacAddress mac;
    MacAddress hostMac;
    std::uint32_t mtu = 1500;
    bool bridged = false;
    std::vector<IpPrefix> own4, own6;
    std::vector<Neighbour> neighbours4, neighbours6;
};
constexpr std::uint32_t kRouterIndex = 10;
constexpr std::uint32_t kHostIndex = 110;  // differs from its peer's, or the kernel delays the link's state by up to a second

struct Configuration {
    std::uint64_t seed = 0;
    std::vector<Port> ports;
    std::vector<Command> links;                 ///< devices, brought up; then the links must be running
    std::vector<Command> rest;                  ///< everything else, in this order
    std::vector<std::vector<Command>> changes;  ///< made one after the other while packets flow
    std::vector<IpPrefix> routes4, routes6;     ///< destinations worth sending to
    std::vector<IpAddress> own;                 ///< every address of the router
    std::vector<MacAddress> extraMacs;          ///< of macvlan, bridge: also "ours"
    bool queued = false;                        ///< a device hands on frames for a group later, by a worker of the kernel
};

[[nodiscard]] Configuration makeConfiguration(std::uint64_t seed);

/// Pieces of makeConfiguration, each in a file of its own.
void addRoutes(Random& random, Configuration& configuration);
void addRules(Random& random, Configuration& configuration);
void addSysctls(Random& random, Configuration& configuration);
void addExtras(Random& random, Configuration& configuration);
void addChanges(Random& random, Configuration& configuration);

/// The timers of a device's neighbours become so long that none of them runs out within a run (a namespace has no default).
void addNeighbourQuietness(std::vector<Command>& to, const std::string& device, std::uint32_t mtu);
constexpr std::uint32_t kMinimumMtu6 = 1280;  // IPv6 does not exist on a device below

[[nodiscard]] IpAddress ipv4(std::uint32_t value);
[[nodiscard]] IpAddress ipv6(std::uint64_t high, std::uint64_t low);
/// An address of the prefix; one of a few, so that flows and neighbours repeat.
[[nodiscard]] IpAddress addressIn(Random& random, const IpPrefix& prefix);
[[nodiscard]] MacAddress macOf(std::uint8_t kind, std::uint32_t port, std::uint32_t number);

}  // namespace fastlet::oracle
