// SPDX-License-Identifier: Apache-2.0
// linuxfp without a kernel: two interfaces, counters, and a switch that can be looked at.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "linuxfp/engine.hpp"

namespace fastlet::tests {

class FakeEngine : public linuxfp::Engine {
public:
    FakeEngine() {
        state.ready = true;
        state.generation = 3;
        state.routes4 = 12;
        state.routes6 = 4;
        state.counters = {1000, 20, 3};
        state.interfaces.push_back(interface(2, "eth0", linuxfp::Hook::xdp, linuxfp::HookMode::native));
        state.interfaces.back().plan.accelerates = {"ipv4-forward", "ipv6-forward"};
        state.interfaces.back().attached = true;
        state.interfaces.push_back(interface(5, "veth7", linuxfp::Hook::none, linuxfp::HookMode::none));
        state.interfaces.back().plan.reasons = {{"foreign-xdp", "another XDP program is attached"}};
    }

    linuxfp::EngineReport report() override {
        if (broken) throw std::runtime_error("broken on purpose");
        return state;
    }

    std::vector<linuxfp::InterfaceCounters> counters() override {
        return {{2, "eth0", 900, 100, 64000, 3, {{"no-neighbour", 5}, {"ttl", 15}}}, {5, "veth7", 0, 0, 0, 0, {}}};
    }

    Result<linuxfp::Explanation> explain(const linuxfp::PacketQuery& query) override {
        asked = query;
        if (query.interface != "eth0") return Error::make("there is no interface " + query.interface, "see `fastctl fp plan`");
        linuxfp::Explanation explanation;
        explanation.fast = true;
        explanation.verdict = "forwarded by the fast path to eth1";
        explanation.steps = {{"interface", true, "eth0 is accelerated by xdp"}, {"size", true, "not given, not checked"}};
        explanation.nextHop = "192.0.2.1";
        explanation.egress = "eth1";
        explanation.nextHopMac = "02:00:00:00:00:01";
        return explanation;
    }

    Status setEnabled(const std::optional<std::string>& interface, bool enabled) override {
        if (interface && *interface == "nosuch") return Error::make("there is no interface nosuch", "see `fastctl fp plan`");
        changes.emplace_back(interface.value_or("*"), enabled);
        return {};
    }

    static linuxfp::InterfaceReport interface(std::uint32_t ifindex, const std::string& name, linuxfp::Hook hook,
                                              linuxfp::HookMode mode) {
        linuxfp::InterfaceReport report;
        report.plan.ifindex = ifindex;
        report.plan.name = name;
        report.plan.hook = hook;
        report.plan.mode = mode;
        return report;
    }

    linuxfp::EngineReport state;
    linuxfp::PacketQuery asked;
    std::vector<std::pair<std::string, bool>> changes;
    bool broken = false;
};

}  // namespace fastlet::tests
