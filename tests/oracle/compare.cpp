// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "tests/oracle/run.hpp"

namespace fastlet::oracle {

namespace {

using Packets = std::vector<Received>;

bool before(const Received& left, const Received& right) {
    return std::tie(left.port, left.frame, left.gsoSize) < std::tie(right.port, right.frame, right.gsoSize);
}
bool same(const Received& left, const Received& right) { return !before(left, right) && !before(right, left); }

std::string list(const char* title, const Packets& packets, const Packets& reference) {
    std::string text = fmt::format("  {}: {} packet{}\n", title, packets.size(), packets.size() == 1 ? "" : "s");
    for (const auto& one : packets) {
        const bool known = std::any_of(reference.begin(), reference.end(), [&](const auto& other) { return same(one, other); });
        text += fmt::format("  {} h{} {} bytes{} {}\n", known ? " " : "!", one.port, one.frame.size(),
                            one.gsoSize > 0 ? fmt::format(" gso {}", one.gsoSize) : "", describe(one.frame));
        if (!known) text += "      " + hex(one.frame) + "\n";
    }
    return text;
}

std::string explain(const Step& step, const Packets& plain, const Packets& other) {
    std::string text;
    for (const auto& packet : step.packets) {
        text += fmt::format("  sent by h{}: {} bytes{} {}\n      {}\n", packet.port, packet.frame.size(),
                            packet.offload.flags != 0
                                ? fmt::format(" partial at {}+{} gso type {} size {}", packet.offload.checksumStart,
                                              packet.offload.checksumOffset, packet.offload.gsoType, packet.offload.gsoSize)
                                : "",
                            describe(packet.frame), hex(packet.frame));
    }
    return text + list("first run", plain, other) + list("second run", other, plain);
}

// Counters that say why the kernel dropped or made a packet; those of packets taken in and passed on get the fast path's added.
struct CounterRule {
    const char* name;
    std::uint64_t FastCounters::*fast;  ///< null: nothing to add
};
constexpr CounterRule kCounters[] = {{"Ip.InReceives", &FastCounters::fast4},
                                     {"Ip.ForwDatagrams", &FastCounters::fast4},
                                     {"Ip.InHdrErrors", nullptr},
                                     {"Ip.InAddrErrors", nullptr},
                                     {"Ip.InUnknownProtos", nullptr},
                                     {"Ip.InDiscards", nullptr},
                                     {"Ip.InDelivers", nullptr},
                                     {"Ip.OutDiscards", nullptr},
                                     {"Ip.OutNoRoutes", nullptr},
                                     {"Ip.ReasmReqds", nullptr},
                                     {"Ip.FragOKs", nullptr},
                                     {"Ip.FragFails", nullptr},
                                     {"Ip.FragCreates", nullptr},
                                     {"Ip6InReceives", &FastCounters::fast6},
                                     {"Ip6OutForwDatagrams", &FastCounters::fast6},
                                     {"Ip6InHdrErrors", nullptr},
                                     {"Ip6InTooBigErrors", nullptr},
                                     {"Ip6InNoRoutes", nullptr},
                                     {"Ip6InAddrErrors", nullptr},
                                     {"Ip6InUnknownProtos", nullptr},
                                     {"Ip6InTruncatedPkts", nullptr},
                                     {"Ip6InDiscards", nullptr},
                                     {"Ip6InDelivers", nullptr},
                                     {"Ip6OutNoRoutes", nullptr},
                                     {"Ip6FragOKs", nullptr},
                                     {"Ip6FragFails", nullptr}};

std::uint64_t counted(const Outcome& outcome, const CounterRule& rule) {
    const auto at = outcome.counters.find(rule.name);
    const std::uint64_t value = at == outcome.counters.end() ? 0 : at->second;
    return rule.fast == nullptr ? value : value + outcome.fast.*rule.fast;
}

}  // namespace

std::vector<Difference> compare(const std::vector<Step>& steps, const Outcome& plain, const Outcome& other, bool ordered) {
    std::vector<Difference> differences;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        Packets left = plain.steps[i];
        Packets right = other.steps[i];
        if (!ordered) {
            std::sort(left.begin(), left.end(), before);
            std::sort(right.begin(), right.end(), before);
        }
        if (!std::equal(left.begin(), left.end(), right.begin(), right.end(), same)) {
            differences.push_back({i, explain(steps[i], left, right)});
        }
    }
    for (const auto& rule : kCounters) {
        if (counted(plain, rule) == counted(other, rule)) continue;
        differences.push_back({SIZE_MAX, fmt::format("  {} (with what the fast path counted): first run {}, second run {}\n",
                                                     rule.name, counted(plain, rule), counted(other, rule))});
    }
    if ((plain.redirects == 0) != (other.redirects == 0)) {
        differences.push_back(
            {SIZE_MAX, fmt::format("  ICMP redirects: first run {}, second run {}\n", plain.redirects, other.redirects)});
    }
    std::vector<std::string> missing;
    std::set_symmetric_difference(plain.neighbours.begin(), plain.neighbours.end(), other.neighbours.begin(),
                                  other.neighbours.end(), std::back_inserter(missing));
    for (const auto& line : missing) differences.push_back({SIZE_MAX, "  neighbour only in one run: " + line + "\n"});
    if (plain.refused != other.refused) differences.push_back({SIZE_MAX, "  commands refused in one run only\n"});
    return differences;
}

}  // namespace fastlet::oracle
