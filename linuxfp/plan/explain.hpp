// SPDX-License-Identifier: Apache-2.0
// What would happen to this packet, and why: the fast path's own checks in their order, asked of the kernel's live tables.
#pragma once

#include <cstdint>
#include <set>

#include "core/ports/netlink.hpp"
#include "core/result.hpp"
#include "linuxfp/engine.hpp"
#include "linuxfp/model/net_state.hpp"
#include "linuxfp/plan/plan.hpp"

namespace fastlet::linuxfp {

/// Error: there is no such interface, or the query contradicts itself (families that differ).
[[nodiscard]] Result<Explanation> explainPacket(const PacketQuery& query, const NetState& state, const FastPathPlan& plan,
                                                bool heldAll, const std::set<std::uint32_t>& heldInterfaces, Netlink& netlink);

}  // namespace fastlet::linuxfp
