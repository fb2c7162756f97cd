// SPDX-License-Identifier: Apache-2.0
// Brings the kernel from the fast path that is there to the one that is planned.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/ledger.hpp"
#include "core/result.hpp"
#include "linuxfp/deploy/bpf_kernel.hpp"
#include "linuxfp/plan/plan.hpp"

namespace fastlet::linuxfp {

struct DeployOutcome {
    std::set<std::uint32_t> attached;  ///< ifindex of every interface whose program is in place
    Refusals refusals;                 ///< new ones: what the kernel said no to, for the planner's next run
    bool pending = false;              ///< interfaces are waiting for their program: apply the same plan again
};

class Deployer {
public:
    Deployer(BpfKernel& kernel, Ledger& ledger) : kernel_(kernel), ledger_(ledger) {}

    /// The caller keeps everything on hold (HoldBook) while a plan that differs from the last one is applied, and lifts the holds
    /// afterwards; a hold is never lifted here. An interface that fails is left without a program and does not hinder the others.
    /// One call attaches to a few interfaces only, because the kernel waits for all its readers each time, some milliseconds: the
    /// main loop has other work, too. Those that wait are left to Linux, also by an older program that may be there. Error: what
    /// concerns all (local addresses, counters, ledger) failed; everything must then stay on hold.
    Result<DeployOutcome> apply(const FastPathPlan& plan);

    /// Everything off. Goes on after an error and returns the first.
    Status detachAll();

private:
    struct Placed {
        Hook hook = Hook::none;
        std::uint32_t program = 0;  ///< id
    };
    using Programs = std::map<std::uint32_t, LoadedProgram>;

    Programs loadAll(const FastPathPlan& plan, DeployOutcome& outcome);
    Status writePorts(const FastPathPlan& plan, const Programs& programs);
    Status writePort(const InterfacePlan& interface, std::uint32_t flags);
    Status place(const InterfacePlan& interface, const LoadedProgram& program, DeployOutcome& outcome);
    [[nodiscard]] bool isPlaced(const InterfacePlan& interface, const LoadedProgram& program) const;
    Status attach(const InterfacePlan& interface, const LoadedProgram& program);
    Status detach(std::uint32_t ifindex, Hook hook);
    Status detachUnwanted(const FastPathPlan& plan, const Programs& programs);
    Status closeTargets(const FastPathPlan& plan);
    void openTargets(const FastPathPlan& plan);

    BpfKernel& kernel_;
    Ledger& ledger_;
    std::map<std::uint32_t, Placed> placed_;  ///< by ifindex
    std::set<std::uint32_t> targets_;         ///< redirect targets of XDP
};

}  // namespace fastlet::linuxfp
