// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/report/report.hpp"
#include "agent/report/table.hpp"
#include "linuxfp/plan/packet_reasons.hpp"

namespace fastlet::agent {
namespace {

std::string_view reasonText(const std::string& name) {
    for (const auto& reason : linuxfp::kPacketReasons)
        if (reason.name == name) return reason.text;
    return {};
}

std::string orDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string stateOf(const InterfaceStatus& interface, bool observe) {
    if (interface.hook == "none") return "linux";
    if (interface.held) return "held";
    if (interface.attached) return "active";
    return observe ? "planned" : "failed";
}

std::vector<std::string> cellsOf(const InterfaceStatus& interface, bool observe) {
    return {interface.name, interface.hook, interface.mode, stateOf(interface, observe), orDash(joined(interface.accelerates))};
}

std::vector<Table::Column> columns(const char* last) {
    return {{"INTERFACE"}, {"HOOK"}, {"MODE"}, {"STATE"}, {"ACCELERATES"}, {last}};
}

std::string reasonCodes(const std::vector<std::string>& reasons) {
    std::vector<std::string> codes;
    for (const auto& reason : reasons) {
        std::string code = reason.substr(0, reason.find(": "));
        if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(std::move(code));
    }
    return joined(codes);
}

std::string heldNote(bool heldAll) {
    return heldAll ? "everything is on hold: all packets go to Linux until the new plan is in place\n" : "";
}

}  // namespace

std::string toText(const StatusReport& report) {
    const auto& interfaces = report.plan.interfaces;
    const auto accelerated =
        std::count_if(interfaces.begin(), interfaces.end(), [](const auto& one) { return one.hook != "none"; });
    std::string text = fmt::format("fastlet {}: {}, plan {}, {} of {} interfaces accelerated{}\n", printable(report.version),
                                   report.ready ? "ready" : "not ready", report.plan.generation, accelerated, interfaces.size(),
                                   report.plan.observe ? " (observe only: nothing is attached)" : "");
    text += fmt::format("packets: {} fast, {} left to Linux, {} held; routes: {} IPv4, {} IPv6\n", report.counters.fastPackets,
                        report.counters.slowPackets, report.counters.heldPackets, report.routes4, report.routes6);
    text += heldNote(report.plan.heldAll);
    Table table(columns("REASONS"));
    for (const auto& interface : interfaces) {
        auto cells = cellsOf(interface, report.plan.observe);
        cells.push_back(orDash(reasonCodes(interface.reasons)));
        table.add(cells);
    }
    return text + '\n' + table.text();
}

std::string toText(const PlanReport& report) {
    Table table(columns("LEFT TO LINUX, BECAUSE"));
    for (const auto& interface : report.interfaces) {
        auto cells = cellsOf(interface, report.observe);
        cells.push_back(interface.reasons.empty() ? "-" : interface.reasons.front());
        table.add(cells);
        for (std::size_t i = 1; i < interface.reasons.size(); ++i) table.add({"", "", "", "", "", interface.reasons[i]});
    }
    return heldNote(report.heldAll) + table.text();
}

std::string toText(const StatsReport& report) {
    constexpr auto kRight = Table::Align::right;
    Table table({{"INTERFACE"},
                 {"FAST IPv4", kRight},
                 {"FAST IPv6", kRight},
                 {"FAST BYTES", kRight},
                 {"TO LINUX", kRight},
                 {"HELD", kRight}});
    for (const auto& counters : report) {
        std::uint64_t slow = 0;
        std::size_t width = 0;
        for (const auto& [name, packets] : counters.slow) {
            slow += packets;
            width = std::max(width, name.size());
        }
        table.add({counters.name, std::to_string(counters.fast4Packets), std::to_string(counters.fast6Packets),
                   std::to_string(counters.fastBytes), std::to_string(slow), std::to_string(counters.heldPackets)});
        for (const auto& [name, packets] : counters.slow)
            table.note(fmt::format("    {:<{}}  {}  {}", name, width, packets, reasonText(name)));
    }
    return table.text();
}

std::string toText(const linuxfp::Explanation& explanation) {
    std::size_t width = 0;
    for (const auto& step : explanation.steps) width = std::max(width, printable(step.check).size());
    std::string text;
    for (const auto& step : explanation.steps)
        text +=
            fmt::format("{:<3} {:<{}}  {}\n", step.passed ? "ok" : "no", printable(step.check), width, printable(step.detail));
    if (!explanation.egress.empty()) {
        text += fmt::format("leaves by {}", printable(explanation.egress));
        if (!explanation.nextHop.empty()) text += fmt::format(" to {}", printable(explanation.nextHop));
        if (!explanation.nextHopMac.empty()) text += fmt::format(" ({})", printable(explanation.nextHopMac));
        text += '\n';
    }
    return text + fmt::format("{}\n", printable(explanation.verdict));
}

}  // namespace fastlet::agent
