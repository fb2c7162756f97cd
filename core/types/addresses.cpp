// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/types/ip_address.hpp"
#include "core/types/mac_address.hpp"

namespace fastlet {
namespace {

std::optional<unsigned> parseNumber(std::string_view text, int base, unsigned limit) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > limit) return std::nullopt;
    return value;
}

}  // namespace

std::string MacAddress::toString() const {
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
}

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
    MacAddress mac;
    if (text.size() != 17) return std::nullopt;
    for (std::size_t i = 0; i < 6; ++i) {
        if (i > 0 && text[i * 3 - 1] != ':') return std::nullopt;
        const auto byte = parseNumber(text.substr(i * 3, 2), 16, 255);
        if (!byte) return std::nullopt;
        mac.bytes[i] = static_cast<std::uint8_t>(*byte);
    }
    return mac;
}

std::string IpAddress::toString() const {
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(family == Family::ipv4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
    return text;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    const std::string copy(text);
    IpAddress address;
    if (::inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
    address = {Family::ipv6, {}};
    if (::inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) return address;
    return std::nullopt;
}

std::optional<IpAddress> IpAddress::fromBytes(std::span<const std::uint8_t> bytes) {
    if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
    IpAddress address{bytes.size() == 4 ? Family::ipv4 : Family::ipv6, {}};
    std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
    return address;
}

std::string IpPrefix::toString() const { return fmt::format("{}/{}", address.toString(), length); }

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
    const auto slash = text.find('/');
    const auto address = IpAddress::parse(text.substr(0, slash));
    if (!address) return std::nullopt;
    const unsigned limit = static_cast<unsigned>(address->size() * 8);
    const auto length = slash == std::string_view::npos ? std::optional(limit) : parseNumber(text.substr(slash + 1), 10, limit);
    if (!length) return std::nullopt;
    return IpPrefix{*address, static_cast<std::uint8_t>(*length)};
}

bool IpPrefix::contains(const IpAddress& other) const {
    if (other.family != address.family) return false;
    const std::size_t whole = length / 8;
    if (std::memcmp(address.bytes.data(), other.bytes.data(), whole) != 0) return false;
    const unsigned rest = length % 8;
    if (rest == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xff00U >> rest);
    return (address.bytes[whole] & mask) == (other.bytes[whole] & mask);
}

}  // namespace fastlet
