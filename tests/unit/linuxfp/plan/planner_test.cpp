// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/if.h>

#include <algorithm>
#include <functional>

#include "linuxfp/plan/plan.hpp"
#include "tests/fakes/states.hpp"

namespace fastlet::linuxfp {
namespace {

const InterfacePlan& of(const FastPathPlan& plan, const std::string& name) {
    const auto found = std::find_if(plan.interfaces.begin(), plan.interfaces.end(),
                                    [&](const InterfacePlan& interface) { return interface.name == name; });
    if (found == plan.interfaces.end()) throw std::runtime_error("no plan for " + name);
    return *found;
}

InterfacePlan planned(const NetState& state, const PlannerConfig& config = fake::onTc(), const Refusals& refusals = {}) {
    return of(makePlan(state, config, refusals), "in0");
}

bool has(const InterfacePlan& plan, const std::string& code) {
    return std::any_of(plan.reasons.begin(), plan.reasons.end(), [&](const Reason& reason) { return reason.code == code; });
}

using Families = std::vector<std::string>;

TEST(Planner, PlainRouterOfVethIsAcceleratedOnTc) {
    const auto plan = planned(fake::router());
    EXPECT_EQ(plan.hook, Hook::tc);
    EXPECT_EQ(plan.mode, HookMode::tc);
    EXPECT_EQ(plan.accelerates, (Families{"ipv4-forward", "ipv6-forward"}));
    EXPECT_TRUE(plan.reasons.empty());
    EXPECT_EQ(plan.shape.priority_update, 1);
    EXPECT_EQ(plan.shape.partial_check, 0);
    EXPECT_EQ(plan.shape.source_lookup, 0);
}

TEST(Planner, VethIsLeftToLinuxUnlessAHookIsNamed) {
    const auto plan = planned(fake::router(), {});
    EXPECT_EQ(plan.hook, Hook::none);
    EXPECT_TRUE(has(plan, "tc-not-faster"));
    EXPECT_TRUE(plan.accelerates.empty());
}

TEST(Planner, HardwareIsAcceleratedOnXdpWithoutPartialCheck) {
    const auto plan = planned(fake::router(""));
    EXPECT_EQ(plan.hook, Hook::xdp);
    EXPECT_EQ(plan.mode, HookMode::native);
    EXPECT_EQ(plan.shape.partial_check, 0);
}

TEST(Planner, VethGoesToXdpOnlyWhenAskedFor) {
    PlannerConfig config;
    config.virtualHook = Hook::xdp;
    const auto plan = planned(fake::router(), config);
    EXPECT_EQ(plan.hook, Hook::xdp);
    EXPECT_EQ(plan.shape.partial_check, 1) << "packets of a virtual device may have unfinished checksums";
    EXPECT_EQ(plan.shape.priority_update, 0) << "there is no skb on XDP";
}

TEST(Planner, LoopbackIsLeftAlone) { EXPECT_EQ(of(makePlan(fake::router(), {}, {}), "lo").hook, Hook::none); }

TEST(Planner, OwnAddressesAreSortedAndUnique) {
    auto state = fake::router();
    state.addresses.push_back(state.addresses.front());
    state.addresses.push_back({2, *IpPrefix::parse("2001:db8::1/64")});
    const auto plan = makePlan(state, {}, {});
    EXPECT_EQ(plan.local4.size(), 2U);
    EXPECT_TRUE(std::is_sorted(plan.local4.begin(), plan.local4.end()));
}

TEST(Planner, LengthLimitIsTheSmallestRouteMtu) {
    auto state = fake::router();
    state.routes4.minMtu = 1400;
    const auto plan = makePlan(state, {}, {});
    EXPECT_EQ(plan.maxLen4, 1400U);
    EXPECT_EQ(plan.maxLen6, 65535U);
}

TEST(Planner, SameSlotIsGivenOnce) {
    auto state = fake::router();
    fake::addLink(state, fake::link(2 + FL_PORTS, "in1"));
    const auto plan = makePlan(state, fake::onTc(), {});
    EXPECT_EQ(of(plan, "in0").hook, Hook::tc);
    EXPECT_EQ(of(plan, "in1").hook, Hook::none);
    EXPECT_FALSE(of(plan, "in1").egressTc);
    EXPECT_TRUE(has(of(plan, "in1"), "port-slot"));
}

TEST(Planner, WhatTheKernelRefusedIsLeftToLinux) {
    const Refusals noXdp{{{2, Hook::xdp}, "the driver said no"}};
    EXPECT_EQ(planned(fake::router(""), fake::onTc(), noXdp).hook, Hook::none);
    EXPECT_TRUE(has(planned(fake::router(""), fake::onTc(), noXdp), "xdp-refused"));
    const Refusals noTc{{{2, Hook::tc}, "the verifier said no"}};
    EXPECT_EQ(planned(fake::router(), fake::onTc(), noTc).hook, Hook::none);
    EXPECT_TRUE(has(planned(fake::router(), fake::onTc(), noTc), "tc-refused"));
}

// What keeps one interface, or one family of it, with Linux. Each row: what is configured, and the reason that must be given.
struct LeftToLinux {
    const char* name;
    const char* code;
    std::function<void(NetState&)> configure;
    bool ipv4 = false;  ///< is this family still accelerated?
    bool ipv6 = false;
};

class PlannerLeaves : public testing::TestWithParam<LeftToLinux> {};

TEST_P(PlannerLeaves, ToLinuxWithAReason) {
    auto state = fake::router();
    GetParam().configure(state);
    const auto plan = planned(state);
    EXPECT_TRUE(has(plan, GetParam().code)) << "no reason " << GetParam().code;
    EXPECT_EQ(plan.shape.ipv4 != 0, GetParam().ipv4);
    EXPECT_EQ(plan.shape.ipv6 != 0, GetParam().ipv6);
    EXPECT_EQ(plan.hook != Hook::none, GetParam().ipv4 || GetParam().ipv6);
}

NetfilterHook hook(const std::string& function) { return {function, false, false}; }
constexpr auto kForward = static_cast<std::size_t>(HookPoint::forward);
constexpr auto kPrerouting = static_cast<std::size_t>(HookPoint::prerouting);

void ruleIn(NetState& state, const std::string& family, std::uint32_t rules, bool drops) {
    state.nftChains.push_back({family, "filter", "FORWARD", "forward", 0, rules, drops, {}});
    state.vitals.hooks[0][kForward].push_back(hook("nft_do_chain_ipv4"));
}

const LeftToLinux kCases[] = {
    {"Down", "down", [](NetState& s) { s.links[2].flags &= ~static_cast<unsigned>(IFF_UP); }},
    {"BridgePort", "bridge-port", [](NetState& s) { s.links[2].master = 9, s.links[2].slaveKind = "bridge"; }},
    {"BondSlave", "enslaved", [](NetState& s) { s.links[2].master = 9, s.links[2].slaveKind = "bond"; }},
    {"UnknownKind", "unknown-kind", [](NetState& s) { s.links[2].kind = "hsr"; }},
    {"NotEthernet", "not-ethernet", [](NetState& s) { s.links[2].arphrd = 65534; }},
    {"ForeignFilter", "tc-ingress", [](NetState& s) { s.links[2].tcIngress = {"filter u32"}; }},
    {"HooksUnread", "hooks-unread", [](NetState& s) { s.links[2].hookUnknown = 1; }},
    {"NoVitals", "vitals", [](NetState& s) { s.vitals.available = false; }},
    {"Forwarding4Off", "forwarding-off", [](NetState& s) { s.conf4[2].forwarding = false; }, false, true},
    {"Forwarding6Off", "forwarding-off", [](NetState& s) { s.conf6[2].forwarding = false; }, true, false},
    {"Forwarding6AllOff", "forwarding-off", [](NetState& s) { s.conf6[-1].forwarding = false; }, true, false},
    {"NoStack6", "no-stack", [](NetState& s) { s.conf6.erase(2); }, true, false},
    {"ProxyNdp", "proxy-ndp", [](NetState& s) { s.conf6[2].proxyNdp = true; }, true, false},
    {"Xfrm", "xfrm", [](NetState& s) { s.vitals.xfrmPolicies = 1; }},
    {"XfrmBlock", "xfrm", [](NetState& s) { s.vitals.xfrmDefaultBlock = true; }},
    {"XfrmUnknown", "xfrm-unknown", [](NetState& s) { s.vitals.unknown = FL_UNKNOWN_XFRM; }},
    {"HooksUnknown", "netfilter-unknown", [](NetState& s) { s.vitals.unknown = FL_UNKNOWN_HOOKS; }},
    {"Fib4Unknown", "fib-unknown", [](NetState& s) { s.vitals.unknown = FL_UNKNOWN_FIB4; }, false, true},
    {"MarkRule", "policy-rule",
     [](NetState& s) {
         s.rules.push_back({Family::ipv4, 100, 7, "fwmark", false});
     },
     false, true},
    {"MarkRule6", "policy-rule",
     [](NetState& s) {
         s.rules.push_back({Family::ipv6, 100, 7, "fwmark", false});
     },
     true, false},
    {"Realms", "realms", [](NetState& s) { s.routes4.realms = true; }, false, true},
    {"ForwardPmtu", "forward-use-pmtu", [](NetState& s) { s.vitals.forwardUsePmtu4 = true; }, false, true},
    {"HashPolicy", "multipath-hash-policy", [](NetState& s) { s.routes4.multipath = true, s.vitals.multipathPolicy4 = 2; }, false,
     true},
    {"NftRules", "nft-rules", [](NetState& s) { ruleIn(s, "ip", 3, false); }, false, true},
    {"NftPolicy", "nft-policy", [](NetState& s) { ruleIn(s, "ip", 0, true); }, false, true},
    {"NftChainNotListed", "nft-unread", [](NetState& s) { s.vitals.hooks[0][kForward] = {hook("nft_do_chain_ipv4")}; }, false,
     true},
    {"Nat", "nat", [](NetState& s) { s.vitals.hooks[0][kPrerouting] = {hook("nft_nat_do_chain")}; }, false, true},
    {"Conntrack", "conntrack", [](NetState& s) { s.vitals.hooks[0][kPrerouting] = {hook("ipv4_conntrack_in")}; }, false, true},
    {"UnknownHook", "netfilter-hook", [](NetState& s) { s.vitals.hooks[1][kForward] = {hook("somebody_new")}; }, true, false},
    {"NamelessHook", "netfilter-hook", [](NetState& s) { s.vitals.hooks[1][kForward] = {hook("")}; }, true, false},
    {"LegacyTable", "iptables-legacy",
     [](NetState& s) {
         s.vitals.hooks[0][kForward] = {{"iptable_filter_hook", true, false}};
     },
     false, true},
    {"NetdevChain", "nft-ingress",
     [](NetState& s) {
         s.nftChains.push_back({"netdev", "t", "c", "ingress", 0, 1, false, {"in0"}});
     }},
    {"Flowtable", "flowtable",
     [](NetState& s) {
         s.nftChains.push_back({"ip", "t", "f", "flowtable", 0, 0, false, {"in0"}});
     }},
};
INSTANTIATE_TEST_SUITE_P(Configurations, PlannerLeaves, testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Planner, EmptyChainsThatAcceptChangeNothing) {
    auto state = fake::router();
    ruleIn(state, "ip", 0, false);
    state.vitals.hooks[0][kPrerouting] = {{"ipt_do_table", true, true}};
    EXPECT_EQ(planned(state).accelerates, (Families{"ipv4-forward", "ipv6-forward"}));
}

TEST(Planner, AppArmorsHookLeavesForwardedPacketsAlone) {
    auto state = fake::router();
    for (auto& family : state.vitals.hooks)
        family[static_cast<std::size_t>(HookPoint::postrouting)] = {hook("apparmor_ip_postroute")};
    EXPECT_EQ(planned(state).accelerates, (Families{"ipv4-forward", "ipv6-forward"}));
    state.vitals.hooks[0][kForward] = {hook("apparmor_something_new")};
    EXPECT_EQ(planned(state).accelerates, (Families{"ipv6-forward"}));
}

TEST(Planner, BridgeNetfilterConcernsOnlyWhatComesByABridge) {
    auto state = fake::router();
    for (auto& family : state.vitals.hooks) family[kPrerouting] = {hook("ip_sabotage_in")};
    EXPECT_EQ(planned(state).accelerates, (Families{"ipv4-forward", "ipv6-forward"}));
    for (const char* kind : {"bridge", "vlan", "macvlan", "macvtap"}) {
        state.links[2].kind = kind;
        EXPECT_TRUE(has(planned(state), "br-netfilter")) << kind;
    }
}

TEST(Planner, WhoeverReceivesByAnInterfaceKeepsIt) {
    auto state = fake::router();
    state.links[2].rxHandler = true;
    const auto plan = makePlan(state, fake::onTc(), {});
    EXPECT_TRUE(has(of(plan, "in0"), "rx-handler"));
    EXPECT_TRUE(of(plan, "in0").accelerates.empty());
    EXPECT_FALSE(of(plan, "out0").accelerates.empty());
}

TEST(Planner, WhereReceiversCannotBeReadNothingIsFast) {
    auto state = fake::router();
    state.rxHandlersUnreadable = "no types";
    EXPECT_TRUE(has(planned(state), "rx-handler"));
    EXPECT_TRUE(planned(state).accelerates.empty());
}

TEST(Planner, UserWishes) {
    PlannerConfig config;
    config.interfaces = {"out*"};
    EXPECT_TRUE(has(planned(fake::router(), config), "not-selected"));
    config = {};
    config.exclude = {"in?"};
    EXPECT_TRUE(has(planned(fake::router(), config), "excluded"));
    config = fake::onTc();
    config.off = {"in0"};
    EXPECT_TRUE(has(planned(fake::router(), config), "off"));
    EXPECT_EQ(of(makePlan(fake::router(), config, {}), "out0").hook, Hook::tc);
    config = {};
    config.enabled = false;
    EXPECT_TRUE(has(planned(fake::router(), config), "disabled"));
}

TEST(Planner, SourceChecksFollowRpFilter) {
    auto state = fake::router();
    state.conf4[-1].rpFilter = 2;
    EXPECT_EQ(planned(state).shape.source_lookup, 1);
    state.conf4[2].rpFilter = 1;
    EXPECT_EQ(planned(state).shape.source_lookup, 1) << "Linux takes the larger of all and own";
    const auto addresses = std::exchange(state.addresses, {{2, *IpPrefix::parse("2001:db8::1/64")}});
    EXPECT_EQ(planned(state).shape.source_lookup, 2) << "loose is strict where the interface has no IPv4 address";
    state.addresses = addresses;
    state.conf4[-1].rpFilter = 0;
    EXPECT_EQ(planned(state).shape.source_lookup, 2);
    state.conf4[2].rpFilter = 0;
    state.vitals.customRules4 = true;
    EXPECT_EQ(planned(state).shape.source_lookup, 1);
    state.addresses.clear();
    EXPECT_EQ(planned(state).shape.source_lookup, 1) << "without a filter, what cannot be found is accepted";
}

TEST(Planner, XdpGivesWayToCapturesAndForeignPrograms) {
    auto state = fake::router("");
    state.links[2].packetSocket = true;
    EXPECT_EQ(planned(state).hook, Hook::none);
    EXPECT_TRUE(has(planned(state), "capture"));
    state = fake::router("");
    state.links[2].xdp = {7, "foreign", false};
    EXPECT_EQ(planned(state).hook, Hook::none);
    EXPECT_TRUE(has(planned(state), "foreign-xdp"));
    state = fake::router("");
    state.links[3].xdpFeatures = 3;  // cannot transmit what XDP redirects
    EXPECT_EQ(planned(state).hook, Hook::xdp) << "NICs often can only once they have a program of their own";
    EXPECT_FALSE(of(makePlan(state, {}, {}), "out0").egressXdp);
}

TEST(Planner, XdpOnVethNeedsAPeerThatCanTakeIt) {
    PlannerConfig config;
    config.virtualHook = Hook::xdp;
    auto state = fake::router();
    state.links[3].xdpFeatures = 3;
    EXPECT_EQ(planned(state, config).hook, Hook::none);
    EXPECT_TRUE(has(planned(state, config), "no-xdp-target"));
}

TEST(Planner, XdpDoesNotSkipShapersOrEgressFilters) {
    auto state = fake::router("");
    state.links[3].qdiscs = {"tbf"};
    EXPECT_FALSE(of(makePlan(state, {}, {}), "out0").egressXdp);
    EXPECT_TRUE(of(makePlan(state, {}, {}), "out0").egressTc);
    state = fake::router("");
    state.links[3].tcEgress = {"filter flower"};
    EXPECT_FALSE(of(makePlan(state, {}, {}), "out0").egressXdp);
}

}  // namespace
}  // namespace fastlet::linuxfp
