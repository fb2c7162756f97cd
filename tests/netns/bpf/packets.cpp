// SPDX-License-Identifier: Apache-2.0
#include "tests/netns/bpf/packets.hpp"

#include <arpa/inet.h>
#include <netinet/ether.h>

#include <algorithm>
#include <stdexcept>

namespace fastlet::fastpath {
namespace {

void put16(Bytes& bytes, std::size_t at, unsigned value) {
    bytes.at(at) = static_cast<std::uint8_t>(value >> 8);
    bytes.at(at + 1) = static_cast<std::uint8_t>(value);
}

unsigned sum16(const Bytes& bytes, std::size_t from, std::size_t to) {
    unsigned sum = 0;
    for (std::size_t i = from; i < to; i += 2) sum += static_cast<unsigned>(bytes.at(i)) << 8 | bytes.at(i + 1);
    return sum;
}

unsigned fold(unsigned sum) {
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

void putAddress(Bytes& bytes, std::size_t at, int family, const std::string& text) {
    if (inet_pton(family, text.c_str(), &bytes.at(at)) != 1) throw std::invalid_argument("address " + text);
}

Bytes ethernet(const std::string& to, const std::string& from, unsigned type) {
    Bytes bytes(kEthernet);
    const auto put = [&](std::size_t at, const std::string& text) {
        ether_addr address{};
        if (!ether_aton_r(text.c_str(), &address)) throw std::invalid_argument("MAC " + text);
        std::copy_n(address.ether_addr_octet, 6, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    };
    put(0, to);
    put(6, from);
    put16(bytes, 12, type);
    return bytes;
}

}  // namespace

Bytes Packet4::udp(std::uint16_t from, std::uint16_t to, std::uint16_t check, std::size_t data) {
    Bytes bytes(8 + data);
    put16(bytes, 0, from);
    put16(bytes, 2, to);
    put16(bytes, 4, static_cast<unsigned>(bytes.size()));
    put16(bytes, 6, check);
    return bytes;
}

Bytes tcp(std::uint16_t from, std::uint16_t to, std::uint16_t check, std::size_t data) {
    Bytes bytes(20 + data);
    put16(bytes, 0, from);
    put16(bytes, 2, to);
    bytes[12] = 5 << 4;
    put16(bytes, 16, check);
    return bytes;
}

Bytes icmp(std::uint8_t type, std::size_t data) {
    Bytes bytes(8 + data);
    bytes[0] = type;
    return bytes;
}

Bytes frame(const Packet4& packet) {
    Bytes bytes = ethernet(packet.mac, packet.sender, 0x0800);
    bytes.resize(kEthernet + 20);
    bytes[14] = packet.versionAndLength;
    bytes[15] = packet.tos;
    put16(bytes, 16, static_cast<unsigned>(static_cast<int>(20 + packet.payload.size()) + packet.lengthError));
    put16(bytes, 20, packet.fragment);
    bytes[22] = packet.ttl;
    bytes[23] = packet.protocol;
    putAddress(bytes, 26, AF_INET, packet.source);
    putAddress(bytes, 30, AF_INET, packet.destination);
    put16(bytes, 24, ~fold(sum16(bytes, 14, 34)) ^ packet.checksumError);
    bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
    bytes.resize(bytes.size() + packet.trailer);
    return bytes;
}

Bytes frame(const Packet6& packet) {
    Bytes bytes = ethernet(packet.mac, packet.sender, 0x86dd);
    bytes.resize(kEthernet + 40);
    put16(bytes, 14, static_cast<unsigned>(packet.version << 12 | packet.trafficClass << 4) | packet.label >> 16);
    put16(bytes, 16, packet.label & 0xffff);
    put16(bytes, 18, static_cast<unsigned>(static_cast<int>(packet.payload.size()) + packet.lengthError));
    bytes[20] = packet.next;
    bytes[21] = packet.hops;
    putAddress(bytes, 22, AF_INET6, packet.source);
    putAddress(bytes, 38, AF_INET6, packet.destination);
    bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
    bytes.resize(bytes.size() + packet.trailer);
    return bytes;
}

void leaveChecksumToDevice(Bytes& frame) {
    const bool v4 = frame[12] == 0x08;
    const std::size_t l4 = v4 ? 34 : 54;
    const std::uint8_t protocol = v4 ? frame[23] : frame[20];
    const auto pseudo = sum16(frame, v4 ? 26 : 22, l4) + protocol + static_cast<unsigned>(frame.size() - l4);
    put16(frame, l4 + (protocol == kTcp ? 16 : 6), fold(pseudo));
}

}  // namespace fastlet::fastpath
