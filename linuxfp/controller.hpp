// SPDX-License-Identifier: Apache-2.0
// From "something has changed" to "the fast path fits again": read anew, plan, deploy, lift the holds. No thread and no socket of
// its own; everything that it needs stands behind a port.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "linuxfp/coherence/hold_book.hpp"
#include "linuxfp/coherence/watch.hpp"
#include "linuxfp/deploy/deployer.hpp"
#include "linuxfp/engine.hpp"

namespace fastlet::linuxfp {

class Controller final : public Engine {
public:
    struct Ports {
        Netlink& netlink;
        std::function<Status(std::uint32_t categories, NetState& state)> introspect;  ///< contract: Introspector::refresh
        Watch& watch;
        HoldBook& book;
        BpfKernel* kernel;   ///< null: observe only
        Deployer* deployer;  ///< null: observe only
        std::function<Vitals(const fl_vitals&)> describe;
    };

    Controller(Ports ports, PlannerConfig config);

    /// To be called when the sentinel has woken the main loop, and once at the start.
    void cycle();
    /// To be called every second: settings that nothing notifies, attempts that failed, routes learnt long ago.
    void everySecond();
    /// Contract: Service::configure.
    Status configure(const PlannerConfig& config);

    EngineReport report() override;
    std::vector<InterfaceCounters> counters() override;
    Result<Explanation> explain(const PacketQuery& query) override;
    Status setEnabled(const std::optional<std::string>& interface, bool enabled) override;

    /// Interfaces are waiting for their program: call cycle() again, soon.
    [[nodiscard]] bool unfinished() const { return unfinished_; }
    [[nodiscard]] const NetState& state() const { return state_; }

private:
    struct Refused {
        std::string name;
        std::uint32_t mtu = 0;
    };

    Status refresh(std::uint32_t categories, NetState& next);
    void describeVitals(bool always, NetState& next);
    void replan(std::uint64_t stamp, bool always);
    Status replanAsAsked();
    Status deploy(FastPathPlan& plan, bool changed);
    void remember(const Refusals& refusals);
    void forgetRefusals();
    void complain(const Error& error);

    Ports ports_;
    PlannerConfig config_;
    NetState state_;
    FastPathPlan plan_;
    fl_vitals described_{};
    Refusals refusals_;
    std::map<std::uint32_t, Refused> refusedAt_;
    std::set<std::uint32_t> attached_;
    std::uint64_t generation_ = 0;
    std::uint64_t stamp_ = 0;  ///< of the newest event that the applied plan has seen
    std::uint64_t secondsSinceRouteDump_ = 0;
    bool ready_ = false;
    bool unfinished_ = false;
    bool redo_ = false;  ///< the last deployment failed: the kernel is not as plan_ says
    std::string lastComplaint_;
};

/// Do two plans ask the same of the kernel? Reasons and numbers do not count.
[[nodiscard]] bool sameDeployment(const FastPathPlan& left, const FastPathPlan& right);

}  // namespace fastlet::linuxfp
