// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fastlet::oracle {

namespace {

void ip(std::vector<Command>& to, std::string text) { to.push_back({Tool::ip, std::move(text)}); }
void sysctl(std::vector<Command>& to, std::string text) { to.push_back({Tool::sysctl, std::move(text)}); }

// What would make two runs of plain Linux differ is switched off: rate limits by the clock, random timers, address detection.
void addQuietness(std::vector<Command>& to) {
    for (const char* text : {"net/ipv4/icmp_ratemask=0", "net/ipv4/icmp_ratelimit=0", "net/ipv6/icmp/ratelimit=0",
                             "net/ipv6/icmp/ratemask=", "net/ipv6/conf/all/accept_dad=0", "net/ipv6/conf/default/accept_dad=0",
                             "net/ipv6/conf/default/dad_transmits=0", "net/ipv6/conf/default/router_solicitations=0",
                             "net/ipv6/conf/default/addr_gen_mode=1", "net/ipv6/conf/default/accept_ra=0",
                             "net/ipv4/conf/all/rp_filter=0", "net/ipv4/conf/default/rp_filter=0"}) {
        sysctl(to, text);
    }
}

std::uint32_t drawMtu(Random& random) {
    static const std::vector<std::uint32_t> values = {1500, 1400, 1280, 2000, 3000, 600};
    return values[random.weighted({75, 8, 6, 5, 3, 3})];
}

void addPort(Random& random, Configuration& configuration, std::uint32_t number) {
    Port port;
    port.number = number;
    port.index = kRouterIndex + number;
    port.name = fmt::format("r{}", number);
    port.hostName = fmt::format("h{}", number);
    port.mac = macOf(0, number, 0);
    port.hostMac = macOf(1, number, 0);
    port.mtu = drawMtu(random);
    ip(configuration.links, fmt::format("link add {} index {} address {} mtu {} type veth peer name {} index {} address {} mtu "
                                        "9000 netns {{HOSTS}}",
                                        port.name, port.index, port.mac.toString(), port.mtu, port.hostName, kHostIndex + number,
                                        port.hostMac.toString()));
    addNeighbourQuietness(configuration.links, port.name, port.mtu);
    ip(configuration.links, fmt::format("link set {} up", port.name));
    configuration.ports.push_back(std::move(port));
}

void addAddress(Configuration& configuration, Port& port, const IpPrefix& prefix, const std::string& more = "") {
    const bool v4 = prefix.address.family == Family::ipv4;
    ip(configuration.rest, fmt::format("address add {} dev {}{}{}", prefix.toString(), port.name, v4 ? "" : " nodad", more));
    (v4 ? port.own4 : port.own6).push_back(prefix);
    configuration.own.push_back(prefix.address);
}

void addNeighbour(Random& random, Configuration& configuration, Port& port, const IpAddress& address, std::uint32_t number) {
    static const std::vector<std::string> states = {"permanent", "reachable", "stale", "failed", "noarp", ""};
    const auto& state = states[random.weighted({60, 12, 14, 3, 3, 8})];
    Neighbour neighbour{address, macOf(2, port.number, number), state != "failed" && !state.empty()};
    if (random.percent(4)) neighbour.mac = macOf(2, port.number, 1);  // two addresses behind one MAC
    if (state == "failed") {
        ip(configuration.rest, fmt::format("neigh replace {} dev {} nud failed", address.toString(), port.name));
    } else if (!state.empty()) {
        ip(configuration.rest, fmt::format("neigh replace {} lladdr {} dev {} nud {}", address.toString(),
                                           neighbour.mac.toString(), port.name, state));
    }
    (address.family == Family::ipv4 ? port.neighbours4 : port.neighbours6).push_back(neighbour);
}

void addAddresses4(Random& random, Configuration& configuration, Port& port) {
    const std::uint32_t base = 10U << 24 | port.number << 16;
    std::uint32_t count = random.between(2, 4);
    std::uint32_t first = 2;
    switch (random.weighted({68, 8, 6, 8, 5, 5})) {
        case 0:
            addAddress(configuration, port, {ipv4(base + 1), 24});
            break;
        case 1:
            addAddress(configuration, port, {ipv4(base + 1), 31});
            first = 0, count = 1;
            break;
        case 2:
            addAddress(configuration, port, {ipv4(base + 1), 30});
            count = 1;
            break;
        case 3:
            addAddress(configuration, port, {ipv4(base + 1), 16});
            break;
        case 4:
            ip(configuration.rest,
               fmt::format("address add {} peer {} dev {}", ipv4(base + 1).toString(), ipv4(base + 2).toString(), port.name));
            port.own4.push_back({ipv4(base + 1), 32});
            configuration.own.push_back(ipv4(base + 1));
            count = 1;
            break;
        default:
            count = 0;  // unnumbered
    }
    for (std::uint32_t i = 0; i < count; ++i) addNeighbour(random, configuration, port, ipv4(base + first + i), i + 1);
    if (count > 0 && random.percent(20)) addAddress(configuration, port, {ipv4(base + 200), 24});
    if (random.percent(10)) {
        addAddress(configuration, port, {ipv4(base + 0x6401), 24});  // 10.i.100.1
        addNeighbour(random, configuration, port, ipv4(base + 0x6402), 20);
    }
}

void addAddresses6(Random& random, Configuration& configuration, Port& port) {
    if (port.mtu < kMinimumMtu6 || random.percent(4)) return;
    const std::uint64_t high = 0xFD00000000000000ULL | static_cast<std::uint64_t>(port.number + 1) << 32;
    addAddress(configuration, port, {ipv6(0xFE80000000000000ULL, 0x100 + port.number), 64});
    std::uint32_t count = random.between(1, 3);
    switch (random.weighted({80, 8, 6, 6})) {
        case 0:
            addAddress(configuration, port, {ipv6(high, 1), 64});
            break;
        case 1:
            addAddress(configuration, port, {ipv6(high, 3), 127});
            count = 1;
            break;
        case 2:
            addAddress(configuration, port, {ipv6(high, 1), 112}, " noprefixroute");
            break;
        default:
            count = 0;
    }
    for (std::uint32_t i = 0; i < count; ++i) addNeighbour(random, configuration, port, ipv6(high, 2 + i), 40 + i);
    addNeighbour(random, configuration, port, ipv6(0xFE80000000000000ULL, 0x1000 + port.number), 50);
}

}  // namespace

void addNeighbourQuietness(std::vector<Command>& to, const std::string& device, std::uint32_t mtu) {
    for (const char* family : {"ipv4", "ipv6"}) {
        if (mtu < kMinimumMtu6 && family == std::string("ipv6")) continue;  // there is no such folder
        const auto folder = fmt::format("net/{}/neigh/{}/", family, device);
        for (const char* text : {"retrans_time_ms=100000", "delay_first_probe_time=100", "proxy_delay=0", "anycast_delay=0",
                                 "locktime=-100", "base_reachable_time_ms=3600000"}) {
            sysctl(to, folder + text);
        }
    }
}

IpAddress ipv4(std::uint32_t value) {
    IpAddress address;
    for (int i = 0; i < 4; ++i) address.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
    return address;
}

IpAddress ipv6(std::uint64_t high, std::uint64_t low) {
    IpAddress address{Family::ipv6, {}};
    for (std::size_t i = 0; i < 8; ++i) {
        address.bytes[i] = static_cast<std::uint8_t>(high >> (56 - 8 * i));
        address.bytes[8 + i] = static_cast<std::uint8_t>(low >> (56 - 8 * i));
    }
    return address;
}

IpAddress addressIn(Random& random, const IpPrefix& prefix) {
    IpAddress address = prefix.address;
    const std::size_t bits = address.size() * 8;
    static const std::vector<std::uint8_t> tails = {0, 1, 2, 3, 5, 9, 33, 77, 129, 200, 254, 255};
    const std::uint8_t tail = random.pick(tails);
    for (std::size_t bit = 0; bit < 8 && bits - 1 - bit >= prefix.length; ++bit) {
        auto& last = address.bytes[address.size() - 1];
        const auto mask = static_cast<std::uint8_t>(1U << bit);
        last = static_cast<std::uint8_t>((last & ~mask) | (tail & mask));
        if (bits - 1 - bit == 0) break;
    }
    if (prefix.length + 16U <= bits && random.percent(50)) address.bytes[address.size() - 2] = tail & 3;
    return address;
}

MacAddress macOf(std::uint8_t kind, std::uint32_t port, std::uint32_t number) {
    return {{0x02, kind, 0, static_cast<std::uint8_t>(port), 0, static_cast<std::uint8_t>(number)}};
}

std::string asShell(const Command& command) {
    switch (command.tool) {
        case Tool::ip:
            return "ip " + command.text;
        case Tool::tc:
            return "tc " + command.text;
        case Tool::nft:
            return "nft '" + command.text + "'";
        case Tool::iptablesNft:
            return "iptables-nft " + command.text;
        case Tool::iptablesLegacy:
            return "iptables-legacy " + command.text;
        case Tool::sysctl:
            return "sysctl -w " + command.text;
    }
    return {};
}

Configuration makeConfiguration(std::uint64_t seed) {
    Random random(seed);
    Configuration configuration;
    configuration.seed = seed;
    addQuietness(configuration.links);
    ip(configuration.links, "link set lo up");
    const std::uint32_t count = random.between(2, 5);
    for (std::uint32_t i = 0; i < count; ++i) addPort(random, configuration, i);
    addSysctls(random, configuration);
    for (auto& port : configuration.ports) {
        addAddresses4(random, configuration, port);
        addAddresses6(random, configuration, port);
    }
    if (random.percent(20)) {
        ip(configuration.rest, "address add 10.255.0.1/32 dev lo");
        configuration.own.push_back(ipv4(0x0AFF0001));
    }
    addRoutes(random, configuration);
    addRules(random, configuration);
    addExtras(random, configuration);
    addChanges(random, configuration);
    return configuration;
}

}  // namespace fastlet::oracle
