// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fastlet::oracle {

namespace {

std::string macText(std::span<const std::uint8_t> bytes) {
    MacAddress mac;
    std::copy_n(bytes.begin(), 6, mac.bytes.begin());
    return mac.toString();
}

std::string addressText(std::span<const std::uint8_t> bytes) {
    const auto address = IpAddress::fromBytes(bytes);
    return address ? address->toString() : "?";
}

std::string describeTransport(std::uint8_t protocol, std::span<const std::uint8_t> bytes) {
    if ((protocol == kTcp || protocol == kUdp) && bytes.size() >= 4) {
        return fmt::format("{} {}>{}", protocol == kTcp ? "tcp" : "udp", get16(bytes, 0), get16(bytes, 2));
    }
    if ((protocol == kIcmp || protocol == kIcmpv6) && bytes.size() >= 2) {
        return fmt::format("{} type {} code {}", protocol == kIcmp ? "icmp" : "icmp6", bytes[0], bytes[1]);
    }
    return fmt::format("proto {}", protocol);
}

std::string describeIpv4(std::span<const std::uint8_t> ip) {
    if (ip.size() < 20) return "ipv4 truncated";
    const std::size_t header = static_cast<std::size_t>(ip[0] & 15) * 4;
    const std::uint16_t fragment = get16(ip, 6);
    auto text = fmt::format("ipv4 {}>{} ver {} ihl {} tos {:#x} len {} id {} ttl {}", addressText(ip.subspan(12, 4)),
                            addressText(ip.subspan(16, 4)), ip[0] >> 4, ip[0] & 15, ip[1], get16(ip, 2), get16(ip, 4), ip[8]);
    if (fragment != 0) {
        text +=
            fmt::format(" {}{}off {}", fragment & 0x4000 ? "DF " : "", fragment & 0x2000 ? "MF " : "", (fragment & 0x1FFF) * 8);
    }
    if (header < 20 || header > ip.size()) return text;
    if (checksum(ip.first(header)) != 0xFFFF) text += " BAD-CSUM";
    return text + " " + describeTransport(ip[9], ip.subspan(header));
}

std::string describeIpv6(std::span<const std::uint8_t> ip) {
    if (ip.size() < 40) return "ipv6 truncated";
    return fmt::format("ipv6 {}>{} ver {} tc/flow {:#x} len {} hlim {} {}", addressText(ip.subspan(8, 16)),
                       addressText(ip.subspan(24, 16)), ip[0] >> 4,
                       (ip[0] & 15U) << 24 | static_cast<unsigned>(ip[1]) << 16 | get16(ip, 2), get16(ip, 4), ip[7],
                       describeTransport(ip[6], ip.subspan(40)));
}

}  // namespace

std::uint16_t checksum(std::span<const std::uint8_t> bytes, std::uint32_t start) {
    std::uint64_t sum = start;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        sum += static_cast<std::uint64_t>(bytes[i]) << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0U);
    }
    while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

std::uint32_t pseudoSum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol, std::size_t length) {
    return checksum(source.view()) + checksum(destination.view()) + protocol + static_cast<std::uint32_t>(length & 0xFFFF) +
           static_cast<std::uint32_t>(length >> 16);
}

void putEthernet(Frame& out, const MacAddress& to, const MacAddress& from, std::uint16_t type) {
    put(out, to.bytes);
    put(out, from.bytes);
    put16(out, type);
}

void fixIpv4Checksum(Frame& out, std::size_t at) {
    const std::size_t header = std::min<std::size_t>(static_cast<std::size_t>(out[at] & 15) * 4, out.size() - at);
    set16(out, at + 10, 0);
    set16(out, at + 10, static_cast<std::uint16_t>(~checksum(std::span(out).subspan(at, header))));
}

std::string describe(std::span<const std::uint8_t> frame) {
    if (frame.size() < kEthernet) return fmt::format("{} bytes", frame.size());
    auto text = fmt::format("{}>{}", macText(frame.subspan(6, 6)), macText(frame.first(6)));
    std::size_t at = 12;
    std::uint16_t type = get16(frame, at);
    while ((type == 0x8100 || type == 0x88A8) && frame.size() >= at + 6) {
        text += fmt::format(" vlan {}", get16(frame, at + 2) & 0xFFF);
        at += 4;
        type = get16(frame, at);
    }
    const auto payload = frame.subspan(at + 2);
    if (type == kEtherIpv4) return text + " " + describeIpv4(payload);
    if (type == kEtherIpv6) return text + " " + describeIpv6(payload);
    if (type == kEtherArp && payload.size() >= 28) {
        return text + fmt::format(" arp op {} {} is {} target {}", get16(payload, 6), addressText(payload.subspan(14, 4)),
                                  macText(payload.subspan(8, 6)), addressText(payload.subspan(24, 4)));
    }
    return text + fmt::format(" ethertype {:#06x} len {}", type, frame.size());
}

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

}  // namespace fastlet::oracle
