// SPDX-License-Identifier: Apache-2.0
// Sysctls, and at times what most routers do not have: packet filters, a bridge, tunnels, foreign tc filters, IPsec policies.
#include <fmt/format.h>

#include "tests/oracle/configuration.hpp"

namespace fastlet::oracle {

namespace {

void ip(Configuration& configuration, std::string text) { configuration.rest.push_back({Tool::ip, std::move(text)}); }
void tc(Configuration& configuration, std::string text) { configuration.rest.push_back({Tool::tc, std::move(text)}); }
void sysctl(Configuration& configuration, std::string text) { configuration.rest.push_back({Tool::sysctl, std::move(text)}); }

void addFilter(Random& random, Configuration& configuration) {
    const auto prefix = configuration.routes4.empty() ? std::string("20.0.0.0/8") : random.pick(configuration.routes4).toString();
    const auto nft = [&](std::string text) { configuration.rest.push_back({Tool::nft, std::move(text)}); };
    switch (random.below(6)) {
        case 0:
            nft(fmt::format("table ip t {{ chain c {{ type filter hook forward priority 0; ip daddr {} counter drop; }}; }}",
                            prefix));
            break;
        case 1:
            nft("table inet t { chain c { type filter hook prerouting priority -300; udp dport 53 counter drop; }; }");
            break;
        case 2:
            nft("table ip t { chain c { type nat hook postrouting priority 100; oifname \"r0\" masquerade; }; }");
            break;
        case 3:
            nft("table netdev t { chain c { type filter hook ingress device \"r0\" priority 0; ip ttl 64 counter drop; }; }");
            break;
        case 4:
            configuration.rest.push_back({Tool::iptablesNft, fmt::format("-A FORWARD -d {} -j REJECT", prefix)});
            break;
        default:
            configuration.rest.push_back({Tool::iptablesLegacy, fmt::format("-A FORWARD -d {} -j DROP", prefix)});
    }
}

void addBridge(Random& random, Configuration& configuration) {
    auto& port = configuration.ports.back();
    port.bridged = true;
    const auto mac = macOf(5, 0, 0);
    configuration.extraMacs.push_back(mac);
    ip(configuration, fmt::format("link add br0 index 30 address {} type bridge mcast_snooping 0", mac.toString()));
    ip(configuration, fmt::format("link set {} master br0", port.name));
    if (configuration.ports.size() > 3) {
        auto& other = configuration.ports[configuration.ports.size() - 2];
        other.bridged = true;
        ip(configuration, fmt::format("link set {} master br0", other.name));
    }
    addNeighbourQuietness(configuration.rest, "br0", 1500);
    ip(configuration, "link set br0 up");
    ip(configuration, "address add 10.77.0.1/24 dev br0");
    configuration.own.push_back(ipv4(0x0A4D0001));
    ip(configuration, fmt::format("neigh replace 10.77.0.2 lladdr {} dev br0", macOf(2, port.number, 77).toString()));
    ip(configuration, "route replace 77.0.0.0/8 via 10.77.0.2");
    configuration.routes4.push_back({ipv4(0x4D000000), 8});
    if (random.percent(50)) port.neighbours4.push_back({ipv4(0x0A4D0002), macOf(2, port.number, 77), true});
}

void addDevice(Random& random, Configuration& configuration) {
    const auto& port = configuration.ports.front();
    if (random.percent(50)) {
        const auto mac = macOf(6, 0, 0);
        configuration.extraMacs.push_back(mac);
        configuration.queued = true;
        ip(configuration,
           fmt::format("link add mv0 index 31 link {} address {} type macvlan mode bridge", port.name, mac.toString()));
        addNeighbourQuietness(configuration.rest, "mv0", port.mtu);
        ip(configuration, "link set mv0 up");
        ip(configuration, "address add 10.78.0.1/24 dev mv0");
        ip(configuration, fmt::format("neigh replace 10.78.0.2 lladdr {} dev mv0", macOf(2, 0, 78).toString()));
        ip(configuration, "route replace 78.0.0.0/8 via 10.78.0.2");
        configuration.routes4.push_back({ipv4(0x4E000000), 8});
        return;
    }
    ip(configuration, fmt::format("link add vx0 index 32 address {} type vxlan id 5 dstport 4789 remote 10.0.0.2 local 10.0.0.1",
                                  macOf(6, 0, 1).toString()));
    addNeighbourQuietness(configuration.rest, "vx0", 1500);
    // Multicast listener reports come at random moments, and ask for the far end's neighbour.
    sysctl(configuration, "net/ipv6/conf/vx0/disable_ipv6=1");
    ip(configuration, "link set vx0 up");
    ip(configuration, "address add 10.79.0.1/24 dev vx0");
    ip(configuration, fmt::format("neigh replace 10.79.0.2 lladdr {} dev vx0", macOf(2, 0, 79).toString()));
    ip(configuration, "route replace 79.0.0.0/8 via 10.79.0.2");
    configuration.routes4.push_back({ipv4(0x4F000000), 8});
}

void addTc(Random& random, Configuration& configuration) {
    const auto& port = random.pick(configuration.ports).name;
    switch (random.below(4)) {
        case 0:
            tc(configuration, fmt::format("qdisc add dev {} root tbf rate 10gbit burst 10mb latency 500ms", port));
            break;
        case 1:
            tc(configuration, fmt::format("qdisc add dev {} clsact", port));
            // drops UDP: load the protocol byte, compare with 17
            tc(configuration, fmt::format("filter add dev {} ingress protocol ip bpf da bytecode "
                                          "\"4,48 0 0 23,21 0 1 17,6 0 0 2,6 0 0 4294967295\"",
                                          port));
            break;
        case 2:
            tc(configuration, fmt::format("qdisc add dev {} clsact", port));
            tc(configuration, fmt::format("filter add dev {} egress protocol ip bpf da bytecode "
                                          "\"4,48 0 0 23,21 0 1 17,6 0 0 2,6 0 0 4294967295\"",
                                          port));
            break;
        default:
            tc(configuration, fmt::format("qdisc add dev {} root handle 1: htb", port));
    }
}

// A value per interface, or for all of them.
void perInterface(Random& random, Configuration& configuration, const char* path, const char* name, double chance,
                  std::uint32_t top) {
    if (!random.percent(chance)) return;
    if (random.percent(40)) return sysctl(configuration, fmt::format("{}/all/{}={}", path, name, random.between(0, top)));
    for (const auto& port : configuration.ports) {
        sysctl(configuration, fmt::format("{}/{}/{}={}", path, port.name, name, random.between(0, top)));
    }
}

}  // namespace

void addSysctls(Random& random, Configuration& configuration) {
    sysctl(configuration, "net/ipv4/ip_forward=1");
    sysctl(configuration, fmt::format("net/ipv6/conf/all/forwarding={}", random.percent(92) ? 1 : 0));
    perInterface(random, configuration, "net/ipv4/conf", "rp_filter", 30, 2);
    perInterface(random, configuration, "net/ipv4/conf", "forwarding", 5, 1);
    perInterface(random, configuration, "net/ipv4/conf", "accept_local", 8, 1);
    perInterface(random, configuration, "net/ipv4/conf", "send_redirects", 15, 1);
    perInterface(random, configuration, "net/ipv4/conf", "accept_redirects", 15, 1);
    perInterface(random, configuration, "net/ipv4/conf", "secure_redirects", 8, 1);
    perInterface(random, configuration, "net/ipv4/conf", "proxy_arp", 8, 1);
    perInterface(random, configuration, "net/ipv4/conf", "route_localnet", 4, 1);
    perInterface(random, configuration, "net/ipv4/conf", "src_valid_mark", 4, 1);
    perInterface(random, configuration, "net/ipv4/conf", "drop_gratuitous_arp", 3, 1);
    perInterface(random, configuration, "net/ipv4/conf", "drop_unicast_in_l2_multicast", 3, 1);
    perInterface(random, configuration, "net/ipv6/conf", "accept_redirects", 10, 1);
    perInterface(random, configuration, "net/ipv6/conf", "accept_source_route", 4, 1);
    perInterface(random, configuration, "net/ipv6/conf", "proxy_ndp", 3, 1);
    perInterface(random, configuration, "net/ipv6/conf", "disable_ipv6", 2, 1);
    if (random.percent(50))
        sysctl(configuration, fmt::format("net/ipv4/fib_multipath_hash_policy={}", random.weighted({2, 5, 1, 1})));
    if (random.percent(50))
        sysctl(configuration, fmt::format("net/ipv6/fib_multipath_hash_policy={}", random.weighted({2, 5, 1, 1})));
    if (random.percent(8)) sysctl(configuration, "net/ipv4/ip_forward_use_pmtu=1");
    if (random.percent(8)) sysctl(configuration, "net/ipv4/ip_forward_update_priority=0");
    if (random.percent(5)) sysctl(configuration, "net/ipv4/fib_multipath_use_neigh=1");
    if (random.percent(5)) sysctl(configuration, "net/ipv4/ip_early_demux=0");
    if (random.percent(5)) sysctl(configuration, "net/ipv4/icmp_errors_use_inbound_ifaddr=1");
    if (random.percent(5)) sysctl(configuration, "net/ipv4/conf/all/bc_forwarding=1");
    if (random.percent(5)) sysctl(configuration, "net/ipv4/ip_default_ttl=32");
}

void addExtras(Random& random, Configuration& configuration) {
    if (random.percent(7)) addBridge(random, configuration);
    if (random.percent(8)) addDevice(random, configuration);
    if (random.percent(10)) addTc(random, configuration);
    if (random.percent(8)) addFilter(random, configuration);
    if (random.percent(2)) ip(configuration, "xfrm policy add dir fwd src 0.0.0.0/0 dst 20.0.0.0/12 action block");
    if (random.percent(5)) ip(configuration, fmt::format("neigh add proxy 20.0.0.9 dev {}", configuration.ports[0].name));
    if (random.percent(5)) ip(configuration, fmt::format("link set {} promisc on", random.pick(configuration.ports).name));
    if (random.percent(4)) ip(configuration, fmt::format("link set {} arp off", random.pick(configuration.ports).name));
    if (random.percent(3)) ip(configuration, fmt::format("link set {} down", configuration.ports.back().name));
}

}  // namespace fastlet::oracle
