// SPDX-License-Identifier: Apache-2.0
// Frames as bytes: writing, checksums, and reading enough of them to compare and to describe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/types/ip_address.hpp"
#include "core/types/mac_address.hpp"

namespace fastlet::oracle {

using Frame = std::vector<std::uint8_t>;

constexpr std::size_t kEthernet = 14;
constexpr std::uint16_t kEtherIpv4 = 0x0800;
constexpr std::uint16_t kEtherIpv6 = 0x86DD;
constexpr std::uint16_t kEtherArp = 0x0806;
constexpr std::uint16_t kEtherMarker = 0x88B6;  // IEEE local experimental 2: end-of-step markers
constexpr std::uint8_t kIcmp = 1, kIgmp = 2, kTcp = 6, kUdp = 17, kIcmpv6 = 58;

inline void put16(Frame& out, std::uint32_t value) {
    out.push_back(static_cast<std::uint8_t>(value >> 8));
    out.push_back(static_cast<std::uint8_t>(value));
}
inline void put32(Frame& out, std::uint32_t value) {
    put16(out, value >> 16);
    put16(out, value & 0xFFFF);
}
inline void put(Frame& out, std::span<const std::uint8_t> bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }
inline void set16(Frame& out, std::size_t at, std::uint32_t value) {
    out[at] = static_cast<std::uint8_t>(value >> 8);
    out[at + 1] = static_cast<std::uint8_t>(value);
}
inline std::uint16_t get16(std::span<const std::uint8_t> bytes, std::size_t at) {
    return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

/// The one's complement sum, not yet complemented.
[[nodiscard]] std::uint16_t checksum(std::span<const std::uint8_t> bytes, std::uint32_t start = 0);
/// Sum of the pseudo header of either family.
[[nodiscard]] std::uint32_t pseudoSum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                      std::size_t length);

void putEthernet(Frame& out, const MacAddress& to, const MacAddress& from, std::uint16_t type);
/// Writes the header checksum of the IPv4 header at `at` anew.
void fixIpv4Checksum(Frame& out, std::size_t at);

/// "eth 02:..>02:.. ipv4 10.0.0.2>20.0.0.1 ttl 64 len 40 udp 53>53"; never fails, however broken the frame.
[[nodiscard]] std::string describe(std::span<const std::uint8_t> frame);
[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);

}  // namespace fastlet::oracle
