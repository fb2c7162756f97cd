// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/fd.hpp"
#include "core/ports/generic_family.hpp"
#include "core/ports/netlink_message.hpp"

namespace fastlet {
namespace {

using ::testing::HasSubstr;

class NetlinkTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (::unshare(CLONE_NEWNET)) GTEST_SKIP() << "needs root (unshare)";
        auto netlink = openNetlink();
        ASSERT_TRUE(netlink) << netlink.error().message;
        netlink_ = *std::move(netlink);
    }
    static NetlinkRequest linkRequest(int ifindex, std::uint16_t flags = 0) {
        ifinfomsg header{};
        header.ifi_index = ifindex;
        return {NetlinkProtocol::route, RTM_GETLINK, flags, NetlinkWriter(header).bytes()};
    }
    std::unique_ptr<Netlink> netlink_;
};

TEST_F(NetlinkTest, AFreshNamespaceHasTheLoopbackInterface) {
    int links = 0;
    ASSERT_TRUE(netlink_->dump(linkRequest(0), [&](const nlmsghdr& message) {
        EXPECT_EQ(message.nlmsg_type, RTM_NEWLINK);
        ++links;
    }));
    EXPECT_GE(links, 1);
}

TEST_F(NetlinkTest, AQueryAnswersWithTheWholeMessageOrTheKernelsError) {
    const auto loopback = netlink_->query(linkRequest(1));
    ASSERT_TRUE(loopback) << loopback.error().message;
    const auto header = readStruct<nlmsghdr>(*loopback);
    EXPECT_EQ(header.nlmsg_type, RTM_NEWLINK);
    EXPECT_EQ(header.nlmsg_len, loopback->size());
    const auto missing = netlink_->query(linkRequest(12345));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ENODEV);
    EXPECT_TRUE(netlink_->query(linkRequest(1)));
}

TEST_F(NetlinkTest, AnAcknowledgementIsAnAnswer) {
    ifinfomsg header{};
    header.ifi_index = 1;
    header.ifi_flags = header.ifi_change = 1;  // IFF_UP
    const auto done = netlink_->query({NetlinkProtocol::route, RTM_NEWLINK, NLM_F_ACK, NetlinkWriter(header).bytes()});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(readStruct<nlmsghdr>(*done).nlmsg_type, NLMSG_ERROR);
    // An answer and an acknowledgement: the latter does not disturb the next question.
    for (int i = 0; i < 3; ++i) {
        const auto link = netlink_->query(linkRequest(1, NLM_F_ACK));
        ASSERT_TRUE(link);
        EXPECT_EQ(readStruct<nlmsghdr>(*link).nlmsg_type, RTM_NEWLINK);
    }
}

TEST_F(NetlinkTest, ErrorsCarryWhatTheKernelSays) {
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_dst_len = 8;  // without a destination
    const auto answer = netlink_->query({NetlinkProtocol::route, RTM_GETROUTE, 0, NetlinkWriter(header).bytes()});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, EINVAL);
    EXPECT_THAT(answer.error().message, HasSubstr("("));
}

TEST_F(NetlinkTest, GenericFamiliesHaveNumbersOrAreMissing) {
    const auto control = findGenericFamily(*netlink_, "nlctrl");
    ASSERT_TRUE(control) << control.error().message;
    EXPECT_EQ(control->id, 0x10);
    const auto missing = findGenericFamily(*netlink_, "no-such-family");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ENOENT);
}

TEST_F(NetlinkTest, AVisitorThatThrowsDoesNotSpoilTheNextQuestion) {
    EXPECT_THROW((void)netlink_->dump(linkRequest(0), [](const nlmsghdr&) { throw std::runtime_error("enough"); }),
                 std::runtime_error);
    int links = 0;
    ASSERT_TRUE(netlink_->dump(linkRequest(0), [&](const nlmsghdr&) { ++links; }));
    EXPECT_GE(links, 1);
}

TEST_F(NetlinkTest, OnlyTheKernelIsBelieved) {
    const std::array groups{static_cast<int>(RTNLGRP_LINK)};
    const auto events = openNetlinkEvents(NetlinkProtocol::route, groups, 65536);
    ASSERT_TRUE(events) << events.error().message;
    sockaddr_nl address{};
    socklen_t length = sizeof(address);
    ASSERT_EQ(::getsockname((*events)->fd(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    address.nl_groups = 0;
    ifinfomsg link{};
    nlmsghdr header{};
    header.nlmsg_len = NLMSG_LENGTH(sizeof(link));
    header.nlmsg_type = RTM_NEWLINK;
    std::array<std::uint8_t, NLMSG_LENGTH(sizeof(ifinfomsg))> forged{};
    std::memcpy(forged.data(), &header, sizeof(header));
    const Fd other(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    ASSERT_EQ(::sendto(other.get(), forged.data(), forged.size(), 0, reinterpret_cast<sockaddr*>(&address), length),
              static_cast<ssize_t>(forged.size()));
    int seen = 0;
    const auto drained = (*events)->drain([&](const nlmsghdr&) { ++seen; });
    ASSERT_TRUE(drained) << drained.error().message;
    EXPECT_EQ(seen, 0);
    EXPECT_FALSE(drained->overflow);
}

TEST_F(NetlinkTest, AGroupThatDoesNotExistIsAnError) {
    const std::array groups{31000};
    EXPECT_FALSE(openNetlinkEvents(NetlinkProtocol::route, groups, 65536));
}

}  // namespace
}  // namespace fastlet
