// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/plan/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "tests/fakes/fake_netlink.hpp"

namespace fastlet::linuxfp {
namespace {

using fastlet::testing::FakeNetlink;
using fastlet::testing::netlinkMessage;
using ::testing::HasSubstr;

constexpr std::uint32_t kIn = 2;
constexpr std::uint32_t kOut = 3;

class ExplainTest : public ::testing::Test {
protected:
    ExplainTest() {
        for (const auto& [ifindex, name] : {std::pair{kIn, "in0"}, std::pair{kOut, "out0"}}) {
            Link link;
            link.ifindex = ifindex;
            link.name = name;
            link.mtu = 1500;
            state_.links[ifindex] = link;
            InterfacePlan interface;
            interface.ifindex = ifindex;
            interface.name = name;
            interface.hook = Hook::tc;
            interface.shape.ipv4 = 1;
            interface.egressTc = true;
            plan_.interfaces.push_back(interface);
        }
        state_.addresses.push_back({kIn, *IpPrefix::parse("10.0.1.1/24")});
        query_.interface = "in0";
        query_.source = IpAddress::parse("10.0.1.5");
        query_.destination = IpAddress::parse("10.20.0.1");
        query_.size = 100;
        setRoute(RTN_UNICAST, kOut, IpAddress::parse("10.0.2.2"));
        setNeighbour(NUD_STALE);
    }

    void setRoute(std::uint8_t type, std::uint32_t egress, std::optional<IpAddress> gateway) {
        rtmsg header{};
        header.rtm_family = AF_INET;
        header.rtm_type = type;
        NetlinkWriter payload(header);
        payload.number<std::uint32_t>(RTA_OIF, egress);
        if (gateway) payload.attribute(RTA_GATEWAY, gateway->view());
        netlink_.set(NetlinkProtocol::route, RTM_GETROUTE, {netlinkMessage(RTM_NEWROUTE, payload)});
    }

    void setNeighbour(std::uint16_t state) {
        const std::uint8_t mac[] = {2, 0, 0, 0, 0, 9};
        ndmsg header{};
        header.ndm_state = state;
        NetlinkWriter payload(header);
        payload.attribute(NDA_LLADDR, mac);
        netlink_.set(NetlinkProtocol::route, RTM_GETNEIGH, {netlinkMessage(RTM_NEWNEIGH, payload)});
    }

    Explanation explain() {
        auto explanation = explainPacket(query_, state_, plan_, heldAll_, held_, netlink_);
        EXPECT_TRUE(explanation) << explanation.error().message;
        return explanation ? *explanation : Explanation{};
    }

    void expectLinux(const std::string& check, const std::string& text) {
        const auto explanation = explain();
        EXPECT_FALSE(explanation.fast);
        EXPECT_THAT(explanation.verdict, HasSubstr("Linux: "));
        EXPECT_THAT(explanation.verdict, HasSubstr(text));
        for (const auto& step : explanation.steps)
            if (!step.passed) {
                EXPECT_EQ(step.check, check);
                return;
            }
        FAIL() << "no step has failed";
    }

    PacketQuery query_;
    NetState state_;
    FastPathPlan plan_;
    bool heldAll_ = false;
    std::set<std::uint32_t> held_;
    FakeNetlink netlink_;
};

TEST_F(ExplainTest, APlainPacketIsFast) {
    const auto explanation = explain();
    EXPECT_TRUE(explanation.fast);
    EXPECT_EQ(explanation.verdict, "fast: to 10.0.2.2 via out0");
    EXPECT_EQ(explanation.egress, "out0");
    EXPECT_EQ(explanation.nextHop, "10.0.2.2");
    EXPECT_EQ(explanation.nextHopMac, "02:00:00:00:00:09");
}

TEST_F(ExplainTest, WithoutAGatewayTheDestinationIsTheNextHop) {
    setRoute(RTN_UNICAST, kOut, std::nullopt);
    EXPECT_EQ(explain().nextHop, "10.20.0.1");
}

TEST_F(ExplainTest, TheQuestionCarriesWhatChoosesAmongNextHops) {
    query_.protocol = 17;
    query_.sourcePort = 1000;
    query_.destinationPort = 2000;
    explain();
    std::map<std::uint16_t, std::size_t> asked;
    NetlinkAttributeReader reader(ByteView(netlink_.log().front().payload).subspan(sizeof(rtmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) asked[attribute.type] = attribute.value.size();
    const std::map<std::uint16_t, std::size_t> expected = {{RTA_DST, 4},      {RTA_SRC, 4},   {RTA_IIF, 4},
                                                           {RTA_IP_PROTO, 1}, {RTA_SPORT, 2}, {RTA_DPORT, 2}};
    EXPECT_EQ(asked, expected);
}

TEST_F(ExplainTest, InterfaceHoldAndFamily) {
    plan_.interfaces[0].reasons = {{"bridge-port", "belongs to a bridge"}};
    plan_.interfaces[0].hook = Hook::none;
    expectLinux("interface", "bridge-port: belongs to a bridge");
    plan_.interfaces[0].hook = Hook::tc;
    heldAll_ = true;
    expectLinux("hold", "on hold");
    heldAll_ = false;
    held_ = {kIn};
    expectLinux("hold", "in0 is on hold");
    held_ = {kOut};
    expectLinux("egress", "egress: out0 is on hold");
    held_.clear();
    plan_.interfaces[0].shape.ipv4 = 0;
    expectLinux("family", "family-off");
}

TEST_F(ExplainTest, Addresses) {
    query_.source = IpAddress::parse("10.0.1.1");
    expectLinux("source", "source-address: 10.0.1.1 is an address of this host");
    plan_.interfaces[0].shape.accept_local = 1;
    EXPECT_TRUE(explain().fast);
    query_.source = IpAddress::parse("127.0.0.1");
    expectLinux("source", "source-address");
    query_.source = IpAddress::parse("10.0.1.5");
    query_.destination = IpAddress::parse("255.255.255.255");
    expectLinux("destination", "destination-address");
}

TEST_F(ExplainTest, Sizes) {
    query_.size = 1501;
    expectLinux("mtu", "too-big");
    plan_.maxLen4 = 1300;
    query_.size = 1301;
    expectLinux("size", "too-big");
}

TEST_F(ExplainTest, Routes) {
    setRoute(RTN_LOCAL, kIn, std::nullopt);
    expectLinux("route", "no-forward: the destination is this host");
    setRoute(RTN_BLACKHOLE, 0, std::nullopt);
    expectLinux("route", "route-reject");
    setRoute(RTN_UNICAST, kIn, std::nullopt);
    expectLinux("egress", "same-interface");
    setRoute(RTN_UNICAST, kOut, std::nullopt);
    plan_.interfaces[1].egressTc = false;
    expectLinux("egress", "egress: out0 is not open");
}

TEST_F(ExplainTest, ErrorsOfTheKernelAreAnswers) {
    const auto failing = [&](int code) { netlink_.fail(NetlinkProtocol::route, RTM_GETROUTE, code, 1); };
    failing(EHOSTUNREACH);
    expectLinux("route", "no-forward");
    failing(EACCES);
    expectLinux("route", "route-reject: a prohibit route");
    failing(EXDEV);
    expectLinux("route", "reverse-path");
    failing(EINVAL);  // the second question, without the source, succeeds
    expectLinux("route", "reverse-path");
    netlink_.fail(NetlinkProtocol::route, RTM_GETROUTE, EINVAL, 2);
    expectLinux("route", "route-reject: a blackhole route");
    failing(ETIMEDOUT);
    EXPECT_FALSE(explainPacket(query_, state_, plan_, false, {}, netlink_));
}

TEST_F(ExplainTest, Neighbours) {
    setNeighbour(NUD_INCOMPLETE);
    expectLinux("neighbour", "no-neighbour");
    netlink_.fail(NetlinkProtocol::route, RTM_GETNEIGH, ENOENT);
    expectLinux("neighbour", "no-neighbour");
}

TEST_F(ExplainTest, WhatIsNotGivenIsNotChecked) {
    query_ = {};
    query_.interface = "in0";
    const auto explanation = explain();
    EXPECT_FALSE(explanation.fast);
    EXPECT_THAT(explanation.verdict, HasSubstr("undecided"));
    EXPECT_TRUE(netlink_.log().empty());
}

TEST_F(ExplainTest, QuestionsThatMakeNoSense) {
    query_.interface = "nope0";
    auto explanation = explainPacket(query_, state_, plan_, false, {}, netlink_);
    ASSERT_FALSE(explanation);
    EXPECT_THAT(explanation.error().message, HasSubstr("nope0"));
    query_.interface = "in0";
    query_.source = IpAddress::parse("2001:db8::1");
    EXPECT_FALSE(explainPacket(query_, state_, plan_, false, {}, netlink_));
}

}  // namespace
}  // namespace fastlet::linuxfp
