// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "linuxfp/plan/gates.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr std::array<const char*, FL_NF_POINTS> kPointNames = {"prerouting", "forward", "postrouting"};

struct KnownHook {
    std::string_view prefix;
    const char* code;
    const char* text;
};
// Only to name what stands in the way: whatever is not found here is in the way all the same.
constexpr std::array kKnownHooks = {
    KnownHook{"nft_nat_do_chain", "nat", "NAT rules"},
    KnownHook{"nf_nat_", "nat", "NAT"},
    KnownHook{"iptable_nat", "nat", "NAT rules of iptables-legacy"},
    KnownHook{"ipv4_conntrack", "conntrack", "connection tracking"},
    KnownHook{"ipv6_conntrack", "conntrack", "connection tracking"},
    KnownHook{"nf_confirm", "conntrack", "connection tracking"},
    KnownHook{"nf_conntrack", "conntrack", "connection tracking"},
    KnownHook{"ipv4_confirm", "conntrack", "connection tracking"},
    KnownHook{"ipv4_helper", "conntrack", "connection tracking helpers"},
    KnownHook{"ipv4_conntrack_defrag", "defrag", "fragment reassembly"},
    KnownHook{"ipv6_defrag", "defrag", "fragment reassembly"},
    KnownHook{"iptable_", "iptables-legacy", "a table of iptables-legacy"},
    KnownHook{"ip6table_", "iptables-legacy", "a table of ip6tables-legacy"},
    KnownHook{"ip_vs_", "ipvs", "IPVS"},
    KnownHook{"nf_hook_run_bpf", "bpf-netfilter", "a BPF netfilter program"},
    KnownHook{"selinux_", "selinux", "SELinux"},
    KnownHook{"apparmor_", "apparmor", "AppArmor"},
    KnownHook{"smack_", "smack", "Smack"},
    KnownHook{"synproxy", "synproxy", "SYN proxy"},
    KnownHook{"ila_nf_input", "ila", "ILA translation"},
};

// AppArmor's hook (security/apparmor/lsm.c) accepts whatever belongs to no socket, and no forwarded packet does: ip_rcv() orphans
// it, and ip_forward() and ip6_forward() drop one that has a socket. It is there in every network namespace of a stock Debian or
// Ubuntu kernel.
// br_netfilter's hook (net/bridge/br_netfilter_hooks.c) looks at packets that came by a bridge only; interfaceGate() takes care
// of those. It is there from a namespace's first bridge on, and stays.
bool leavesForwardedPacketsAlone(const NetfilterHook& hook) {
    return hook.function == "apparmor_ip_postroute" || hook.function == kBridgeNetfilterHook;
}

bool isNftFilterHook(const std::string& function) {
    return function == "nft_do_chain_ipv4" || function == "nft_do_chain_ipv6" || function == "nft_do_chain_inet";
}

Reason nameHook(const NetfilterHook& hook, const char* point) {
    if (hook.legacyTable) return {"iptables-legacy", fmt::format("iptables-legacy has rules or a drop policy at {}", point)};
    if (hook.function.empty())
        return {"netfilter-hook",
                fmt::format("a netfilter hook at {} whose name the kernel does not show (needs CAP_SYSLOG)", point)};
    for (const auto& known : kKnownHooks)
        if (hook.function.starts_with(known.prefix))
            return {known.code, fmt::format("{} at {} ({})", known.text, point, hook.function)};
    return {"netfilter-hook", fmt::format("netfilter hook {} at {} is not modelled", hook.function, point)};
}

bool concerns(const NftChain& chain, Family family, const char* point) {
    const bool familyMatches = chain.family == "inet" || chain.family == (family == Family::ipv4 ? "ip" : "ip6");
    return familyMatches && chain.hook == point;
}

// A chain that holds no rule and accepts does nothing to a packet; the kernel must not run more of them than were listed.
void checkChains(Family family, const NetState& state, const char* point, std::size_t hooksSeen, Reasons& reasons) {
    std::size_t listed = 0;
    for (const auto& chain : state.nftChains) {
        if (!concerns(chain, family, point)) continue;
        ++listed;
        const std::string name = fmt::format("{} {} {}", chain.family, chain.table, chain.name);
        if (chain.rules > 0)
            reasons.push_back({"nft-rules", fmt::format("chain {} has {} rule(s) at {}", name, chain.rules, point)});
        if (chain.drops) reasons.push_back({"nft-policy", fmt::format("chain {} has policy drop at {}", name, point)});
    }
    if (hooksSeen > listed)
        reasons.push_back({"nft-unread", fmt::format("the kernel runs {} nftables chain(s) at {}, {} could be listed", hooksSeen,
                                                     point, listed)});
}

void addOnce(Reasons& reasons, Reason reason) {
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(std::move(reason));
}

}  // namespace

Reasons netfilterGate(Family family, const NetState& state) {
    Reasons reasons;
    const std::size_t index = family == Family::ipv4 ? 0 : 1;
    if (state.vitals.unknown & FL_UNKNOWN_HOOKS)
        reasons.push_back({"netfilter-unknown", "this kernel's netfilter hooks cannot be read"});
    if (!state.nftUnreadable.empty()) reasons.push_back({"nft-unread", "nftables cannot be listed: " + state.nftUnreadable});
    for (std::size_t point = 0; point < FL_NF_POINTS; ++point) {
        std::size_t nftHooks = 0;
        for (const auto& hook : state.vitals.hooks[index][point]) {
            if (isNftFilterHook(hook.function))
                ++nftHooks;
            else if (!(hook.legacyTable && hook.legacyEmpty) && !leavesForwardedPacketsAlone(hook))
                addOnce(reasons, nameHook(hook, kPointNames[point]));
        }
        checkChains(family, state, kPointNames[point], nftHooks, reasons);
    }
    return reasons;
}

}  // namespace fastlet::linuxfp
