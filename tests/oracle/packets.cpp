// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/packets.hpp"

#include <algorithm>
#include <array>

namespace fastlet::oracle {

namespace {

const Port& drawPort(Random& random, const Configuration& configuration) { return random.pick(configuration.ports); }

MacAddress drawDestinationMac(Random& random, const Configuration& configuration, const Port& port,
                              const IpAddress& destination) {
    switch (random.weighted({920, 15, 15, 10, 10, 30})) {
        case 1:
            return {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}};
        case 2:
            if (destination.family == Family::ipv6) return {{0x33, 0x33, 0, 0, 0, 1}};
            return {{0x01, 0, 0x5E, 0, 0, 1}};
        case 3:
            return {{0x02, 0x99, 0, 0, 0, 1}};
        case 4:
            return random.pick(configuration.ports).mac;
        case 5:
            if (!configuration.extraMacs.empty()) return random.pick(configuration.extraMacs);
            return port.mac;
        default:
            break;
    }
    if (port.bridged && !configuration.extraMacs.empty() && random.percent(70)) return configuration.extraMacs.back();
    return port.mac;
}

// A neighbour that is worth routing from or to: link-local addresses are not, so they come up seldom.
const Neighbour* drawNeighbour(Random& random, const std::vector<Neighbour>& neighbours) {
    if (neighbours.empty()) return nullptr;
    for (int attempt = 0; attempt < 3; ++attempt) {
        const auto& one = random.pick(neighbours);
        if (one.address.family == Family::ipv4 || one.address.bytes[0] != 0xFE) return &one;
    }
    return &random.pick(neighbours);
}

IpAddress routed(Random& random, const Configuration& configuration, Family family) {
    const bool v4 = family == Family::ipv4;
    const auto& routes = v4 ? configuration.routes4 : configuration.routes6;
    if (routes.empty()) return v4 ? ipv4(0x14000000 + random.below(0xC0000)) : ipv6(0x20010DB800000000ULL, random.below(64));
    auto address = addressIn(random, random.pick(routes));
    if (address.bytes[0] == 0 && v4) address = ipv4(0x08080800 + random.below(8));  // of the default route
    if (address.bytes[0] == 0 && !v4) address = ipv6(0x2600000000000000ULL, random.below(8));
    return address;
}

IpAddress plausibleSource(Random& random, const Configuration& configuration, const Port& port, Family family) {
    const auto* neighbour = drawNeighbour(random, family == Family::ipv4 ? port.neighbours4 : port.neighbours6);
    if (neighbour != nullptr && random.percent(60)) return neighbour->address;
    return routed(random, configuration, family);
}

// Mostly behind another port: a packet that goes back where it came from is Linux's own business (a redirect).
IpAddress plausibleDestination(Random& random, const Configuration& configuration, const Port& from, Family family) {
    const Port* port = &drawPort(random, configuration);
    if (port == &from) port = &drawPort(random, configuration);
    const auto* neighbour = drawNeighbour(random, family == Family::ipv4 ? port->neighbours4 : port->neighbours6);
    if (neighbour != nullptr && random.percent(35)) return neighbour->address;
    return routed(random, configuration, family);
}

Flow drawFlow(Random& random, const Configuration& configuration) {
    Flow flow;
    flow.port = &drawPort(random, configuration);
    const Family family = random.percent(58) ? Family::ipv4 : Family::ipv6;
    const auto odd = [&] {
        return family == Family::ipv4 ? oddAddress4(random, configuration) : oddAddress6(random, configuration);
    };
    flow.source = random.percent(6) ? odd() : plausibleSource(random, configuration, *flow.port, family);
    flow.destination = random.percent(8) ? odd() : plausibleDestination(random, configuration, *flow.port, family);
    flow.to = drawDestinationMac(random, configuration, *flow.port, flow.destination);
    flow.from = random.percent(97) ? macOf(2, flow.port->number, random.between(1, 4)) : flow.port->hostMac;
    return flow;
}

Packet drawPacket(Random& random, const Configuration& configuration, const PacketOptions& options) {
    Packet packet;
    const Flow flow = drawFlow(random, configuration);
    packet.port = flow.port->number;
    const bool v4 = flow.source.family == Family::ipv4;
    if (random.percent(5)) {
        putOther(random, configuration, flow, packet);
    } else {
        putEthernet(packet.frame, flow.to, flow.from, v4 ? kEtherIpv4 : kEtherIpv6);
        (v4 ? putIpv4 : putIpv6)(random, configuration, flow, packet);
    }
    if (!options.gso && packet.offload.gsoType != 0) packet.offload = {};
    if (packet.offload.gsoType == 0) {
        const std::size_t limit = flow.port->mtu + kEthernet + (random.percent(50) ? 0 : 4);  // a veth takes no more
        if (packet.frame.size() > limit) packet.frame.resize(limit);
        if (packet.offload.checksumStart + packet.offload.checksumOffset + 2U > packet.frame.size()) packet.offload = {};
    }
    if (packet.frame.size() < kEthernet + 1) packet.frame.resize(kEthernet + 1);
    return packet;
}

}  // namespace

IpAddress oddAddress4(Random& random, const Configuration& configuration) {
    static const std::vector<std::uint32_t> values = {
        0x00000000, 0x00000001, 0x7F000001, 0x7F000005, 0xA9FE0101, 0xE0000001, 0xE0000005, 0xEF010101, 0xF0000001, 0xFFFFFFFF,
        0xFFFFFFFE, 0x0A000000, 0x0A0000FF, 0x0A0100FF, 0x0A01FFFF, 0xC0A80101, 0x0A000063, 0xC0586301, 0x0A010063};
    if (!configuration.own.empty() && random.percent(45)) {
        const auto& own = random.pick(configuration.own);
        if (own.family == Family::ipv4) return own;
    }
    return ipv4(random.pick(values));
}

IpAddress oddAddress6(Random& random, const Configuration& configuration) {
    static const std::vector<std::array<std::uint64_t, 2>> values = {{0, 0},
                                                                     {0, 1},
                                                                     {0, 0x0000FFFF0A000002},
                                                                     {0xFE80000000000000, 0x77},
                                                                     {0xFEC0000000000000, 1},
                                                                     {0xFF02000000000000, 1},
                                                                     {0xFF02000000000000, 2},
                                                                     {0xFF05000000000000, 0x99},
                                                                     {0xFF0E000000000000, 0x99},
                                                                     {0xFF01000000000000, 1},
                                                                     {0xFD00000100000000, 0},
                                                                     {0xFD00000100000000, 0x63},
                                                                     {0xFD00000200000000, 0x63},
                                                                     {0xFC00000000000000, 5},
                                                                     {0x2002000000000000, 1},
                                                                     {0x0064FF9B00000000, 0x0A000002},
                                                                     {0xFF02000000000000, 0x00000001FF000001}};
    if (!configuration.own.empty() && random.percent(45)) {
        const auto& own = random.pick(configuration.own);
        if (own.family == Family::ipv6) return own;
    }
    const auto& value = random.pick(values);
    return ipv6(value[0], value[1]);
}

std::vector<Step> makeSteps(std::uint64_t seed, const Configuration& configuration, const PacketOptions& options) {
    Random random(seed ^ 0x5AFE5AFE5AFE5AFEULL);
    std::vector<Step> steps;
    std::uint32_t made = 0;
    const auto changes = static_cast<std::uint32_t>(configuration.changes.size());
    std::uint32_t nextChange = 0;
    while (made < options.count) {
        Step step;
        if (nextChange < changes && made >= options.count * (nextChange + 1) / (changes + 1)) step.change = nextChange++;
        const bool bursts = !configuration.queued;  // else their order would be a matter of luck
        for (std::uint32_t burst = bursts && random.percent(6) ? random.between(2, 12) : 1; burst > 0; --burst, ++made) {
            step.packets.push_back(drawPacket(random, configuration, options));
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

}  // namespace fastlet::oracle
