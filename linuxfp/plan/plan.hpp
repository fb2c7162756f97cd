// SPDX-License-Identifier: Apache-2.0
// What the fast path is to be. A pure function of the kernel's state and the configuration.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bpf/abi/fastpath.h"
#include "linuxfp/model/net_state.hpp"

namespace fastlet::linuxfp {

enum class Hook : std::uint8_t { none, xdp, tc };
enum class HookMode : std::uint8_t { none, native, generic, tc };

[[nodiscard]] const char* toString(Hook hook);
[[nodiscard]] const char* toString(HookMode mode);

/// Why something is left to Linux. `code` is one of a fixed few words (metrics, tests); `text` a sentence for a person.
struct Reason {
    std::string code;
    std::string text;
    bool operator==(const Reason&) const = default;
};

/// The user's wishes: configuration file and `fastctl fp off|on`.
struct PlannerConfig {
    bool enabled = true;
    std::vector<std::string> interfaces = {"*"};  ///< shell patterns (fnmatch) of interface names
    std::vector<std::string> exclude;
    Hook virtualHook = Hook::none;  ///< hook for veth and other virtual devices, when the user asks for one; none: what pays
    bool offAll = false;            ///< fastctl fp off
    std::set<std::string> off;      ///< fastctl fp off IFACE
};

/// What the kernel refused before; permanent for that interface and hook until its link is created anew.
using Refusals = std::map<std::pair<std::uint32_t, Hook>, std::string>;

struct InterfacePlan {
    std::uint32_t ifindex = 0;
    std::string name;
    MacAddress mac;
    Hook hook = Hook::none;
    HookMode mode = HookMode::none;
    fl_shape shape{};
    bool egressXdp = false;  ///< XDP programs may redirect to it
    bool egressTc = false;
    std::vector<std::string> accelerates;  ///< "ipv4-forward", "ipv6-forward"
    std::vector<Reason> reasons;           ///< why not, or why not all
};

struct FastPathPlan {
    std::uint64_t state = 0;  ///< NetState::number
    std::vector<InterfacePlan> interfaces;
    std::uint32_t maxLen4 = 65535;  ///< IP length in bytes beyond which packets go to Linux
    std::uint32_t maxLen6 = 65535;
    std::vector<std::uint32_t> local4;  ///< own IPv4 addresses, network order, sorted
};

[[nodiscard]] FastPathPlan makePlan(const NetState& state, const PlannerConfig& config, const Refusals& refusals);

}  // namespace fastlet::linuxfp
