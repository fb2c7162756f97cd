// SPDX-License-Identifier: Apache-2.0
// IP headers: right ones, and right ones with one thing changed.
#include <algorithm>

#include "tests/oracle/packets.hpp"

namespace fastlet::oracle {

namespace {

constexpr std::size_t kIp = kEthernet;  // where the IP header begins

std::size_t drawPayload(Random& random, const Port& port) {
    switch (random.weighted({50, 20, 14, 14, 2})) {
        case 0:
            return random.below(64);
        case 1:
            return random.below(600);
        case 2:
            return random.between(1180, 1480);  // around the usual MTUs
        case 4:
            return random.between(2000, 6000);  // for segmentation; cut off otherwise
        default:
            return port.mtu - std::min<std::uint32_t>(port.mtu, random.between(20, 64));
    }
}

std::uint8_t drawTtl(Random& random) {
    static const std::vector<std::uint8_t> odd = {0, 1, 2, 3, 255};
    return random.percent(90) ? static_cast<std::uint8_t>(64) : random.pick(odd);
}

std::uint8_t drawTos(Random& random) {
    static const std::vector<std::uint8_t> values = {0x10, 0x08, 0x01, 0x02, 0x03, 0xB8, 0x1C, 0xFF, 0x20};
    return random.percent(70) ? static_cast<std::uint8_t>(0) : random.pick(values);
}

std::uint16_t drawFragment(Random& random) {
    switch (random.weighted({45, 45, 3, 3, 2, 2})) {
        case 0:
            return 0x4000;
        case 1:
            return 0;
        case 2:
            return 0x2000;  // first
        case 3:
            return static_cast<std::uint16_t>(0x2000 | random.between(1, 100));  // middle
        case 4:
            return static_cast<std::uint16_t>(random.between(1, 8000));  // last
        default:
            return 0x8000;  // the reserved bit
    }
}

Frame drawOptions(Random& random) {
    switch (random.below(6)) {
        case 0:
            return {1, 1, 1, 1};
        case 1:
            return {0x94, 4, 0, 0};  // router alert
        case 2:
            return {7, 7, 4, 0, 0, 0, 0, 0};  // record route
        case 3:
            return {0x83, 7, 4, 10, 0, 0, 2, 0};  // loose source route
        case 4:
            return {0x44, 8, 9, static_cast<std::uint8_t>(random.percent(20) ? 0xF0 : 0x10),
                    0,    0, 0, 0};  // full: a time would differ between runs
        default:
            return {0x86, 200, 0, 0};  // runs over the end
    }
}

// Breaks one thing of an IPv4 header that was right.
void mutate4(Random& random, Packet& out) {
    auto& frame = out.frame;
    bool fix = true;
    switch (random.below(9)) {
        case 0:
            frame[kIp] = static_cast<std::uint8_t>(random.byte() & 0xF0) | 5;
            break;
        case 1:
            frame[kIp] = 0x40 | random.pick(std::vector<std::uint8_t>{0, 4, 6, 15});
            break;
        case 2:
            set16(frame, kIp + 2, random.pick(std::vector<std::uint16_t>{0, 19, 20, 24, 65535}));
            break;
        case 3:
            set16(frame, kIp + 2, get16(frame, kIp + 2) + random.between(1, 40));
            break;
        case 4:
            set16(frame, kIp + 2, get16(frame, kIp + 2) - random.between(1, 8));
            break;
        case 5:
            fix = false, frame[kIp + 10] ^= 0x40;
            break;
        case 6:
            frame.resize(random.between(kEthernet, kEthernet + 24));
            fix = false;
            break;
        case 7:
            fix = false, set16(frame, kIp + 10, random.percent(50) ? 0 : 0xFFFF);
            break;
        default:
            frame.resize(frame.size() + random.between(1, 60));
            fix = false;
            break;  // trailer
    }
    if (fix && frame.size() >= kIp + 20) fixIpv4Checksum(frame, kIp);
    out.offload = {};
}

void mutate6(Random& random, Packet& out) {
    auto& frame = out.frame;
    switch (random.below(6)) {
        case 0:
            frame[kIp] = static_cast<std::uint8_t>(random.byte());
            break;
        case 1:
            set16(frame, kIp + 4, random.pick(std::vector<std::uint16_t>{0, 1, 65535}));
            break;
        case 2:
            set16(frame, kIp + 4, get16(frame, kIp + 4) + random.between(1, 40));
            break;
        case 3:
            set16(frame, kIp + 4, get16(frame, kIp + 4) - random.between(1, 8));
            break;
        case 4:
            frame.resize(random.between(kEthernet, kEthernet + 44));
            break;
        default:
            frame.resize(frame.size() + random.between(1, 60));
            break;
    }
    out.offload = {};
}

// Leaves the checksum, or the cutting of a TCP stream, to be done by whoever sends it on.
void offload(Random& random, const Flow& flow, const Transport& transport, std::size_t header, Packet& out) {
    if (transport.checksumAt == 0 || (transport.protocol != kTcp && transport.protocol != kUdp)) return;
    const std::size_t start = kEthernet + header;
    set16(out.frame, start + transport.checksumAt,
          checksum({}, pseudoSum(flow.source, flow.destination, transport.protocol, transport.bytes.size())));
    out.offload.flags = kNeedsChecksum;
    out.offload.checksumStart = static_cast<std::uint16_t>(start);
    out.offload.checksumOffset = transport.checksumAt;
    if (transport.protocol != kTcp || (out.frame[start + 12] >> 4) != 5 || transport.bytes.size() < 600 || random.percent(40))
        return;
    out.offload.gsoType = flow.source.family == Family::ipv4 ? kGsoTcp4 : kGsoTcp6;
    out.offload.gsoSize = static_cast<std::uint16_t>(random.between(300, 1440));
    out.offload.headerLength = static_cast<std::uint16_t>(start + 20);
    if (transport.bytes.size() - 20 <= out.offload.gsoSize) out.offload.gsoType = 0, out.offload.gsoSize = 0;
}

void putExtension(Random& random, const Configuration& configuration, Frame& extensions, std::uint8_t kind, std::uint8_t next) {
    switch (kind) {
        case 0:
        case 60:  // hop-by-hop, destination options: padding, router alert, unknown
            extensions.insert(extensions.end(), {next, 0});
            if (random.percent(40))
                extensions.insert(extensions.end(), {1, 4, 0, 0, 0, 0});
            else if (random.percent(50))
                extensions.insert(extensions.end(), {5, 2, 0, 0, 1, 0});
            else
                extensions.insert(extensions.end(), {random.byte(), 4, 0, 0, 0, 0});
            return;
        case 43: {
            extensions.insert(extensions.end(), {next, 2, random.pick(std::vector<std::uint8_t>{0, 2, 4}), 1, 0, 0, 0, 0});
            put(extensions, oddAddress6(random, configuration).bytes);
            return;
        }
        case 44:
            extensions.insert(extensions.end(), {next, 0});
            put16(extensions, random.percent(50) ? 1 : random.between(1, 100) << 3 | random.below(2));
            return put32(extensions, random.below(1000));
        case 51:
            extensions.insert(extensions.end(), {next, 4});
            extensions.resize(extensions.size() + 22);
            return;
        default:
            extensions.insert(extensions.end(), {next, 0, 0, 0, 0, 0, 0, 0});  // mobility, unknown
    }
}

}  // namespace

void putIpv4(Random& random, const Configuration& configuration, const Flow& flow, Packet& out) {
    const Frame options = random.percent(3) ? drawOptions(random) : Frame{};
    const auto transport = makeTransport(random, configuration, flow, drawPayload(random, *flow.port));
    const std::size_t header = 20 + options.size();
    auto& frame = out.frame;
    frame.push_back(static_cast<std::uint8_t>(0x40 | header / 4));
    frame.push_back(drawTos(random));
    put16(frame, static_cast<std::uint32_t>(header + transport.bytes.size()));
    put16(frame, random.percent(80) ? random.next() & 0xFFFF : 0);
    const std::uint16_t fragment = drawFragment(random);
    put16(frame, fragment);
    frame.push_back(drawTtl(random));
    frame.push_back(transport.protocol);
    put16(frame, 0);
    put(frame, flow.source.view());
    put(frame, flow.destination.view());
    put(frame, options);
    fixIpv4Checksum(frame, kIp);
    put(frame, transport.bytes);
    if ((fragment & 0x3FFF) == 0 && options.empty() && random.percent(12)) offload(random, flow, transport, header, out);
    if (frame.size() < 60 && random.percent(30)) frame.resize(60), out.offload = {};  // padding, as on a real wire
    if (random.percent(6)) mutate4(random, out);
}

void putIpv6(Random& random, const Configuration& configuration, const Flow& flow, Packet& out) {
    const auto transport = makeTransport(random, configuration, flow, drawPayload(random, *flow.port));
    Frame extensions;
    std::uint8_t first = transport.protocol;
    if (random.percent(8)) {
        static const std::vector<std::uint8_t> kinds = {0, 43, 44, 60, 51, 135, 140, 253};
        first = random.pick(kinds);
        if (random.percent(20) && first != 0) {
            const std::uint8_t outer = random.percent(70) ? 0 : 60;
            putExtension(random, configuration, extensions, outer, first);
            putExtension(random, configuration, extensions, first, transport.protocol);
            first = outer;
        } else {
            putExtension(random, configuration, extensions, first, transport.protocol);
        }
    } else if (random.percent(1)) {
        first = 59;
    }
    auto& frame = out.frame;
    const std::uint32_t label = random.percent(50) ? random.below(1 << 20) : 0;
    put32(frame, 0x60000000 | static_cast<std::uint32_t>(drawTos(random)) << 20 | label);
    put16(frame, static_cast<std::uint32_t>(extensions.size() + transport.bytes.size()));
    frame.push_back(first);
    frame.push_back(drawTtl(random));
    put(frame, flow.source.view());
    put(frame, flow.destination.view());
    put(frame, extensions);
    put(frame, transport.bytes);
    if (extensions.empty() && first == transport.protocol && random.percent(12)) offload(random, flow, transport, 40, out);
    if (random.percent(5)) mutate6(random, out);
}

}  // namespace fastlet::oracle
