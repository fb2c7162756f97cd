// SPDX-License-Identifier: Apache-2.0
// A kernel in memory that behaves as the contract of BpfKernel says: it remembers what is attached, who it belongs to, and
// refuses when told to.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "linuxfp/deploy/bpf_kernel.hpp"

namespace fastlet::linuxfp::fake {

class FakeBpfKernel final : public BpfKernel {
public:
    SharedMemory shared() override { return {&control, ports.data(), &local}; }
    Result<LoadedProgram> load(Hook hook, const fl_shape& shape) override;
    Status attachXdp(std::uint32_t ifindex, const LoadedProgram& program) override;
    Status detachXdp(std::uint32_t ifindex) override;
    Status attachTc(std::uint32_t ifindex, const LoadedProgram& program) override;
    Status detachTc(std::uint32_t ifindex) override;
    Status setRedirectTarget(std::uint32_t ifindex, bool on) override;
    Status setLocalAddresses(const std::vector<std::uint32_t>& addresses) override;
    Result<fl_port_stats> stats(std::uint32_t slot) override { return counters[slot]; }
    Status clearStats(std::uint32_t slot) override {
        counters[slot] = {};
        return {};
    }
    Result<std::vector<std::uint32_t>> leftovers() override { return std::vector<std::uint32_t>{}; }

    fl_control control{};
    std::array<fl_port, FL_PORTS> ports{};
    fl_local_filter local{};
    std::map<std::uint32_t, fl_port_stats> counters;

    std::map<std::uint32_t, std::uint32_t> xdp;  ///< ifindex -> program id
    std::map<std::uint32_t, std::uint32_t> tc;
    std::set<std::uint32_t> foreignXdp;  ///< these have somebody else's program
    std::set<std::uint32_t> targets;
    std::vector<std::uint32_t> localAddresses;
    std::vector<std::string> calls;  ///< "attach xdp 2", ... in order
    /// Asked before every call; an Error is what the call returns.
    std::function<Status(const std::string& call)> refuse = [](const std::string&) { return Status{}; };

private:
    Status called(const std::string& call);
    std::map<std::string, LoadedProgram> programs_;
};

}  // namespace fastlet::linuxfp::fake
