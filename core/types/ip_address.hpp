// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fastlet {

enum class Family : std::uint8_t { ipv4, ipv6 };

/// An IPv4 or IPv6 address; bytes in network order, an IPv4 address uses the first four.
struct IpAddress {
    Family family = Family::ipv4;
    std::array<std::uint8_t, 16> bytes{};

    auto operator<=>(const IpAddress&) const = default;
    [[nodiscard]] std::size_t size() const { return family == Family::ipv4 ? 4 : 16; }
    [[nodiscard]] std::span<const std::uint8_t> view() const { return std::span(bytes).first(size()); }
    [[nodiscard]] std::string toString() const;
    [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
    /// From 4 or 16 bytes in network order; anything else is refused.
    [[nodiscard]] static std::optional<IpAddress> fromBytes(std::span<const std::uint8_t> bytes);
};

/// An address with a prefix length in bits. Host bits are kept as given (an interface address is one of these too).
struct IpPrefix {
    IpAddress address;
    std::uint8_t length = 0;

    auto operator<=>(const IpPrefix&) const = default;
    [[nodiscard]] std::string toString() const;  ///< "10.0.0.0/8"
    [[nodiscard]] static std::optional<IpPrefix> parse(std::string_view text);
    [[nodiscard]] bool contains(const IpAddress& other) const;
};

}  // namespace fastlet
