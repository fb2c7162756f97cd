// SPDX-License-Identifier: Apache-2.0
// The kernel as the deployer sees it: load, attach, share memory. The real one is libbpf and bpf(2); tests have a stateful fake.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/abi/fastpath.h"
#include "core/ledger.hpp"
#include "core/result.hpp"
#include "linuxfp/plan/plan.hpp"

namespace fastlet::linuxfp {

/// A loaded program; alive while somebody holds it (attached programs live on in the kernel until detached).
struct LoadedProgram {
    int fd = -1;  ///< owned by the BpfKernel
    std::uint32_t id = 0;
};

/// Memory shared with the programs. Valid as long as the BpfKernel lives. Written with single stores of 32 or 64 bits.
struct SharedMemory {
    fl_control* control = nullptr;
    fl_port* ports = nullptr;  ///< FL_PORTS slots
    fl_local_filter* local = nullptr;
};

class BpfKernel {
public:
    virtual ~BpfKernel() = default;

    virtual SharedMemory shared() = 0;

    /// Loads (once per hook and shape) and keeps the program. A verifier refusal is an Error whose message names the cause in one
    /// line.
    virtual Result<LoadedProgram> load(Hook hook, const fl_shape& shape) = 0;

    /// Puts `program` on the XDP hook (native mode). Only over nothing or over a program of ours (XDP_FLAGS_REPLACE with the
    /// expected program); a foreign one is an Error with code EEXIST. Calling it with what is already there does nothing.
    virtual Status attachXdp(std::uint32_t ifindex, const LoadedProgram& program) = 0;
    /// Takes it off only if it is ours; nothing there, or no such interface, is success.
    virtual Status detachXdp(std::uint32_t ifindex) = 0;

    /// tc ingress: a TCX link where the kernel has it (6.6 on), a clsact filter below. Swapping programs loses no packet.
    virtual Status attachTc(std::uint32_t ifindex, const LoadedProgram& program) = 0;
    virtual Status detachTc(std::uint32_t ifindex) = 0;

    /// Lets XDP programs redirect to the interface (devmap), or no longer.
    virtual Status setRedirectTarget(std::uint32_t ifindex, bool on) = 0;

    /// The exact set of own IPv4 addresses (network order); the filter bits in shared memory are set before, cleared after.
    virtual Status setLocalAddresses(const std::vector<std::uint32_t>& addresses) = 0;

    /// Sum over CPUs of one slot's counters.
    virtual Result<fl_port_stats> stats(std::uint32_t slot) = 0;
    virtual Status clearStats(std::uint32_t slot) = 0;

    /// Programs of ours on hooks that this process has not put there: what a killed daemon left. Cleared by detach*.
    virtual Result<std::vector<std::uint32_t>> leftovers() = 0;
};

struct BpfKernelOptions {
    bool useTcx = true;        ///< false: clsact even where TCX exists (tests)
    Ledger* ledger = nullptr;  ///< remembers clsact qdiscs that had to be created; must outlive the BpfKernel
};
[[nodiscard]] Result<std::unique_ptr<BpfKernel>> openBpfKernel(const BpfKernelOptions& options);

}  // namespace fastlet::linuxfp
