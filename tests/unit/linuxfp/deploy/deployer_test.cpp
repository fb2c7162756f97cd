// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/deployer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_bpf_kernel.hpp"
#include "tests/fakes/states.hpp"
#include "tests/fakes/temporary_directory.hpp"

namespace fastlet::linuxfp {
namespace {

class DeployerTest : public testing::Test {
protected:
    FastPathPlan plan(const PlannerConfig& config = fake::onTc()) { return makePlan(state_, config, {}); }
    fl_port& port(std::uint32_t ifindex) { return kernel_.ports[ifindex & (FL_PORTS - 1)]; }
    DeployOutcome apply(const FastPathPlan& plan) {
        auto outcome = deployer_.apply(plan);
        if (!outcome) throw std::runtime_error(outcome.error().message);
        return *outcome;
    }
    long position(const std::string& call) {
        const auto found = std::find(kernel_.calls.begin(), kernel_.calls.end(), call);
        return found == kernel_.calls.end() ? -1 : found - kernel_.calls.begin();
    }
    void refuse(const std::string& which, int code) {
        kernel_.refuse = [which, code](const std::string& call) {
            return call == which ? Status(Error::make("refused", {}, code)) : Status{};
        };
    }

    NetState state_ = fake::router();
    fastlet::fake::TemporaryDirectory directory_;
    Ledger ledger_ = *Ledger::open(directory_.path());
    fake::FakeBpfKernel kernel_;
    Deployer deployer_{kernel_, ledger_};
};

TEST_F(DeployerTest, PutsAPlainRouterOnTc) {
    const auto outcome = apply(plan());
    EXPECT_EQ(outcome.attached, (std::set<std::uint32_t>{2, 3}));
    EXPECT_TRUE(outcome.refusals.empty());
    EXPECT_TRUE(kernel_.tc.contains(2));
    EXPECT_TRUE(kernel_.xdp.empty());
    EXPECT_EQ(port(2).ifindex, 2U);
    EXPECT_EQ(port(2).flags, FL_PORT_INGRESS | FL_PORT_EGRESS_TC | FL_PORT_EGRESS_XDP);
    EXPECT_EQ(port(2).mac[5], 2);
    EXPECT_EQ(kernel_.localAddresses.size(), 2U);
    EXPECT_TRUE(ledger_.has("tc", 2));
}

TEST_F(DeployerTest, NewSlotStaysOnHoldForTheHoldBookToLift) {
    apply(plan());
    EXPECT_EQ(port(2).hold, 1U);
    port(2).hold = 0;
    apply(plan());
    EXPECT_EQ(port(2).hold, 0U) << "an unchanged slot keeps what it has";
}

TEST_F(DeployerTest, LoadsEverythingBeforeAnythingIsAttached) {
    apply(plan());
    EXPECT_LT(position("load tc"), position("attach tc 2"));
    EXPECT_LT(position("addresses"), position("attach tc 2"));
}

TEST_F(DeployerTest, SwapsHooksWithoutAGap) {
    apply(plan());
    PlannerConfig config;
    config.virtualHook = Hook::xdp;
    apply(plan(config));
    EXPECT_TRUE(kernel_.xdp.contains(2));
    EXPECT_FALSE(kernel_.tc.contains(2));
    EXPECT_LT(position("attach xdp 2"), position("detach tc 2"));
    EXPECT_TRUE(ledger_.has("xdp", 2));
    EXPECT_FALSE(ledger_.has("tc", 2));
}

TEST_F(DeployerTest, ManyInterfacesGetTheirProgramsInSeveralCalls) {
    for (std::uint32_t ifindex = 4; ifindex < 32; ++ifindex) {
        state_.links[ifindex] = state_.links[2];
        state_.links[ifindex].ifindex = ifindex;
        state_.links[ifindex].name = "more" + std::to_string(ifindex);
        state_.conf4[static_cast<int>(ifindex)] = state_.conf4[2];
        state_.conf6[static_cast<int>(ifindex)] = state_.conf6[2];
    }
    const auto all = plan();
    auto outcome = apply(all);
    EXPECT_TRUE(outcome.pending);
    EXPECT_EQ(outcome.attached.size(), 12U);
    EXPECT_EQ(port(31).flags & FL_PORT_INGRESS, 0U) << "no program of this plan is there yet";
    EXPECT_NE(port(31).flags & FL_PORT_EGRESS_TC, 0U);
    EXPECT_TRUE(apply(all).pending);
    outcome = apply(all);
    EXPECT_FALSE(outcome.pending);
    EXPECT_EQ(outcome.attached.size(), 30U);
    EXPECT_NE(port(31).flags & FL_PORT_INGRESS, 0U);
    EXPECT_EQ(kernel_.tc.size(), 30U);
    // Another hook: those that wait keep their program, which must not act any more.
    PlannerConfig config;
    config.virtualHook = Hook::xdp;
    outcome = apply(plan(config));
    EXPECT_TRUE(outcome.pending);
    EXPECT_TRUE(kernel_.tc.contains(31));
    EXPECT_EQ(port(31).flags & FL_PORT_INGRESS, 0U);
    apply(plan(config));
    apply(plan(config));
    EXPECT_EQ(kernel_.xdp.size(), 30U);
    EXPECT_TRUE(kernel_.tc.empty());
}

TEST_F(DeployerTest, RefusalOfOneInterfaceDoesNotHinderTheOthers) {
    refuse("attach tc 2", EOPNOTSUPP);
    const auto outcome = apply(plan());
    EXPECT_EQ(outcome.attached, (std::set<std::uint32_t>{3}));
    EXPECT_EQ(outcome.refusals.count({2, Hook::tc}), 1U);
    EXPECT_EQ(port(2).flags & FL_PORT_INGRESS, 0U);
    EXPECT_NE(port(2).flags & FL_PORT_EGRESS_TC, 0U) << "packets from elsewhere may still leave there";
}

TEST_F(DeployerTest, VerifierRefusalIsARefusalAndAttachesNothing) {
    refuse("load tc", EACCES);
    const auto outcome = apply(plan());
    EXPECT_TRUE(outcome.attached.empty());
    EXPECT_EQ(outcome.refusals.size(), 2U);
    EXPECT_EQ(position("attach tc 2"), -1);
    EXPECT_EQ(port(2).flags & FL_PORT_INGRESS, 0U);
}

TEST_F(DeployerTest, GoneInterfaceAndForeignProgramAreNoRefusals) {
    refuse("attach tc 2", ENODEV);
    EXPECT_TRUE(apply(plan()).refusals.empty());
    kernel_.refuse = [](const std::string&) { return Status{}; };
    kernel_.foreignXdp = {2};
    PlannerConfig config;
    config.virtualHook = Hook::xdp;
    const auto outcome = apply(plan(config));
    EXPECT_TRUE(outcome.refusals.empty());
    EXPECT_EQ(port(2).flags & FL_PORT_INGRESS, 0U);
    EXPECT_EQ(position("detach xdp 2"), -1) << "a foreign program is not touched";
}

TEST_F(DeployerTest, InterfaceThatLeavesThePlanIsEmptied) {
    apply(plan());
    state_.links.erase(2);
    apply(plan());
    EXPECT_FALSE(kernel_.tc.contains(2));
    EXPECT_EQ(port(2).ifindex, 0U);
    EXPECT_EQ(port(2).flags, 0U);
    EXPECT_EQ(port(2).hold, 1U);
    EXPECT_FALSE(kernel_.targets.contains(2));
    EXPECT_FALSE(ledger_.has("tc", 2));
}

TEST_F(DeployerTest, SlotPassesToAnotherInterface) {
    apply(plan());
    port(2).hold = 0;
    kernel_.counters[2].fast4_packets = 5;
    state_.links.erase(2);
    fake::addLink(state_, fake::link(2 + FL_PORTS, "new0"));
    apply(plan());
    EXPECT_EQ(port(2).ifindex, 2U + FL_PORTS);
    EXPECT_EQ(port(2).hold, 1U);
    EXPECT_EQ(kernel_.counters[2].fast4_packets, 0U);
    EXPECT_LT(position("target 2 off"), position("target 1026 on"));
}

TEST_F(DeployerTest, UnwantedTargetIsClosedBeforeAnythingElseChanges) {
    apply(plan());
    state_.links[3].qdiscs = {"tbf"};
    kernel_.calls.clear();
    apply(plan());
    EXPECT_FALSE(kernel_.targets.contains(3));
    EXPECT_EQ(port(3).flags & FL_PORT_EGRESS_XDP, 0U);
    EXPECT_LT(position("target 3 off"), position("attach tc 2"));
}

TEST_F(DeployerTest, TargetThatCannotBeOpenedIsNoTarget) {
    refuse("target 3 on", EOPNOTSUPP);
    apply(plan());
    EXPECT_EQ(port(3).flags & FL_PORT_EGRESS_XDP, 0U);
    EXPECT_NE(port(2).flags & FL_PORT_EGRESS_XDP, 0U);
}

TEST_F(DeployerTest, FailureThatConcernsAllIsAnError) {
    refuse("addresses", E2BIG);
    EXPECT_FALSE(deployer_.apply(plan()));
    EXPECT_TRUE(kernel_.tc.empty());
}

TEST_F(DeployerTest, DetachAllGoesOnAfterAnError) {
    apply(plan());
    refuse("detach tc 2", EPERM);
    EXPECT_FALSE(deployer_.detachAll());
    EXPECT_FALSE(kernel_.tc.contains(3));
    EXPECT_TRUE(kernel_.targets.empty());
    EXPECT_EQ(port(2).flags, 0U) << "what could not be detached passes everything to Linux";
    EXPECT_TRUE(ledger_.has("tc", 2));
}

}  // namespace
}  // namespace fastlet::linuxfp
