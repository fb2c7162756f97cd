// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "linuxfp/plan/gates.hpp"
#include "linuxfp/plan/plan.hpp"

namespace fastlet::linuxfp {
namespace {

struct FamilyVerdict {
    Reasons reasons4;
    Reasons reasons6;
};

std::uint32_t networkOrder(const IpAddress& address) {
    std::uint32_t value = 0;
    std::copy_n(address.bytes.begin(), 4, reinterpret_cast<unsigned char*>(&value));
    return value;
}

std::vector<std::uint32_t> localAddresses(const NetState& state) {
    std::vector<std::uint32_t> local;
    for (const auto& entry : state.addresses)
        if (entry.address.address.family == Family::ipv4) local.push_back(networkOrder(entry.address.address));
    std::sort(local.begin(), local.end());
    local.erase(std::unique(local.begin(), local.end()), local.end());
    return local;
}

std::uint32_t maxLength(const RouteSummary& routes) {
    constexpr std::uint32_t kMaxIpLength = 65535;
    return routes.minMtu ? std::min(routes.minMtu, kMaxIpLength) : kMaxIpLength;
}

std::uint8_t multipathShape(const RouteSummary& routes, int policy) {
    if (!routes.multipath) return 0;
    return policy == 0 ? 1 : 2;
}

bool hasAddress4(const Link& link, const NetState& state) {
    return std::any_of(state.addresses.begin(), state.addresses.end(), [&](const InterfaceAddress& one) {
        return one.ifindex == link.ifindex && one.address.address.family == Family::ipv4;
    });
}

// What Linux does with the source address (fib_validate_source, net/ipv4/fib_frontend.c): the larger rp_filter of "all" and the
// interface applies; without one, a lookup is still made as soon as rules or local routes of the administrator's own exist.
void sourceShape(const Link& link, const NetState& state, fl_shape& shape) {
    const auto& all = state.conf4.at(-1);
    const auto& own = state.conf4.at(static_cast<std::int32_t>(link.ifindex));
    const int filter = std::max(all.rpFilter, own.rpFilter);
    shape.accept_local = all.acceptLocal || own.acceptLocal;
    const bool customLookup = state.vitals.customRules4 || state.vitals.customLocalRoutes4 || state.routes4.customLocal;
    // Where the ingress interface has no address, a loose filter takes a source by another interface for one that it cannot find.
    if (filter == 1 || (filter != 0 && !hasAddress4(link, state)))
        shape.source_lookup = 2;
    else if (filter != 0 || customLookup)
        shape.source_lookup = 1;
}

bool hasXdpDriver(const Link& link) {
    // Before 6.3 nobody can tell; the attachment itself then is the question, and a refusal leads to tc.
    if (!link.xdpFeaturesKnown) return isHardware(link);
    return (link.xdpFeatures & kXdpBasic) && (link.xdpFeatures & kXdpRedirect);
}

// Not "would be slower": is there any other interface that XDP could send to, now or once it has a program of its own?
bool xdpHasTarget(const Link& from, const NetState& state, const PlannerConfig& config) {
    return std::any_of(state.links.begin(), state.links.end(), [&](const auto& entry) {
        const Link& to = entry.second;
        if (to.ifindex == from.ifindex) return false;
        return openForXdp(to, state, config) || (isHardware(to) && hasXdpDriver(to) && openForTc(to, state, config));
    });
}

Reasons xdpObstacles(const Link& link, const NetState& state, const PlannerConfig& config, const Refusals& refusals) {
    Reasons reasons;
    if (!hasXdpDriver(link)) reasons.push_back({"no-native-xdp", "the driver has no native XDP with redirect"});
    if (link.xdp.id && !link.xdp.ours)
        reasons.push_back({"foreign-xdp", fmt::format("XDP program {} (id {}) is not ours", link.xdp.name, link.xdp.id)});
    if (captured(link, state)) reasons.push_back({"capture", "a packet socket listens, which XDP would hide packets from"});
    if (!xdpHasTarget(link, state, config)) reasons.push_back({"no-xdp-target", "no other interface can take packets from XDP"});
    if (const auto it = refusals.find({link.ifindex, Hook::xdp}); it != refusals.end())
        reasons.push_back({"xdp-refused", it->second});
    return reasons;
}

// tc measures below Linux with a lookup for every packet (docs/linuxfp.md), so only who names it gets it.
Hook chooseHook(const Link& link, const NetState& state, const PlannerConfig& config, const Refusals& refusals,
                Reasons& reasons) {
    if (isHardware(link) || config.virtualHook == Hook::xdp) {
        const Reasons obstacles = xdpObstacles(link, state, config, refusals);
        if (obstacles.empty()) return Hook::xdp;
        reasons.insert(reasons.end(), obstacles.begin(), obstacles.end());
        return Hook::none;
    }
    if (config.virtualHook != Hook::tc) {
        reasons.push_back({"tc-not-faster",
                           "forwarding on tc is not faster than Linux, and XDP on a virtual device costs TCP its "
                           "large segments: virtual_hook = \"tc\" or \"xdp\" asks for one of them"});
        return Hook::none;
    }
    const auto refused = refusals.find({link.ifindex, Hook::tc});
    if (refused == refusals.end()) return Hook::tc;
    reasons.push_back({"tc-refused", refused->second});
    return Hook::none;
}

void append(Reasons& to, const char* family, const Reasons& from) {
    for (const auto& reason : from) to.push_back({reason.code, fmt::format("{}: {}", family, reason.text)});
}

void planFamilies(const Link& link, const NetState& state, const FamilyVerdict& families, InterfacePlan& plan) {
    Reasons reasons4 = forwardingGate(Family::ipv4, link, state);
    reasons4.insert(reasons4.end(), families.reasons4.begin(), families.reasons4.end());
    Reasons reasons6 = forwardingGate(Family::ipv6, link, state);
    reasons6.insert(reasons6.end(), families.reasons6.begin(), families.reasons6.end());
    if (reasons4.empty()) {
        plan.shape.ipv4 = 1;
        plan.shape.multipath4 = multipathShape(state.routes4, state.vitals.multipathPolicy4);
        sourceShape(link, state, plan.shape);
        plan.accelerates.emplace_back("ipv4-forward");
    }
    if (reasons6.empty()) {
        plan.shape.ipv6 = 1;
        plan.shape.multipath6 = multipathShape(state.routes6, state.vitals.multipathPolicy6);
        plan.accelerates.emplace_back("ipv6-forward");
    }
    append(plan.reasons, "ipv4", reasons4);
    append(plan.reasons, "ipv6", reasons6);
}

InterfacePlan planInterface(const Link& link, const NetState& state, const PlannerConfig& config, const Refusals& refusals,
                            const FamilyVerdict& families) {
    InterfacePlan plan;
    plan.ifindex = link.ifindex;
    plan.name = link.name;
    plan.mac = link.mac;
    plan.egressXdp = openForXdp(link, state, config);
    plan.egressTc = openForTc(link, state, config);
    plan.reasons = interfaceGate(link, state, config);
    if (!plan.reasons.empty()) return plan;
    planFamilies(link, state, families, plan);
    if (!plan.accelerates.empty()) plan.hook = chooseHook(link, state, config, refusals, plan.reasons);
    if (plan.hook == Hook::none) {
        plan.accelerates.clear();
        plan.shape = {};
        return plan;
    }
    plan.mode = plan.hook == Hook::xdp ? HookMode::native : HookMode::tc;
    plan.shape.partial_check = plan.hook == Hook::xdp && !isHardware(link);
    plan.shape.priority_update = plan.hook == Hook::tc && plan.shape.ipv4 && state.vitals.forwardUpdatePriority4;
    return plan;
}

// Two interfaces whose index falls on the same slot of the port table: the one with the lower index keeps it.
void resolveSlots(std::vector<InterfacePlan>& plans) {
    std::map<std::uint32_t, std::string> taken;
    for (auto& plan : plans) {
        const bool needs = plan.hook != Hook::none || plan.egressXdp || plan.egressTc;
        if (!needs || taken.emplace(plan.ifindex & (FL_PORTS - 1), plan.name).second) continue;
        plan.reasons.push_back(
            {"port-slot", fmt::format("shares its slot in the port table with {}", taken[plan.ifindex & (FL_PORTS - 1)])});
        plan.hook = Hook::none;
        plan.mode = HookMode::none;
        plan.shape = {};
        plan.accelerates.clear();
        plan.egressXdp = plan.egressTc = false;
    }
}

}  // namespace

const char* toString(Hook hook) {
    switch (hook) {
        case Hook::xdp:
            return "xdp";
        case Hook::tc:
            return "tc";
        case Hook::none:
            break;
    }
    return "none";
}

const char* toString(HookMode mode) {
    switch (mode) {
        case HookMode::native:
            return "native";
        case HookMode::generic:
            return "generic";
        case HookMode::tc:
            return "tc";
        case HookMode::none:
            break;
    }
    return "none";
}

FastPathPlan makePlan(const NetState& state, const PlannerConfig& config, const Refusals& refusals) {
    FastPathPlan plan;
    plan.state = state.number;
    plan.maxLen4 = maxLength(state.routes4);
    plan.maxLen6 = maxLength(state.routes6);
    plan.local4 = localAddresses(state);
    const FamilyVerdict families{familyGate(Family::ipv4, state), familyGate(Family::ipv6, state)};
    for (const auto& [ifindex, link] : state.links)
        plan.interfaces.push_back(planInterface(link, state, config, refusals, families));
    resolveSlots(plan.interfaces);
    return plan;
}

}  // namespace fastlet::linuxfp
