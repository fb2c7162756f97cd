// SPDX-License-Identifier: Apache-2.0
// Frames for the fast path's tests: every field has a value that makes the packet a plain one to forward, a test names what
// differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fastlet::fastpath {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58;
constexpr std::size_t kEthernet = 14;

struct Packet4 {
    std::string source = "10.0.1.2";
    std::string destination = "10.0.2.2";
    std::uint8_t ttl = 64;
    std::uint8_t protocol = kUdp;
    std::uint8_t tos = 0;
    std::uint16_t fragment = 0;             ///< flags and offset as in the header
    Bytes payload = udp();                  ///< from the L4 header on
    std::size_t trailer = 0;                ///< bytes beyond the IP length
    int lengthError = 0;                    ///< added to tot_len
    std::uint8_t versionAndLength = 0x45;   ///< the first byte
    std::uint16_t checksumError = 0;        ///< xor-ed into the header checksum
    std::string mac = "02:00:00:00:01:01";  ///< destination of the frame
    std::string sender = "02:00:00:00:01:02";
    static Bytes udp(std::uint16_t from = 1000, std::uint16_t to = 2000, std::uint16_t check = 0x1234, std::size_t data = 32);
};

struct Packet6 {
    std::string source = "2001:db8:1::2";
    std::string destination = "2001:db8:2::2";
    std::uint8_t hops = 64;
    std::uint8_t next = kUdp;
    std::uint8_t trafficClass = 0;
    std::uint32_t label = 0;
    Bytes payload = Packet4::udp();
    std::size_t trailer = 0;
    int lengthError = 0;
    std::uint8_t version = 6;
    std::string mac = "02:00:00:00:01:01";
    std::string sender = "02:00:00:00:01:02";
};

Bytes frame(const Packet4& packet);
Bytes frame(const Packet6& packet);

Bytes tcp(std::uint16_t from, std::uint16_t to, std::uint16_t check, std::size_t data);
Bytes icmp(std::uint8_t type, std::size_t data = 36);

/// Writes the folded sum of the pseudo header into the L4 checksum, as a sender does that leaves the rest to its device.
void leaveChecksumToDevice(Bytes& frame);

}  // namespace fastlet::fastpath
