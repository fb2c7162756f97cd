// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/watch.hpp"

#include <gtest/gtest.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "core/ports/netlink_message.hpp"
#include "tests/fakes/fake_bpf_kernel.hpp"
#include "tests/fakes/fake_watch_ports.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr std::uint64_t kLifetime = 10;

class WatchTest : public testing::Test {
protected:
    WatchTest() {
        kernel_.control.max_len4 = kernel_.control.max_len6 = 65535;
        step();  // the first look sees everything for the first time
        settle();
    }
    bool step() { return watch_.step(now_ += 5); }
    std::uint32_t settle() {
        const auto pending = book_.take();
        book_.release(pending.stamp);
        return pending.categories;
    }
    static Bytes route(std::uint16_t mtu = 0, bool multipath = false) {
        rtmsg header{};
        header.rtm_family = AF_INET;
        header.rtm_table = RT_TABLE_MAIN;
        header.rtm_type = RTN_UNICAST;
        NetlinkWriter writer(header);
        if (mtu) writer.nested(RTA_METRICS, NetlinkWriter().number<std::uint32_t>(RTAX_MTU, mtu));
        if (multipath) {
            rtnexthop hop{};
            hop.rtnh_len = sizeof(hop);
            hop.rtnh_ifindex = 2;
            writer.number(RTA_MULTIPATH, hop);
        }
        return writer.bytes();
    }

    fake::FakeBpfKernel kernel_;
    fake::WatchWorld world_;
    HoldBook book_{kernel_.shared()};
    Watch watch_{book_, kernel_.shared(), world_.ports(), kLifetime};
    std::uint64_t now_ = 0;
};

TEST_F(WatchTest, QuietLookMovesTheHeartbeatAndNothingElse) {
    const auto before = kernel_.control.deadline_jiffies;
    EXPECT_FALSE(step());
    EXPECT_EQ(kernel_.control.deadline_jiffies, before + 1);
    EXPECT_EQ(kernel_.control.deadline_jiffies, world_.vitals->jiffies + kLifetime);
    EXPECT_FALSE(book_.heldAll());
}

TEST_F(WatchTest, TickCountsSeconds) {
    watch_.step(7999);
    EXPECT_EQ(kernel_.control.tick, 7U);
}

TEST_F(WatchTest, LinkEventHoldsItsInterface) {
    ifinfomsg header{};
    header.ifi_index = 2;
    world_.configuration.push(RTM_NEWLINK, NetlinkWriter(header).bytes());
    EXPECT_TRUE(step());
    EXPECT_EQ(kernel_.ports[2].hold, 1U);
    EXPECT_FALSE(book_.heldAll());
    EXPECT_EQ(book_.take().categories & kLinks, kLinks);
}

TEST_F(WatchTest, LostMessagesHoldEverythingAndReadEverything) {
    world_.configuration.overflow = true;
    EXPECT_TRUE(step());
    EXPECT_TRUE(book_.heldAll());
    EXPECT_EQ(settle(), kEverything);
    world_.nftables.broken = true;
    EXPECT_TRUE(step());
    EXPECT_TRUE(book_.heldAll());
}

TEST_F(WatchTest, ChangedVitalsHoldEverything) {
    world_.vitals->xfrm_policies = 1;
    EXPECT_TRUE(step());
    EXPECT_TRUE(book_.heldAll());
    EXPECT_EQ(watch_.vitals()->xfrm_policies, 1U);
    EXPECT_EQ(settle() & kVitals, kVitals);
    EXPECT_FALSE(step()) << "the same reading again is no news";
}

TEST_F(WatchTest, UnreadableVitalsStopTheHeartbeat) {
    world_.vitals.reset();
    const auto before = kernel_.control.deadline_jiffies;
    step();
    EXPECT_EQ(kernel_.control.deadline_jiffies, before);
    EXPECT_EQ(watch_.vitalsError(), "cannot be read");
}

TEST_F(WatchTest, PlainRoutesNeedNoHold) {
    for (int i = 0; i < 1000; ++i) world_.routes.push(RTM_NEWROUTE, route());
    EXPECT_FALSE(step());
    EXPECT_EQ(watch_.routes().events, 1000U);
}

TEST_F(WatchTest, FirstMultipathRouteHoldsOnce) {
    world_.routes.push(RTM_NEWROUTE, route(0, true));
    EXPECT_TRUE(step());
    EXPECT_TRUE(book_.heldAll());
    EXPECT_EQ(settle(), kRoutes);
    world_.routes.push(RTM_NEWROUTE, route(0, true));
    EXPECT_FALSE(step());
}

TEST_F(WatchTest, WhatThePlanKnowsNeedsNoHold) {
    RouteKnowledge planned;
    planned.ipv4.multipath = true;
    watch_.setPlanned(planned);
    watch_.forgetRoutes();
    world_.routes.push(RTM_NEWROUTE, route(0, true));
    EXPECT_FALSE(step());
    EXPECT_TRUE(watch_.routes().ipv4.multipath);
}

TEST_F(WatchTest, NexthopGroupIsNewsOnceForBothFamilies) {
    nexthop_grp member{};
    member.id = 7;
    const Bytes group = NetlinkWriter(nhmsg{}).number<std::uint32_t>(NHA_ID, 9).number(NHA_GROUP, member).bytes();
    world_.routes.push(RTM_NEWNEXTHOP, NetlinkWriter(nhmsg{}).number<std::uint32_t>(NHA_ID, 7).bytes());
    EXPECT_FALSE(step()) << "a single next hop is looked up live";
    world_.routes.push(RTM_NEWNEXTHOP, group);
    EXPECT_TRUE(step());
    EXPECT_TRUE(book_.heldAll());
    settle();
    EXPECT_TRUE(watch_.routes().ipv4.multipath);
    EXPECT_TRUE(watch_.routes().ipv6.multipath);
    world_.routes.push(RTM_NEWNEXTHOP, group);
    EXPECT_FALSE(step());
}

TEST_F(WatchTest, RouteMtuLowersTheLimitAtOnce) {
    world_.routes.push(RTM_NEWROUTE, route(1300));
    step();
    EXPECT_EQ(kernel_.control.max_len4, 1300U);
    EXPECT_EQ(kernel_.control.max_len6, 65535U);
    EXPECT_FALSE(book_.heldAll());
    EXPECT_EQ(watch_.routes().ipv4.minMtu, 1300U);
}

TEST_F(WatchTest, LostRouteMessagesHoldEverything) {
    world_.routes.overflow = true;
    EXPECT_TRUE(step());
    EXPECT_TRUE(book_.heldAll());
    EXPECT_EQ(settle(), kRoutes);
}

TEST_F(WatchTest, NewPacketSocketIsSeenWithinTwentyMilliseconds) {
    world_.packetTable += "0000000000000000 3 3 0003 2 1 0 0 1234\n";
    bool seen = false;
    for (int i = 0; i < 4; ++i) seen |= step();
    EXPECT_TRUE(seen);
    EXPECT_TRUE(book_.heldAll());
    settle();
    world_.packetTable = "sk RefCnt Type Proto Iface R Rmem User Inode\n0000000000000000 3 3 0003 2 1 999 0 1234\n";
    for (int i = 0; i < 8; ++i) EXPECT_FALSE(step()) << "received bytes are no news";
}

}  // namespace
}  // namespace fastlet::linuxfp
