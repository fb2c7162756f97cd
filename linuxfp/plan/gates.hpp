// SPDX-License-Identifier: Apache-2.0
// The questions that the planner asks of the kernel's state. Each answers with reasons; no reason means: modelled, go ahead.
#pragma once

#include <vector>

#include "linuxfp/plan/plan.hpp"

namespace fastlet::linuxfp {

using Reasons = std::vector<Reason>;

/// Bits of IFLA/netdev xdp-features (NETDEV_XDP_ACT_*, include/uapi/linux/netdev.h).
inline constexpr std::uint64_t kXdpBasic = 1;
inline constexpr std::uint64_t kXdpRedirect = 2;
inline constexpr std::uint64_t kXdpNdoXmit = 4;

/// br_netfilter's netfilter hook at prerouting.
inline constexpr const char* kBridgeNetfilterHook = "ip_sabotage_in";

/// Hardware: no link kind, so a driver of its own. Everything else is made of software.
[[nodiscard]] bool isHardware(const Link& link);

/// May packets of this family, coming in anywhere, be forwarded past what netfilter, xfrm and policy rules would do with them?
[[nodiscard]] Reasons familyGate(Family family, const NetState& state);
/// Netfilter's part of familyGate.
[[nodiscard]] Reasons netfilterGate(Family family, const NetState& state);

/// May this interface have a program at all (link level, user's wishes, foreign programs)?
[[nodiscard]] Reasons interfaceGate(const Link& link, const NetState& state, const PlannerConfig& config);
/// The family's own switches of one interface (forwarding, proxy_ndp, ...).
[[nodiscard]] Reasons forwardingGate(Family family, const Link& link, const NetState& state);

/// May redirected packets leave here? XDP skips qdiscs, egress filters and captures; tc passes through all of them.
[[nodiscard]] bool openForXdp(const Link& link, const NetState& state, const PlannerConfig& config);
[[nodiscard]] bool openForTc(const Link& link, const NetState& state, const PlannerConfig& config);

/// Is somebody capturing what this interface carries?
[[nodiscard]] bool captured(const Link& link, const NetState& state);
/// Does the user want the interface to be left alone?
[[nodiscard]] Reasons wishGate(const Link& link, const PlannerConfig& config);

}  // namespace fastlet::linuxfp
