// SPDX-License-Identifier: Apache-2.0
// The words of a command line as values, each with an error that says what is allowed.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/types/ip_address.hpp"

namespace fastlet::agent {

[[nodiscard]] Result<IpAddress> parseAddress(const std::string& option, const std::string& text);
/// A whole decimal number without sign.
[[nodiscard]] Result<std::uint64_t> parseNumber(const std::string& option, const std::string& text, std::uint64_t minimum,
                                                std::uint64_t maximum);
/// "tcp", "udp", "icmp", "icmpv6", "sctp" or 0 to 255.
[[nodiscard]] Result<std::uint64_t> parseProtocol(const std::string& option, const std::string& text);
/// What the kernel accepts as a name: 1 to 15 bytes, no '/', ':' or white space.
[[nodiscard]] Status checkInterfaceName(const std::string& name);

}  // namespace fastlet::agent
