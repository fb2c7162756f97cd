// SPDX-License-Identifier: Apache-2.0
// What stands behind the IP header, and frames that are no IP at all.
#include <algorithm>

#include "tests/oracle/packets.hpp"

namespace fastlet::oracle {

namespace {

void putPayload(Random& random, Frame& out, std::size_t size) {
    std::uint64_t word = random.next();
    for (std::size_t i = 0; i < size; ++i) {
        if (i % 8 == 0) word = word * 6364136223846793005ULL + 1442695040888963407ULL;
        out.push_back(static_cast<std::uint8_t>(word >> (56 - 8 * (i % 8))));
    }
}

std::uint16_t drawPort(Random& random) {
    static const std::vector<std::uint16_t> ports = {0, 53, 80, 443, 4789, 8472, 6081, 1701, 4500, 500, 179, 1000, 33434, 65535};
    return random.percent(60) ? random.pick(ports) : static_cast<std::uint16_t>(random.next());
}

Transport tcp(Random& random, std::size_t payload) {
    Transport out{kTcp, {}, 16};
    put16(out.bytes, drawPort(random));
    put16(out.bytes, drawPort(random));
    put32(out.bytes, static_cast<std::uint32_t>(random.next()));  // sequence numbers never match: nothing is merged by GRO
    put32(out.bytes, static_cast<std::uint32_t>(random.next()));
    static const std::vector<std::uint16_t> flags = {0x5010, 0x5018, 0x5002, 0x5004, 0x5011, 0x50C2, 0x5000, 0xF010, 0x4010};
    put16(out.bytes, random.percent(80) ? 0x5010 : random.pick(flags));
    put16(out.bytes, random.next() & 0xFFFF);
    put32(out.bytes, 0);
    putPayload(random, out.bytes, payload);
    return out;
}

Transport udp(Random& random, std::size_t payload) {
    Transport out{kUdp, {}, 6};
    put16(out.bytes, drawPort(random));
    put16(out.bytes, drawPort(random));
    put16(out.bytes, random.percent(97) ? static_cast<std::uint32_t>(8 + payload) : random.below(2000));
    put16(out.bytes, 0);
    putPayload(random, out.bytes, payload);
    return out;
}

// The packet that an error message quotes: from the router, or forwarded by it the other way round.
Frame quoted(Random& random, const Configuration& configuration, const Flow& flow) {
    Frame inner;
    const bool own = random.percent(40) && !configuration.own.empty();
    const auto& candidate = own ? random.pick(configuration.own) : flow.destination;
    const auto& source = candidate.family == flow.source.family ? candidate : flow.destination;
    if (flow.source.family == Family::ipv4) {
        put32(inner, 0x45000000 | random.between(28, 1500));
        put32(inner, static_cast<std::uint32_t>(random.next()) & 0xFFFF4000);
        put32(inner, 0x40000000 | static_cast<std::uint32_t>(random.percent(50) ? kUdp : kTcp) << 16);
        put(inner, source.view());
        put(inner, flow.source.view());
        fixIpv4Checksum(inner, 0);
    } else {
        put32(inner, 0x60000000);
        put32(inner, random.between(8, 1300) << 16 | static_cast<std::uint32_t>(kUdp) << 8 | 64);
        put(inner, source.view());
        put(inner, flow.source.view());
    }
    put16(inner, drawPort(random));
    put16(inner, drawPort(random));
    putPayload(random, inner, 4);
    return inner;
}

Transport icmp4(Random& random, const Configuration& configuration, const Flow& flow, std::size_t payload) {
    Transport out{kIcmp, {}, 2};
    static const std::vector<std::uint8_t> types = {8, 0, 3, 11, 5, 12, 13, 4, 9, 10, 17, 200};
    const std::uint8_t type = types[random.weighted({40, 15, 12, 6, 5, 3, 2, 1, 1, 1, 1, 1})];
    const bool error = type == 3 || type == 11 || type == 5 || type == 12 || type == 4;
    out.bytes = {type, static_cast<std::uint8_t>(type == 3 ? random.below(16) : random.below(2)), 0, 0};
    if (type == 5) {  // redirect to a gateway that may be on the link
        const auto& gateways = flow.port->neighbours4;
        put(out.bytes, (gateways.empty() ? flow.source : random.pick(gateways).address).view());
    } else {
        put32(out.bytes, type == 3 ? random.between(60, 1400) : static_cast<std::uint32_t>(random.next()));
    }
    if (error) {
        put(out.bytes, quoted(random, configuration, flow));
    } else {
        putPayload(random, out.bytes, payload);
    }
    return out;
}

Transport icmp6(Random& random, const Configuration& configuration, const Flow& flow, std::size_t payload) {
    Transport out{kIcmpv6, {}, 2};
    static const std::vector<std::uint8_t> types = {128, 129, 1, 2, 3, 4, 135, 136, 133, 134, 137, 130, 143, 200};
    const std::uint8_t type = types[random.weighted({40, 15, 6, 8, 6, 2, 5, 5, 1, 2, 3, 1, 1, 1})];
    out.bytes = {type, static_cast<std::uint8_t>(random.percent(80) ? 0 : random.below(6)), 0, 0};
    put32(out.bytes, type == 2 ? random.between(600, 1500) : static_cast<std::uint32_t>(random.next()));
    if (type < 128) {
        put(out.bytes, quoted(random, configuration, flow));
    } else if (type >= 135 && type <= 137) {
        put(out.bytes, (random.percent(50) ? flow.destination : flow.source).view());
        if (type == 137) put(out.bytes, flow.destination.view());
        put16(out.bytes, type == 135 ? 0x0101 : 0x0201);
        put(out.bytes, flow.from.bytes);
    } else {
        putPayload(random, out.bytes, payload);
    }
    return out;
}

Transport raw(Random& random, std::size_t payload) {
    static const std::vector<std::uint8_t> protocols = {132, 47, 2, 50, 51, 4, 41, 89, 103, 112, 255, 33, 136};
    Transport out{random.pick(protocols), {}, 0};
    putPayload(random, out.bytes, std::max<std::size_t>(payload, 8));
    return out;
}

void putArp(Random& random, const Configuration& configuration, const Flow& flow, Frame& out) {
    const auto& port = *flow.port;
    const bool request = random.percent(60);
    const MacAddress to = request || random.percent(30) ? MacAddress{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}} : port.mac;
    putEthernet(out, to, flow.from, kEtherArp);
    put32(out, 0x00010800);
    put32(out, 0x06040000 | (request ? 1U : 2U));
    put(out, flow.from.bytes);
    const auto sender = port.neighbours4.empty() ? oddAddress4(random, configuration) : random.pick(port.neighbours4).address;
    put(out, sender.view());
    put(out, request ? MacAddress{}.bytes : port.mac.bytes);
    const bool own = !port.own4.empty() && random.percent(60);
    put(out, (own ? random.pick(port.own4).address : oddAddress4(random, configuration)).view());
    out.resize(60);
}

}  // namespace

Transport makeTransport(Random& random, const Configuration& configuration, const Flow& flow, std::size_t payload) {
    const bool v4 = flow.source.family == Family::ipv4;
    Transport out;
    switch (random.weighted({38, 36, 16, 10})) {
        case 0:
            out = tcp(random, payload);
            break;
        case 1:
            out = udp(random, payload);
            break;
        case 2:
            out = v4 ? icmp4(random, configuration, flow, payload) : icmp6(random, configuration, flow, payload);
            break;
        default:
            return raw(random, payload);
    }
    const bool none = out.protocol == kUdp && random.percent(10);
    if (none || out.checksumAt == 0) return out;
    const std::uint32_t start =
        out.protocol == kIcmp ? 0 : pseudoSum(flow.source, flow.destination, out.protocol, out.bytes.size());
    auto sum = static_cast<std::uint16_t>(~checksum(out.bytes, start));
    if (sum == 0 && out.protocol == kUdp) sum = 0xFFFF;
    if (random.percent(3)) sum ^= 0x1234;
    set16(out.bytes, out.checksumAt, sum);
    return out;
}

void putOther(Random& random, const Configuration& configuration, const Flow& flow, Packet& out) {
    switch (random.weighted({45, 10, 10, 10, 15, 10})) {
        case 0:
            return putArp(random, configuration, flow, out.frame);
        case 1:  // LLDP
            putEthernet(out.frame, {{0x01, 0x80, 0xC2, 0, 0, 0x0E}}, flow.from, 0x88CC);
            return putPayload(random, out.frame, 46);
        case 2:  // IEEE 802.3 with a length
            putEthernet(out.frame, flow.to, flow.from, static_cast<std::uint16_t>(random.between(3, 1500)));
            return putPayload(random, out.frame, 46);
        case 3:
            putEthernet(out.frame, flow.to, flow.from,
                        static_cast<std::uint16_t>(random.pick(std::vector<int>{0x8847, 0x8863, 0x8864, 0x9000, 0x88E5})));
            return putPayload(random, out.frame, 46);
        case 4: {  // VLAN, QinQ, priority tag around a packet
            const bool v4 = flow.source.family == Family::ipv4;
            Packet inner;
            putEthernet(inner.frame, flow.to, flow.from, v4 ? kEtherIpv4 : kEtherIpv6);
            (v4 ? putIpv4 : putIpv6)(random, configuration, flow, inner);
            Frame tag;
            if (random.percent(30)) put32(tag, 0x88A80000 | random.below(4096));
            put32(tag, 0x81000000 | (random.percent(30) ? 0xE000 : random.below(4096)));
            inner.frame.insert(inner.frame.begin() + 12, tag.begin(), tag.end());
            out.frame = std::move(inner.frame);
            return;
        }
        default:
            putEthernet(out.frame, flow.to, flow.from, random.percent(50) ? kEtherIpv4 : kEtherIpv6);
            putPayload(random, out.frame, random.between(1, 64));
    }
}

}  // namespace fastlet::oracle
