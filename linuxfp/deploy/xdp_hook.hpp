// SPDX-License-Identifier: Apache-2.0
// The XDP hook of one interface, by netlink and not by a bpf_link: the program must outlive a killed daemon (it then passes all
// packets to Linux), and `ip link set DEV xdp off` must keep working for the administrator.
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "linuxfp/deploy/bpf_kernel.hpp"
#include "linuxfp/model/net_state.hpp"

namespace fastlet::linuxfp {

/// What is there now. An interface that does not exist has none.
struct XdpOccupant {
    AttachedProgram native;
    bool other = false;  ///< generic or offloaded mode: never ours
};

[[nodiscard]] Result<XdpOccupant> xdpOccupant(std::uint32_t ifindex);
/// Contract: BpfKernel::attachXdp.
[[nodiscard]] Status attachXdpProgram(std::uint32_t ifindex, const LoadedProgram& program);
/// Contract: BpfKernel::detachXdp.
[[nodiscard]] Status detachXdpProgram(std::uint32_t ifindex);

}  // namespace fastlet::linuxfp
