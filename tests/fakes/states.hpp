// SPDX-License-Identifier: Apache-2.0
// A kernel state that is easy to say: a plain router, from which a test departs.
#pragma once

#include <cstdint>
#include <string>

#include "linuxfp/model/net_state.hpp"
#include "linuxfp/plan/plan.hpp"

namespace fastlet::linuxfp::fake {

/// An Ethernet link that is up, of kind veth, or hardware when `kind` is empty; native XDP in all its features.
[[nodiscard]] Link link(std::uint32_t ifindex, const std::string& name, const std::string& kind = "veth");
/// lo and two links, "in0" (2) and "out0" (3), both families forwarding, nothing else configured.
[[nodiscard]] NetState router(const std::string& kind = "veth");
/// Adds a link with forwarding on.
void addLink(NetState& state, const Link& link);

/// Virtual devices are accelerated on tc, which the user must ask for.
[[nodiscard]] PlannerConfig onTc();

}  // namespace fastlet::linuxfp::fake
