// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/arguments.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/text.hpp"

namespace fastlet::agent {
namespace {

struct NamedProtocol {
    const char* name;
    std::uint8_t number;
};
constexpr NamedProtocol kProtocols[] = {
    {"tcp", IPPROTO_TCP}, {"udp", IPPROTO_UDP}, {"icmp", IPPROTO_ICMP}, {"icmpv6", IPPROTO_ICMPV6}, {"sctp", IPPROTO_SCTP}};

bool forbiddenInName(char character) {
    return character == '/' || character == ':' || character == ' ' || (character >= '\t' && character <= '\r');
}

}  // namespace

Result<IpAddress> parseAddress(const std::string& option, const std::string& text) {
    if (const auto address = IpAddress::parse(text)) return *address;
    return Error::make(fmt::format("{}: {} is not an IP address", option, inQuotes(text)), "like 192.0.2.1 or 2001:db8::1");
}

Result<std::uint64_t> parseNumber(const std::string& option, const std::string& text, std::uint64_t minimum,
                                  std::uint64_t maximum) {
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed == std::errc() && end == text.data() + text.size() && number >= minimum && number <= maximum) return number;
    return Error::make(fmt::format("{}: {} is not a whole number from {} to {}", option, inQuotes(text), minimum, maximum));
}

Result<std::uint64_t> parseProtocol(const std::string& option, const std::string& text) {
    std::vector<std::string> names;
    for (const auto& protocol : kProtocols) {
        if (text == protocol.name) return std::uint64_t{protocol.number};
        names.emplace_back(protocol.name);
    }
    if (auto number = parseNumber(option, text, 0, 255)) return number;
    return Error::make(fmt::format("{}: {} is no protocol", option, inQuotes(text)),
                       fmt::format("a number from 0 to 255, or one of: {}", joined(names)));
}

Status checkInterfaceName(const std::string& name) {
    if (!name.empty() && name.size() < IFNAMSIZ && name != "." && name != ".." &&
        std::none_of(name.begin(), name.end(), forbiddenInName))
        return {};
    return Error::make(fmt::format("{} cannot be the name of an interface", inQuotes(name)), "`ip link` lists the interfaces");
}

}  // namespace fastlet::agent
