// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fastlet {

/// 48-bit Ethernet address, in the order of the wire.
struct MacAddress {
    std::array<std::uint8_t, 6> bytes{};

    auto operator<=>(const MacAddress&) const = default;
    [[nodiscard]] std::string toString() const;  ///< "02:00:00:00:00:01"
    [[nodiscard]] static std::optional<MacAddress> parse(std::string_view text);
};

}  // namespace fastlet
