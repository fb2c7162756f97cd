// SPDX-License-Identifier: Apache-2.0
// tc ingress. TCX links (6.6 on) die with the process; below, a filter on clsact, which `cleanup` can remove.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/fd.hpp"
#include "core/ledger.hpp"
#include "core/result.hpp"
#include "linuxfp/deploy/bpf_kernel.hpp"
#include "linuxfp/model/net_state.hpp"

namespace fastlet::linuxfp {

/// Our filter's place on clsact ingress.
inline constexpr std::uint32_t kFilterHandle = 0xfa57;
inline constexpr std::uint32_t kFilterPriority = 0xfa57;

/// The program of our filter on clsact ingress; id 0: there is none.
[[nodiscard]] AttachedProgram clsactProgram(std::uint32_t ifindex);
/// Removes our filter, and then the clsact qdisc if `ownQdisc` and nothing else hangs on it. Nothing there is success.
[[nodiscard]] Status removeClsact(std::uint32_t ifindex, bool ownQdisc);

class TcHook {
public:
    /// `ledger` remembers the qdiscs that were created; may be null.
    TcHook(bool useTcx, Ledger* ledger);
    /// Contract: BpfKernel::attachTc, detachTc.
    Status attach(std::uint32_t ifindex, const LoadedProgram& program);
    Status detach(std::uint32_t ifindex);

private:
    Status attachTcx(std::uint32_t ifindex, const LoadedProgram& program);
    Status attachClsact(std::uint32_t ifindex, const LoadedProgram& program);

    bool useTcx_;
    Ledger* ledger_;
    std::map<std::uint32_t, Fd> links_;
};

}  // namespace fastlet::linuxfp
