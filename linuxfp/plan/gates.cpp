// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/plan/gates.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <linux/if.h>
#include <linux/if_arp.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace fastlet::linuxfp {
namespace {

// Qdiscs that neither shape, drop by policy nor mark: skipping them changes nothing that an administrator asked for.
constexpr std::array<std::string_view, 8> kPlainQdiscs = {"noqueue", "mq",    "pfifo_fast", "fq_codel",
                                                          "fq",      "pfifo", "clsact",     "ingress"};
// Kinds of software links whose receive path is known: frames to their MAC that reach the tc hook are then routed by IP.
constexpr std::array<std::string_view, 8> kKnownKinds = {"veth", "tun", "macvlan", "macvtap", "vlan", "bridge", "vxlan", "dummy"};

constexpr std::int32_t kAll = -1;  // NETCONFA_IFINDEX_ALL

const InterfaceConf* conf(const std::map<std::int32_t, InterfaceConf>& all, std::int32_t ifindex) {
    const auto found = all.find(ifindex);
    return found == all.end() || !found->second.known ? nullptr : &found->second;
}

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

bool hasChain(const NetState& state, const Link& link, std::string_view hook) {
    return std::any_of(state.nftChains.begin(), state.nftChains.end(), [&](const NftChain& chain) {
        return chain.hook == hook && std::find(chain.devices.begin(), chain.devices.end(), link.name) != chain.devices.end();
    });
}

// A packet that came by a bridge may have been through br_netfilter, which marks it for its hook at prerouting.
bool meetsBridgeNetfilter(const Link& link, const NetState& state) {
    constexpr std::array<std::string_view, 4> kMayComeByABridge = {"bridge", "vlan", "macvlan", "macvtap"};
    if (std::find(kMayComeByABridge.begin(), kMayComeByABridge.end(), link.kind) == kMayComeByABridge.end()) return false;
    return std::any_of(std::begin(state.vitals.hooks), std::end(state.vitals.hooks), [](const auto& family) {
        const auto& hooks = family[static_cast<std::size_t>(HookPoint::prerouting)];
        return std::any_of(hooks.begin(), hooks.end(), [](const auto& hook) { return hook.function == kBridgeNetfilterHook; });
    });
}

Reasons linkGate(const Link& link) {
    if (link.flags & IFF_LOOPBACK) return {{"loopback", "the loopback interface"}};
    if (!(link.flags & IFF_UP)) return {{"down", "the interface is down"}};
    if (link.arphrd != ARPHRD_ETHER) return {{"not-ethernet", "only Ethernet interfaces are modelled"}};
    if (link.master) {
        const bool port = link.slaveKind == "bridge";
        return {{port ? "bridge-port" : "enslaved",
                 fmt::format("belongs to a {} (ifindex {})", link.slaveKind.empty() ? "master" : link.slaveKind, link.master)}};
    }
    if (!isHardware(link) && std::find(kKnownKinds.begin(), kKnownKinds.end(), link.kind) == kKnownKinds.end())
        return {{"unknown-kind", fmt::format("links of kind {} are not modelled", link.kind)}};
    return {};
}

void rulesGate(Family family, const NetState& state, Reasons& reasons) {
    for (const auto& rule : state.rules)
        if (rule.family == family && !rule.unsupported.empty())
            reasons.push_back({"policy-rule", fmt::format("ip rule {} selects by {}, which the lookup does not honour",
                                                          rule.priority, rule.unsupported)});
}

void fib4Gate(const NetState& state, Reasons& reasons) {
    if (state.vitals.unknown & FL_UNKNOWN_FIB4) reasons.push_back({"fib-unknown", "this kernel's IPv4 settings cannot be read"});
    if (state.vitals.forwardUsePmtu4) reasons.push_back({"forward-use-pmtu", "sysctl net.ipv4.ip_forward_use_pmtu is on"});
    if (state.routes4.realms || state.vitals.tclassidUsers4) reasons.push_back({"realms", "routes or rules carry realms"});
    if (state.routes4.multipath && state.vitals.multipathPolicy4 > 1)
        reasons.push_back({"multipath-hash-policy", fmt::format("multipath routes with net.ipv4.fib_multipath_hash_policy {}",
                                                                state.vitals.multipathPolicy4)});
}

void fib6Gate(const NetState& state, Reasons& reasons) {
    if (state.vitals.unknown & FL_UNKNOWN_FIB6) reasons.push_back({"fib-unknown", "this kernel's IPv6 settings cannot be read"});
    if (state.vitals.proxyNdpAll) reasons.push_back({"proxy-ndp", "sysctl net.ipv6.conf.all.proxy_ndp is on"});
    if (state.routes6.realms) reasons.push_back({"realms", "routes carry realms"});
    if (state.routes6.multipath && state.vitals.multipathPolicy6 > 1)
        reasons.push_back({"multipath-hash-policy", fmt::format("multipath routes with net.ipv6.fib_multipath_hash_policy {}",
                                                                state.vitals.multipathPolicy6)});
}

}  // namespace

bool isHardware(const Link& link) { return link.kind.empty(); }

Reasons familyGate(Family family, const NetState& state) {
    if (!state.vitals.available) return {{"vitals", "the kernel's state cannot be watched: " + state.vitals.whyNot}};
    Reasons reasons = netfilterGate(family, state);
    if (state.vitals.unknown & FL_UNKNOWN_XFRM) reasons.push_back({"xfrm-unknown", "IPsec policies cannot be read"});
    if (state.vitals.xfrmPolicies) reasons.push_back({"xfrm", fmt::format("{} IPsec policies", state.vitals.xfrmPolicies)});
    if (state.vitals.xfrmDefaultBlock) reasons.push_back({"xfrm", "the default IPsec policy is block"});
    rulesGate(family, state, reasons);
    if (family == Family::ipv4)
        fib4Gate(state, reasons);
    else
        fib6Gate(state, reasons);
    return reasons;
}

Reasons wishGate(const Link& link, const PlannerConfig& config) {
    if (!config.enabled) return {{"disabled", "linuxfp is disabled in the configuration"}};
    if (config.offAll || config.off.contains(link.name)) return {{"off", "switched off with fastctl fp off"}};
    if (!matches(config.interfaces, link.name)) return {{"not-selected", "not among the configured interfaces"}};
    if (matches(config.exclude, link.name)) return {{"excluded", "excluded in the configuration"}};
    return {};
}

Reasons interfaceGate(const Link& link, const NetState& state, const PlannerConfig& config) {
    Reasons reasons = linkGate(link);
    if (!reasons.empty()) return reasons;
    reasons = wishGate(link, config);
    if (link.hookUnknown)
        reasons.push_back(
            {"hooks-unread", fmt::format("its filters and programs cannot be listed (errno {})", link.hookUnknown)});
    for (const auto& filter : link.tcIngress) reasons.push_back({"tc-ingress", "somebody else's tc ingress: " + filter});
    if (!state.rxHandlersUnreadable.empty())
        reasons.push_back({"rx-handler", "who receives its frames cannot be read: " + state.rxHandlersUnreadable});
    if (link.rxHandler)
        reasons.push_back({"rx-handler", "a macvlan, ipvlan or the like, maybe in another network namespace, receives by it"});
    if (meetsBridgeNetfilter(link, state))
        reasons.push_back({"br-netfilter", "packets that came by a bridge may have been through br_netfilter"});
    if (hasChain(state, link, "ingress")) reasons.push_back({"nft-ingress", "an nftables ingress chain is bound to it"});
    if (hasChain(state, link, "flowtable")) reasons.push_back({"flowtable", "an nftables flowtable is bound to it"});
    return reasons;
}

Reasons forwardingGate(Family family, const Link& link, const NetState& state) {
    const bool v4 = family == Family::ipv4;
    const auto& map = v4 ? state.conf4 : state.conf6;
    const auto* own = conf(map, static_cast<std::int32_t>(link.ifindex));
    const auto* all = conf(map, kAll);
    if (!own || !all) return {{"no-stack", "the family is not configured on this interface"}};
    Reasons reasons;
    if (!own->forwarding || (!v4 && !(all->forwarding && state.vitals.forwarding6All)))
        reasons.push_back({"forwarding-off", "forwarding is off"});
    if (!v4 && own->proxyNdp) reasons.push_back({"proxy-ndp", "proxy_ndp is on"});
    return reasons;
}

bool captured(const Link& link, const NetState& state) { return link.packetSocket || state.packetSocketAll; }

bool openForTc(const Link& link, const NetState& state, const PlannerConfig& config) {
    (void)state;
    return linkGate(link).empty() && wishGate(link, config).empty();
}

bool openForXdp(const Link& link, const NetState& state, const PlannerConfig& config) {
    const bool plain = std::all_of(link.qdiscs.begin(), link.qdiscs.end(), [](const std::string& kind) {
        return std::find(kPlainQdiscs.begin(), kPlainQdiscs.end(), kind) != kPlainQdiscs.end();
    });
    return plain && openForTc(link, state, config) && link.tcEgress.empty() && !link.hookUnknown && !captured(link, state) &&
           !hasChain(state, link, "egress") && link.xdpFeaturesKnown && (link.xdpFeatures & kXdpNdoXmit);
}

}  // namespace fastlet::linuxfp
