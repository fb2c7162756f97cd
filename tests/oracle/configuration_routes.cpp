// SPDX-License-Identifier: Apache-2.0
// Routes of every type, rules, and the changes made while packets flow.
#include <fmt/format.h>

#include "tests/oracle/configuration.hpp"

namespace fastlet::oracle {

namespace {

struct Gateway {
    const Port* port = nullptr;
    const Neighbour* neighbour = nullptr;
};

class RouteMaker {
public:
    RouteMaker(Random& random, Configuration& configuration) : random_(random), configuration_(configuration) {
        for (const auto& port : configuration.ports) {
            for (const auto& neighbour : port.neighbours4) gateways4_.push_back({&port, &neighbour});
            for (const auto& neighbour : port.neighbours6) gateways6_.push_back({&port, &neighbour});
        }
    }

    void add(Family family) {
        const auto& gateways = family == Family::ipv4 ? gateways4_ : gateways6_;
        if (gateways.empty()) return;
        const auto prefix = drawPrefix(family);
        (family == Family::ipv4 ? configuration_.routes4 : configuration_.routes6).push_back(prefix);
        emit(fmt::format("{}route replace {}", family == Family::ipv4 ? "" : "-6 ", body(family, prefix)));
    }
    /// What stands after "ip route replace".
    std::string body(Family family, const IpPrefix& prefix) {
        const bool v4 = family == Family::ipv4;
        static const std::vector<std::string> rejects = {"blackhole", "unreachable", "prohibit", "throw"};
        switch (random_.weighted({62, 3, 3, v4 ? 5U : 1U, 9, 6, 8, 1, 1, 3, 3})) {
            case 1:
                return fmt::format("{} dev {}", prefix.toString(), random_.pick(configuration_.ports).name);
            case 2:
                return onlink(v4, prefix);
            case 3:
                return v4 && !gateways6_.empty() ? viaInet6(prefix) : plain(v4, prefix);
            case 4:
                return multipath(v4, prefix);
            case 5:
                return fmt::format("{} nhid {}", prefix.toString(), nexthop(v4));
            case 6:
                return fmt::format("{} {}", random_.pick(rejects), prefix.toString());
            case 7:
                return fmt::format("local {} dev lo", prefix.toString());
            case 8:
                return v4 ? fmt::format("broadcast {} dev {}", prefix.toString(), random_.pick(configuration_.ports).name)
                          : plain(v4, prefix);
            case 9:
                return plain(v4, prefix) + (random_.percent(50) ? " mtu 1300" : " mtu lock 1000");
            case 10:
                return special(v4, prefix);
            default:
                return plain(v4, prefix);
        }
    }
    IpPrefix drawPrefix(Family family) {
        auto& known = family == Family::ipv4 ? configuration_.routes4 : configuration_.routes6;
        if (known.size() > 2 && random_.percent(15)) {  // more specific than one before
            IpPrefix prefix = random_.pick(known);
            if (prefix.length + 8U <= prefix.address.size() * 8) prefix.length = static_cast<std::uint8_t>(prefix.length + 8);
            return prefix;
        }
        const std::uint32_t number = random_.below(12);
        if (family == Family::ipv6) {
            if (random_.percent(8)) return {ipv6(0, 0), 0};
            const std::uint64_t high = 0x20010DB800000000ULL | static_cast<std::uint64_t>(number) << 16;
            return {ipv6(high, 0), static_cast<std::uint8_t>(random_.percent(70) ? 48 : 64)};
        }
        if (random_.percent(8)) return {ipv4(0), 0};
        if (random_.percent(10)) return {ipv4(0x64400000 + (number << 8)), 24};
        if (random_.percent(12)) return {ipv4(0x1E000001 + (number << 8)), 32};
        return {ipv4(0x14000000 + (number << 16)), static_cast<std::uint8_t>(random_.percent(60) ? 16 : 24)};
    }

private:
    void emit(std::string text) { configuration_.rest.push_back({Tool::ip, std::move(text)}); }
    const Gateway& gateway(bool v4) { return random_.pick(v4 ? gateways4_ : gateways6_); }
    static std::string via(const Gateway& gateway) {
        return fmt::format("via {} dev {}", gateway.neighbour->address.toString(), gateway.port->name);
    }
    std::string plain(bool v4, const IpPrefix& prefix) { return fmt::format("{} {}", prefix.toString(), via(gateway(v4))); }
    std::string onlink(bool v4, const IpPrefix& prefix) {
        return fmt::format("{} via {} dev {} onlink", prefix.toString(), gateway(v4).neighbour->address.toString(),
                           random_.pick(configuration_.ports).name);
    }
    std::string viaInet6(const IpPrefix& prefix) {
        const auto& chosen = gateway(false);
        return fmt::format("{} via inet6 {} dev {}", prefix.toString(), chosen.neighbour->address.toString(), chosen.port->name);
    }
    std::string multipath(bool v4, const IpPrefix& prefix) {
        auto text = prefix.toString();
        for (std::uint32_t i = random_.between(2, 3); i > 0; --i) {
            text += fmt::format(" nexthop {} weight {}", via(gateway(v4)), random_.between(1, 4));
        }
        return text;
    }
    std::string special(bool v4, const IpPrefix& prefix) {
        switch (random_.below(v4 ? 4 : 3)) {
            case 0:
                return plain(v4, prefix) + " metric 50";
            case 1:
                return plain(v4, prefix) + " table 100";
            case 2:
                return plain(v4, prefix) + (v4 ? " src " + random_.pick(configuration_.own).toString() : " pref low");
            default:
                return plain(v4, prefix) + (random_.percent(30) ? " realms 1/2" : " tos 0x10");
        }
    }
    std::uint32_t nexthop(bool v4) {
        const std::uint32_t group = ++lastNexthop_ * 10;
        const std::uint32_t members = random_.percent(50) ? 1 : random_.between(2, 3);
        std::string list;
        for (std::uint32_t i = 1; i <= members; ++i) {
            const bool blackhole = members == 1 && random_.percent(10);
            emit(blackhole ? fmt::format("{}nexthop replace id {} blackhole", v4 ? "" : "-6 ", group + i)
                           : fmt::format("nexthop replace id {} {}", group + i, via(gateway(v4))));
            list += fmt::format("{}{},{}", i > 1 ? "/" : "", group + i, random_.between(1, 3));
        }
        if (members == 1) return group + 1;
        emit(fmt::format("nexthop replace id {} group {}", group, list));
        return group;
    }

    Random& random_;
    Configuration& configuration_;
    std::vector<Gateway> gateways4_, gateways6_;
    std::uint32_t lastNexthop_ = 0;
};

std::string rule(Random& random, const Configuration& configuration, Family family) {
    const auto& routes = family == Family::ipv4 ? configuration.routes4 : configuration.routes6;
    const auto prefix = routes.empty() ? std::string("all") : random.pick(routes).toString();
    const auto& port = random.pick(configuration.ports).name;
    switch (random.weighted({10, 10, 10, 5, 4, 3, 3, 1, 1, 1, 3})) {
        case 0:
            return fmt::format("from {} lookup 100", prefix);
        case 1:
            return fmt::format("to {} lookup 100", prefix);
        case 2:
            return fmt::format("iif {} lookup 100", port);
        case 3:
            return "tos 0x10 lookup 100";
        case 4:
            return "lookup main suppress_prefixlength 0";
        case 5:
            return fmt::format("not from {} lookup 100", prefix);
        case 6:
            return fmt::format("from {} goto 32766", prefix);
        case 7:
            return "fwmark 7 lookup 100";
        case 8:
            return "ipproto udp lookup 100";
        case 9:
            return "dport 53 lookup 100";
        default:
            return fmt::format("iif {} to {} {}", port, prefix, random.percent(50) ? "prohibit" : "unreachable");
    }
}

std::vector<Command> drawChange(Random& random, Configuration& configuration, RouteMaker& maker) {
    const auto& port = random.pick(configuration.ports);
    const Family family = random.percent(70) ? Family::ipv4 : Family::ipv6;
    const auto& routes = family == Family::ipv4 ? configuration.routes4 : configuration.routes6;
    const std::string option = family == Family::ipv4 ? "" : "-6 ";
    switch (random.weighted({8, 6, 6, 3, 3, 3, 2, 2, 2, 1})) {
        case 0:
            if (!routes.empty()) return {{Tool::ip, option + "route del " + random.pick(routes).toString()}};
            break;
        case 1: {
            const auto prefix = maker.drawPrefix(family);
            (family == Family::ipv4 ? configuration.routes4 : configuration.routes6).push_back(prefix);
            return {{Tool::ip, fmt::format("{}route replace unreachable {}", option, prefix.toString())}};
        }
        case 2: {
            const auto& neighbours = family == Family::ipv4 ? port.neighbours4 : port.neighbours6;
            if (neighbours.empty()) break;
            return {{Tool::ip,
                     fmt::format("neigh replace {} lladdr {} dev {} nud permanent", random.pick(neighbours).address.toString(),
                                 macOf(3, port.number, 9).toString(), port.name)}};
        }
        case 3:
            return {{Tool::ip, fmt::format("{}rule add {}", option, rule(random, configuration, family))}};
        case 4:
            return {{Tool::ip, fmt::format("address add 20.{}.0.1/32 dev {}", random.below(12), port.name)}};
        case 5:
            return {{Tool::sysctl, fmt::format("net/ipv4/conf/{}/rp_filter={}", port.name, random.between(1, 2))}};
        case 6:
            return {{Tool::ip, fmt::format("link set {} mtu {}", port.name, random.percent(50) ? 1280 : 1450)}};
        case 7:
            return {{Tool::sysctl, fmt::format("net/ipv4/conf/{}/forwarding=0", port.name)}};
        case 8:
            return {{Tool::nft, "table ip later { chain c { type filter hook forward priority 0; policy drop; }; }"}};
        default:
            break;
    }
    return {{Tool::ip, fmt::format("link set {} address {}", port.name, macOf(4, port.number, 1).toString())}};
}

}  // namespace

void addRoutes(Random& random, Configuration& configuration) {
    RouteMaker maker(random, configuration);
    for (std::uint32_t i = random.between(4, 12); i > 0; --i) maker.add(Family::ipv4);
    for (std::uint32_t i = random.between(2, 8); i > 0; --i) maker.add(Family::ipv6);
}

void addRules(Random& random, Configuration& configuration) {
    if (!random.percent(25)) return;
    RouteMaker maker(random, configuration);
    for (std::uint32_t i = random.between(1, 3); i > 0; --i) {
        const Family family = random.percent(70) ? Family::ipv4 : Family::ipv6;
        configuration.rest.push_back({Tool::ip, fmt::format("{}rule add pref {} {}", family == Family::ipv4 ? "" : "-6 ",
                                                            1000 + i, rule(random, configuration, family))});
    }
    if (configuration.routes4.empty() || configuration.ports[0].neighbours4.empty()) return;
    const auto prefix = random.pick(configuration.routes4);
    configuration.rest.push_back(
        {Tool::ip, fmt::format("route replace {} via {} dev {} table 100", prefix.toString(),
                               configuration.ports[0].neighbours4[0].address.toString(), configuration.ports[0].name)});
}

void addChanges(Random& random, Configuration& configuration) {
    if (random.percent(50)) return;
    RouteMaker maker(random, configuration);
    for (std::uint32_t i = random.between(1, 3); i > 0; --i) {
        configuration.changes.push_back(drawChange(random, configuration, maker));
    }
}

}  // namespace fastlet::oracle
