// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/invalidation.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <sys/socket.h>

#include "tests/fakes/fake_netlink.hpp"

namespace fastlet::linuxfp {
namespace {

using fastlet::testing::asHeader;
using fastlet::testing::netlinkMessage;

Impact of(NetlinkProtocol protocol, std::uint16_t type, const Bytes& payload) {
    const auto message = netlinkMessage(type, payload);
    return classify(protocol, asHeader(message));
}

Impact route(std::uint16_t type, const NetlinkWriter& payload) { return of(NetlinkProtocol::route, type, payload.bytes()); }

Impact nft(int type) {
    return of(NetlinkProtocol::netfilter, static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | type), Bytes(4));
}

void expectNothing(const Impact& impact) {
    EXPECT_EQ(impact.categories, 0u);
    EXPECT_FALSE(impact.holdAll);
    EXPECT_EQ(impact.holdInterface, 0u);
}

TEST(Classify, LinksAndTrafficControlHoldTheirInterface) {
    ifinfomsg link{};
    link.ifi_index = 5;
    for (const std::uint16_t type : {RTM_NEWLINK, RTM_DELLINK}) {
        const auto impact = route(type, NetlinkWriter(link));
        EXPECT_EQ(impact.categories, kLinks | kConf);
        EXPECT_EQ(impact.holdInterface, 5u);
        EXPECT_FALSE(impact.holdAll);
    }
    tcmsg tc{};
    tc.tcm_ifindex = 6;
    for (const std::uint16_t type : {RTM_NEWQDISC, RTM_DELQDISC, RTM_NEWTFILTER, RTM_DELTFILTER}) {
        const auto impact = route(type, NetlinkWriter(tc));
        EXPECT_EQ(impact.categories, kLinks);
        EXPECT_EQ(impact.holdInterface, 6u);
    }
}

TEST(Classify, AFilterBlockThatInterfacesShareHoldsAll) {
    tcmsg tc{};
    tc.tcm_ifindex = static_cast<int>(TCM_IFINDEX_MAGIC_BLOCK);
    const auto impact = route(RTM_NEWTFILTER, NetlinkWriter(tc));
    EXPECT_TRUE(impact.holdAll);
    EXPECT_EQ(impact.holdInterface, 0u);
}

TEST(Classify, AddressesOfIpv4HoldAllThoseOfIpv6Nothing) {
    ifaddrmsg address{};
    address.ifa_family = AF_INET;
    const auto v4 = route(RTM_NEWADDR, NetlinkWriter(address));
    EXPECT_EQ(v4.categories, kAddresses);
    EXPECT_TRUE(v4.holdAll);
    address.ifa_family = AF_INET6;
    const auto v6 = route(RTM_DELADDR, NetlinkWriter(address));
    EXPECT_EQ(v6.categories, kAddresses | kConf);
    EXPECT_FALSE(v6.holdAll);
    EXPECT_EQ(v6.holdInterface, 0u);
}

TEST(Classify, RulesAndSettingsHoldAll) {
    EXPECT_EQ(of(NetlinkProtocol::route, RTM_NEWRULE, Bytes(12)).categories, kRules);
    EXPECT_TRUE(of(NetlinkProtocol::route, RTM_DELRULE, Bytes(12)).holdAll);
    EXPECT_EQ(of(NetlinkProtocol::route, RTM_NEWNETCONF, Bytes(4)).categories, kConf);
    EXPECT_TRUE(of(NetlinkProtocol::route, RTM_DELNETCONF, Bytes(4)).holdAll);
}

TEST(Classify, NeighboursAndSingleNextHopsAreLookedUpLive) {
    expectNothing(of(NetlinkProtocol::route, RTM_NEWNEIGH, Bytes(12)));
    NetlinkWriter single(nhmsg{});
    single.number<std::uint32_t>(NHA_ID, 1);
    expectNothing(route(RTM_NEWNEXTHOP, single));
    NetlinkWriter group(nhmsg{});
    group.number<std::uint32_t>(NHA_ID, 1).number<std::uint64_t>(NHA_GROUP, 0);
    const auto impact = route(RTM_NEWNEXTHOP, group);
    EXPECT_EQ(impact.categories, kRoutes);
    EXPECT_TRUE(impact.holdAll);
}

TEST(Classify, NftablesRulesHoldAllSetElementsNothing) {
    for (const int type : {NFT_MSG_NEWTABLE, NFT_MSG_DELTABLE, NFT_MSG_NEWCHAIN, NFT_MSG_DELCHAIN, NFT_MSG_NEWRULE,
                           NFT_MSG_DELRULE, NFT_MSG_NEWFLOWTABLE, NFT_MSG_DELFLOWTABLE}) {
        EXPECT_EQ(nft(type).categories, kNftables) << type;
        EXPECT_TRUE(nft(type).holdAll) << type;
    }
    for (const int type : {NFT_MSG_NEWSETELEM, NFT_MSG_DELSETELEM, NFT_MSG_NEWSET, NFT_MSG_NEWOBJ, NFT_MSG_NEWGEN})
        expectNothing(nft(type));
    expectNothing(of(NetlinkProtocol::netfilter, NFNL_SUBSYS_CTNETLINK << 8, Bytes(4)));
}

TEST(Classify, IpsecPoliciesHoldAll) {
    for (const std::uint16_t type : {XFRM_MSG_NEWPOLICY, XFRM_MSG_DELPOLICY, XFRM_MSG_FLUSHPOLICY, XFRM_MSG_SETDEFAULT}) {
        const auto impact = of(NetlinkProtocol::xfrm, type, {});
        EXPECT_EQ(impact.categories, kVitals);
        EXPECT_TRUE(impact.holdAll);
    }
    expectNothing(of(NetlinkProtocol::xfrm, XFRM_MSG_NEWSA, {}));
}

TEST(Classify, XdpFeaturesHoldTheirInterface) {
    NetlinkWriter payload(std::uint32_t{0});
    payload.number<std::uint32_t>(1, 8);
    const auto impact = of(NetlinkProtocol::generic, 30, payload.bytes());
    EXPECT_EQ(impact.categories, kLinks);
    EXPECT_EQ(impact.holdInterface, 8u);
}

TEST(Classify, TruncatedMessagesHoldAllAndReadEverything) {
    for (const std::uint16_t type : {RTM_NEWLINK, RTM_NEWADDR, RTM_NEWQDISC, RTM_NEWNEXTHOP}) {
        const auto impact = of(NetlinkProtocol::route, type, Bytes(2));
        EXPECT_EQ(impact.categories, kEverything) << type;
        EXPECT_TRUE(impact.holdAll) << type;
    }
}

rtmsg routeHeader(std::uint8_t family, std::uint8_t type = RTN_UNICAST) {
    rtmsg header{};
    header.rtm_family = family;
    header.rtm_type = type;
    header.rtm_table = RT_TABLE_MAIN;
    header.rtm_protocol = RTPROT_STATIC;
    return header;
}

RouteFacts factsOf(const NetlinkWriter& payload) {
    const auto message = netlinkMessage(RTM_NEWROUTE, payload);
    return routeFacts(asHeader(message));
}

TEST(RouteFactsOf, APlainRouteSaysNothing) {
    NetlinkWriter payload(routeHeader(AF_INET));
    payload.number<std::uint32_t>(RTA_TABLE, RT_TABLE_MAIN).number<std::uint32_t>(RTA_OIF, 3);
    const auto facts = factsOf(payload);
    EXPECT_TRUE(facts.ipv4);
    EXPECT_FALSE(facts.multipath || facts.realms || facts.customLocal);
    EXPECT_EQ(facts.mtu, 0u);
    EXPECT_EQ(facts.nexthopId, 0u);
    EXPECT_FALSE(factsOf(NetlinkWriter(routeHeader(AF_INET6))).ipv4);
}

TEST(RouteFactsOf, MetricsNexthopsRealmsAndMultipath) {
    NetlinkWriter metrics;
    metrics.number<std::uint32_t>(RTAX_LOCK, 0).number<std::uint32_t>(RTAX_MTU, 1280);
    NetlinkWriter payload(routeHeader(AF_INET));
    payload.nested(RTA_METRICS, metrics).number<std::uint32_t>(RTA_NH_ID, 77);
    EXPECT_EQ(factsOf(payload).mtu, 1280u);
    EXPECT_EQ(factsOf(payload).nexthopId, 77u);
    EXPECT_FALSE(factsOf(payload).realms);

    NetlinkWriter realm;
    realm.number<std::uint32_t>(RTA_FLOW, 5);
    rtnexthop hop{};
    hop.rtnh_len = static_cast<std::uint16_t>(sizeof(hop) + realm.bytes().size());
    NetlinkWriter hops(hop);
    Bytes nexthops = hops.bytes();
    nexthops.insert(nexthops.end(), realm.bytes().begin(), realm.bytes().end());
    NetlinkWriter multipath(routeHeader(AF_INET));
    multipath.attribute(RTA_MULTIPATH, nexthops);
    EXPECT_TRUE(factsOf(multipath).multipath);
    EXPECT_TRUE(factsOf(multipath).realms);
}

TEST(RouteFactsOf, OnlyTheKernelsOwnLocalRoutesAreOrdinary) {
    auto header = routeHeader(AF_INET, RTN_LOCAL);
    header.rtm_protocol = RTPROT_KERNEL;
    NetlinkWriter kernels(header);
    kernels.number<std::uint32_t>(RTA_TABLE, RT_TABLE_LOCAL);
    EXPECT_FALSE(factsOf(kernels).customLocal);
    NetlinkWriter elsewhere(header);
    elsewhere.number<std::uint32_t>(RTA_TABLE, 100);
    EXPECT_TRUE(factsOf(elsewhere).customLocal);
    header.rtm_protocol = RTPROT_STATIC;
    NetlinkWriter byHand(header);
    byHand.number<std::uint32_t>(RTA_TABLE, RT_TABLE_LOCAL);
    EXPECT_TRUE(factsOf(byHand).customLocal);
}

TEST(RouteFactsOf, AMalformedRouteMeansTheWorst) {
    rtnexthop hop{};
    hop.rtnh_len = 200;
    NetlinkWriter payload(routeHeader(AF_INET6));
    payload.number(RTA_MULTIPATH, hop);
    for (const auto& facts : {factsOf(payload), routeFacts(asHeader(netlinkMessage(RTM_NEWROUTE, Bytes{AF_INET6})))}) {
        EXPECT_FALSE(facts.ipv4);
        EXPECT_TRUE(facts.multipath && facts.realms && facts.customLocal);
        EXPECT_EQ(facts.mtu, 1u);
    }
}

}  // namespace
}  // namespace fastlet::linuxfp
