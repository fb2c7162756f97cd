// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/controller.hpp"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/ports/netlink_message.hpp"
#include "tests/fakes/fake_bpf_kernel.hpp"
#include "tests/fakes/fake_watch_ports.hpp"
#include "tests/fakes/states.hpp"
#include "tests/fakes/temporary_directory.hpp"

namespace fastlet::linuxfp {
namespace {

class SilentNetlink final : public Netlink {
public:
    Status dump(const NetlinkRequest&, const NetlinkVisitor&) override { return {}; }
    Result<Bytes> query(const NetlinkRequest&) override { return Error::make("nothing to say"); }
};

class ControllerTest : public testing::Test {
protected:
    ControllerTest() {
        book_.note({kEverything, true, 0});
        look();
    }

    void look() { watch_.step(now_ += 5); }
    void start() {
        controller_.cycle();
        ASSERT_TRUE(controller_.report().ready);
    }
    void linkEvent(std::uint32_t ifindex) {
        ifinfomsg header{};
        header.ifi_index = static_cast<int>(ifindex);
        world_.configuration.push(RTM_NEWLINK, NetlinkWriter(header).bytes());
        look();
    }
    InterfaceReport interface(const std::string& name) {
        const auto report = controller_.report();
        const auto found = std::find_if(report.interfaces.begin(), report.interfaces.end(),
                                        [&](const InterfaceReport& one) { return one.plan.name == name; });
        if (found == report.interfaces.end()) throw std::runtime_error("no report for " + name);
        return *found;
    }
    Status introspect(std::uint32_t categories, NetState& state) {
        asked_.push_back(categories);
        duringDump_();
        if (broken_) return Error::make("the dump failed");
        const auto number = state.number;
        auto vitals = state.vitals;
        const auto routes = state.routes4;
        state = kernelState_;
        state.number = number;
        state.vitals = vitals;
        if (!(categories & kRoutes)) state.routes4 = routes;
        return {};
    }
    static Vitals describe(const fl_vitals& reading) {
        Vitals vitals;
        vitals.available = true;
        vitals.forwarding6All = true;
        vitals.xfrmPolicies = reading.xfrm_policies;
        return vitals;
    }

    NetState kernelState_ = fake::router();
    bool broken_ = false;
    std::function<void()> duringDump_ = [] {};
    std::vector<std::uint32_t> asked_;
    std::uint64_t now_ = 0;
    fastlet::fake::TemporaryDirectory directory_;
    Ledger ledger_ = *Ledger::open(directory_.path());
    SilentNetlink netlink_;
    fake::FakeBpfKernel kernel_;
    fake::WatchWorld world_;
    HoldBook book_{kernel_.shared()};
    Watch watch_{book_, kernel_.shared(), world_.ports(), 10};
    Deployer deployer_{kernel_, ledger_};
    Controller controller_{{netlink_, [this](std::uint32_t c, NetState& s) { return introspect(c, s); }, watch_, book_, &kernel_,
                            &deployer_, describe},
                           fake::onTc()};
};

TEST_F(ControllerTest, FirstCycleReadsAllDeploysAndLiftsTheHolds) {
    EXPECT_TRUE(book_.heldAll());
    EXPECT_FALSE(controller_.report().ready);
    controller_.cycle();
    EXPECT_EQ(asked_.front() | kVitals, static_cast<std::uint32_t>(kEverything));
    EXPECT_FALSE(book_.heldAll());
    const auto report = controller_.report();
    EXPECT_TRUE(report.ready);
    EXPECT_EQ(report.generation, 1U);
    EXPECT_TRUE(interface("in0").attached);
    EXPECT_FALSE(interface("in0").held);
    EXPECT_TRUE(kernel_.tc.contains(2));
}

TEST_F(ControllerTest, EventThatChangesNothingIsReleasedWithoutANewGeneration) {
    start();
    linkEvent(2);
    EXPECT_TRUE(interface("in0").held);
    EXPECT_FALSE(interface("out0").held);
    controller_.cycle();
    EXPECT_FALSE(interface("in0").held);
    EXPECT_EQ(controller_.report().generation, 1U);
}

TEST_F(ControllerTest, InterfaceMadeAnewIsAttachedAnew) {
    start();
    kernel_.tc.erase(2);  // deleted and created again between two dumps: the state looks the same
    linkEvent(2);
    controller_.cycle();
    EXPECT_TRUE(kernel_.tc.contains(2));
}

TEST_F(ControllerTest, FailedDumpKeepsTheHoldAndIsRepeated) {
    start();
    broken_ = true;
    linkEvent(2);
    controller_.cycle();
    EXPECT_TRUE(interface("in0").held);
    broken_ = false;
    controller_.everySecond();
    EXPECT_TRUE(asked_.back() & kLinks) << "what could not be read is still owed";
    EXPECT_FALSE(interface("in0").held);
}

TEST_F(ControllerTest, FailedDeploymentKeepsEverythingOnHoldAndIsRepeated) {
    kernel_.refuse = [](const std::string& call) { return call == "addresses" ? Status(Error::make("no")) : Status{}; };
    controller_.cycle();
    EXPECT_TRUE(book_.heldAll());
    EXPECT_FALSE(controller_.report().ready);
    kernel_.refuse = [](const std::string&) { return Status{}; };
    controller_.everySecond();
    EXPECT_FALSE(book_.heldAll());
    EXPECT_TRUE(controller_.report().ready);
}

TEST_F(ControllerTest, EventDuringTheDumpKeepsItsHold) {
    start();
    linkEvent(2);
    duringDump_ = [this] { linkEvent(3); };
    controller_.cycle();
    EXPECT_FALSE(interface("in0").held);
    EXPECT_TRUE(interface("out0").held) << "the plan has not seen this event";
    duringDump_ = [] {};
    controller_.cycle();
    EXPECT_FALSE(interface("out0").held);
}

TEST_F(ControllerTest, ChangedVitalsChangeThePlan) {
    start();
    world_.vitals->xfrm_policies = 1;
    look();
    EXPECT_TRUE(book_.heldAll());
    controller_.cycle();
    EXPECT_EQ(interface("in0").plan.hook, Hook::none);
    EXPECT_FALSE(kernel_.tc.contains(2));
    EXPECT_EQ(controller_.report().generation, 2U);
}

TEST_F(ControllerTest, UnreadableVitalsTakeTheFastPathOff) {
    start();
    world_.vitals.reset();
    look();
    controller_.everySecond();
    EXPECT_FALSE(kernel_.tc.contains(2));
    EXPECT_EQ(interface("in0").plan.reasons.front().code, "vitals");
}

TEST_F(ControllerTest, RefusedHookIsLeftToLinux) {
    kernelState_ = fake::router("");
    kernel_.refuse = [](const std::string& call) {
        return call == "attach xdp 2" ? Status(Error::make("the driver said no", {}, EOPNOTSUPP)) : Status{};
    };
    start();
    EXPECT_EQ(interface("in0").plan.hook, Hook::none);
    EXPECT_FALSE(interface("in0").attached);
    EXPECT_EQ(interface("out0").plan.hook, Hook::xdp);
    kernel_.refuse = [](const std::string&) { return Status{}; };
    linkEvent(2);
    controller_.cycle();
    EXPECT_EQ(interface("in0").plan.hook, Hook::none) << "a refusal holds as long as the interface stays as it is";
    kernelState_.links[2].mtu = 9000;
    linkEvent(2);
    controller_.cycle();
    EXPECT_EQ(interface("in0").plan.hook, Hook::xdp);
}

TEST_F(ControllerTest, OffDetachesAndOnBringsBack) {
    start();
    ASSERT_TRUE(controller_.setEnabled("in0", false));
    EXPECT_FALSE(kernel_.tc.contains(2));
    EXPECT_TRUE(kernel_.tc.contains(3));
    ASSERT_TRUE(controller_.setEnabled(std::nullopt, false));
    EXPECT_TRUE(kernel_.tc.empty());
    ASSERT_TRUE(controller_.setEnabled(std::nullopt, true));
    EXPECT_TRUE(kernel_.tc.contains(2));
    EXPECT_FALSE(book_.heldAll());
    EXPECT_FALSE(controller_.setEnabled("nope0", false));
}

TEST_F(ControllerTest, AnotherConfigurationTakesEffectAndKeepsWhatIsOff) {
    start();
    ASSERT_TRUE(controller_.setEnabled("out0", false));
    PlannerConfig config = fake::onTc();
    config.exclude = {"in*"};
    ASSERT_TRUE(controller_.configure(config));
    EXPECT_TRUE(kernel_.tc.empty());
    ASSERT_TRUE(controller_.configure(fake::onTc()));
    EXPECT_TRUE(kernel_.tc.contains(2));
    EXPECT_FALSE(kernel_.tc.contains(3)) << "fp off is the operator's word, not the file's";
    EXPECT_FALSE(book_.heldAll());
}

TEST_F(ControllerTest, RouteMtuSurvivesCyclesThatDoNotReadRoutes) {
    start();
    rtmsg header{};
    header.rtm_family = 2;
    header.rtm_table = RT_TABLE_MAIN;
    header.rtm_type = RTN_UNICAST;
    world_.routes.push(RTM_NEWROUTE,
                       NetlinkWriter(header).nested(RTA_METRICS, NetlinkWriter().number<std::uint32_t>(RTAX_MTU, 1300)).bytes());
    look();
    linkEvent(2);
    controller_.cycle();
    EXPECT_EQ(kernel_.control.max_len4, 1300U);
}

TEST_F(ControllerTest, WhatRoutesHaveLeftBehindIsForgottenSoonerWhereTheyAreFew) {
    for (const std::uint64_t routes : {100U, 500'000U}) {
        kernelState_.routes4.count = routes;
        kernelState_.routes4.realms = true;
        book_.note({kEverything, true, 0});
        controller_.cycle();
        ASSERT_EQ(interface("in0").plan.shape.ipv4, 0);
        kernelState_.routes4.realms = false;
        rtmsg header{};
        header.rtm_family = AF_INET;
        world_.routes.push(RTM_DELROUTE, NetlinkWriter(header).bytes());
        look();
        int seconds = 0;
        while (interface("in0").plan.shape.ipv4 == 0 && seconds < 100) ++seconds, controller_.everySecond();
        EXPECT_EQ(seconds, routes == 100 ? 3 : 60);
    }
}

TEST_F(ControllerTest, CountersAreSummedByInterface) {
    start();
    kernel_.counters[2].fast4_packets = 3;
    kernel_.counters[3].fast6_packets = 4;
    kernel_.counters[3].held_packets = 5;
    kernel_.counters[2].slow[FL_REASON_TTL] = 6;
    const auto report = controller_.report();
    EXPECT_EQ(report.counters.fastPackets, 7U);
    EXPECT_EQ(report.counters.heldPackets, 5U);
    EXPECT_EQ(report.counters.slowPackets, 6U);
    const auto each = controller_.counters();
    ASSERT_EQ(each.size(), 2U) << "lo has no port";
    EXPECT_EQ(each[0].slow, (std::vector<std::pair<std::string, std::uint64_t>>{{"ttl", 6}}));
}

TEST_F(ControllerTest, ObservingAttachesNothing) {
    Controller observer(
        {netlink_, [this](std::uint32_t c, NetState& s) { return introspect(c, s); }, watch_, book_, nullptr, nullptr, describe},
        fake::onTc());
    observer.cycle();
    const auto report = observer.report();
    EXPECT_TRUE(report.observe);
    EXPECT_TRUE(report.ready);
    EXPECT_TRUE(kernel_.calls.empty());
    EXPECT_FALSE(report.interfaces[1].attached);
    EXPECT_EQ(report.interfaces[1].plan.hook, Hook::tc) << "but it says what it would do";
}

}  // namespace
}  // namespace fastlet::linuxfp
