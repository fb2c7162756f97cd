// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <exception>

#include "agent/report/report.hpp"

namespace fastlet::agent {
namespace {

Json interfaceJson(const InterfaceStatus& interface) {
    return {{"name", interface.name}, {"ifindex", interface.ifindex},         {"hook", interface.hook},
            {"mode", interface.mode}, {"accelerates", interface.accelerates}, {"reasons", interface.reasons},
            {"held", interface.held}, {"attached", interface.attached}};
}

InterfaceStatus interfaceFrom(const Json& json) {
    InterfaceStatus interface;
    interface.name = json.at("name").get<std::string>();
    interface.ifindex = json.at("ifindex").get<std::uint32_t>();
    interface.hook = json.at("hook").get<std::string>();
    interface.mode = json.at("mode").get<std::string>();
    interface.accelerates = json.at("accelerates").get<std::vector<std::string>>();
    interface.reasons = json.at("reasons").get<std::vector<std::string>>();
    interface.held = json.at("held").get<bool>();
    interface.attached = json.at("attached").get<bool>();
    return interface;
}

PlanReport planFrom(const Json& json) {
    PlanReport report;
    for (const auto& interface : json.at("interfaces")) report.interfaces.push_back(interfaceFrom(interface));
    report.generation = json.at("generation").get<std::uint64_t>();
    report.observe = json.at("observe").get<bool>();
    report.heldAll = json.at("held_all").get<bool>();
    return report;
}

StatusReport statusFrom(const Json& json) {
    StatusReport report;
    report.ready = json.at("ready").get<bool>();
    report.version = json.at("version").get<std::string>();
    const Json& linuxfp = json.at("linuxfp");
    report.plan = planFrom(linuxfp);
    const Json& counters = linuxfp.at("counters");
    report.counters.fastPackets = counters.at("fast_packets").get<std::uint64_t>();
    report.counters.slowPackets = counters.at("slow_packets").get<std::uint64_t>();
    report.counters.heldPackets = counters.at("held_packets").get<std::uint64_t>();
    report.routes4 = linuxfp.at("routes").at("ipv4").get<std::uint64_t>();
    report.routes6 = linuxfp.at("routes").at("ipv6").get<std::uint64_t>();
    return report;
}

linuxfp::InterfaceCounters countersFrom(const Json& json) {
    linuxfp::InterfaceCounters counters;
    counters.name = json.at("name").get<std::string>();
    counters.ifindex = json.at("ifindex").get<std::uint32_t>();
    counters.fast4Packets = json.at("fast4_packets").get<std::uint64_t>();
    counters.fast6Packets = json.at("fast6_packets").get<std::uint64_t>();
    counters.fastBytes = json.at("fast_bytes").get<std::uint64_t>();
    counters.heldPackets = json.at("held_packets").get<std::uint64_t>();
    for (const auto& [name, packets] : json.at("slow").items()) counters.slow.emplace_back(name, packets.get<std::uint64_t>());
    return counters;
}

StatsReport statsFrom(const Json& json) {
    StatsReport report;
    for (const auto& interface : json.at("interfaces")) report.push_back(countersFrom(interface));
    return report;
}

linuxfp::Explanation explanationFrom(const Json& json) {
    linuxfp::Explanation explanation;
    explanation.fast = json.at("fast").get<bool>();
    explanation.verdict = json.at("verdict").get<std::string>();
    for (const auto& step : json.at("steps"))
        explanation.steps.push_back(
            {step.at("check").get<std::string>(), step.at("passed").get<bool>(), step.at("detail").get<std::string>()});
    explanation.nextHop = json.at("next_hop").get<std::string>();
    explanation.egress = json.at("egress").get<std::string>();
    explanation.nextHopMac = json.at("next_hop_mac").get<std::string>();
    return explanation;
}

template <class Decode>
auto decoded(Decode decode, const Json& json) -> Result<decltype(decode(json))> {
    try {
        return decode(json);
    } catch (const std::exception& exception) {
        return Error::make(fmt::format("the daemon's answer is not understood: {}", exception.what()),
                           "are fastctl and the daemon of the same version?");
    }
}

}  // namespace

StatusReport makeStatus(const linuxfp::EngineReport& report, const std::string& version) {
    StatusReport status;
    status.ready = report.ready;
    status.version = version;
    status.plan.generation = report.generation;
    status.plan.observe = report.observe;
    status.plan.heldAll = report.heldAll;
    status.counters = report.counters;
    status.routes4 = report.routes4;
    status.routes6 = report.routes6;
    for (const auto& one : report.interfaces) {
        InterfaceStatus interface;
        interface.name = one.plan.name;
        interface.ifindex = one.plan.ifindex;
        interface.hook = linuxfp::toString(one.plan.hook);
        interface.mode = linuxfp::toString(one.plan.mode);
        interface.accelerates = one.plan.accelerates;
        for (const auto& reason : one.plan.reasons) interface.reasons.push_back(reason.code + ": " + reason.text);
        interface.held = one.held;
        interface.attached = one.attached;
        status.plan.interfaces.push_back(std::move(interface));
    }
    return status;
}

Json toJson(const PlanReport& report) {
    Json interfaces = Json::array();
    for (const auto& interface : report.interfaces) interfaces.push_back(interfaceJson(interface));
    return {{"interfaces", std::move(interfaces)},
            {"generation", report.generation},
            {"observe", report.observe},
            {"held_all", report.heldAll}};
}

Json toJson(const StatusReport& report) {
    Json linuxfp = toJson(report.plan);
    linuxfp["counters"] = {{"fast_packets", report.counters.fastPackets},
                           {"slow_packets", report.counters.slowPackets},
                           {"held_packets", report.counters.heldPackets}};
    linuxfp["routes"] = {{"ipv4", report.routes4}, {"ipv6", report.routes6}};
    return {{"ready", report.ready}, {"version", report.version}, {"linuxfp", std::move(linuxfp)}};
}

Json toJson(const StatsReport& report) {
    Json interfaces = Json::array();
    for (const auto& counters : report) {
        Json slow = Json::object();
        for (const auto& [name, packets] : counters.slow) slow[name] = packets;
        interfaces.push_back({{"name", counters.name},
                              {"ifindex", counters.ifindex},
                              {"fast4_packets", counters.fast4Packets},
                              {"fast6_packets", counters.fast6Packets},
                              {"fast_bytes", counters.fastBytes},
                              {"held_packets", counters.heldPackets},
                              {"slow", std::move(slow)}});
    }
    return Json::object({{"interfaces", std::move(interfaces)}});
}

Json toJson(const linuxfp::Explanation& explanation) {
    Json steps = Json::array();
    for (const auto& step : explanation.steps)
        steps.push_back({{"check", step.check}, {"passed", step.passed}, {"detail", step.detail}});
    return {{"fast", explanation.fast},        {"verdict", explanation.verdict}, {"steps", std::move(steps)},
            {"next_hop", explanation.nextHop}, {"egress", explanation.egress},   {"next_hop_mac", explanation.nextHopMac}};
}

Result<StatusReport> statusFromJson(const Json& json) { return decoded(statusFrom, json); }
Result<PlanReport> planFromJson(const Json& json) { return decoded(planFrom, json); }
Result<StatsReport> statsFromJson(const Json& json) { return decoded(statsFrom, json); }
Result<linuxfp::Explanation> explanationFromJson(const Json& json) { return decoded(explanationFrom, json); }

std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace fastlet::agent
