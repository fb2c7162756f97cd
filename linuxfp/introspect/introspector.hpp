// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's state by dumps, category by category. One parser a category; events never edit the model.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/ports/netlink.hpp"
#include "core/result.hpp"
#include "linuxfp/coherence/invalidation.hpp"
#include "linuxfp/model/net_state.hpp"

namespace fastlet::linuxfp {

/// Who takes packets of an interface, as far as netlink cannot answer: bpf(2). A port: tests have a fake.
class HookInspector {
public:
    virtual ~HookInspector() = default;
    virtual Result<AttachedProgram> program(std::uint32_t id) = 0;
    /// TCX programs in order; empty on kernels without TCX (before 6.6).
    virtual Result<std::vector<AttachedProgram>> tcx(std::uint32_t ifindex, bool ingress) = 0;
    /// The interfaces that have a receive handler, by ifindex (bpf/abi/rx_handlers.h).
    virtual Result<std::set<std::uint32_t>> rxHandlers() = 0;
};

/// Files of the kernel that netlink does not cover; returns the content of a path below /proc. A port: tests have a fake.
using ProcReader = std::function<Result<std::string>(const std::string& path)>;
[[nodiscard]] ProcReader realProcReader();

class Introspector {
public:
    Introspector(Netlink& netlink, HookInspector& hooks, ProcReader proc)
        : netlink_(netlink), hooks_(hooks), proc_(std::move(proc)) {}

    /// `state` with the named categories read anew (Category bits; kVitals is not read here). On an Error `state` is unchanged.
    /// A dump that the kernel calls inconsistent is repeated a few times before it is an Error.
    Status refresh(std::uint32_t categories, NetState& state);

private:
    Netlink& netlink_;
    HookInspector& hooks_;
    ProcReader proc_;
};

}  // namespace fastlet::linuxfp
