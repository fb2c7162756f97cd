// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/introspect/parsers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netconf.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/nexthop.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <memory>
#include <random>

#include "linuxfp/coherence/invalidation.hpp"
#include "tests/fakes/fake_netlink.hpp"

namespace fastlet::linuxfp {
namespace {

using fastlet::testing::asHeader;
using fastlet::testing::netlinkMessage;
using ::testing::ElementsAre;

ifinfomsg linkHeader(int ifindex) {
    ifinfomsg header{};
    header.ifi_index = ifindex;
    header.ifi_type = 1;
    header.ifi_flags = 1;
    return header;
}

NetlinkWriter linkPayload() {
    const std::uint8_t mac[] = {2, 0, 0, 0, 0, 7};
    NetlinkWriter payload(linkHeader(7));
    payload.text(IFLA_IFNAME, "out0").attribute(IFLA_ADDRESS, mac).number<std::uint32_t>(IFLA_MTU, 1500);
    return payload;
}

TEST(ParseLink, ReadsWhatThePlannerNeeds) {
    auto payload = linkPayload();
    NetlinkWriter info;
    info.text(IFLA_INFO_KIND, "veth").text(IFLA_INFO_SLAVE_KIND, "bridge");
    NetlinkWriter xdp;
    xdp.number<std::uint8_t>(IFLA_XDP_ATTACHED, XDP_ATTACHED_DRV)
        .number<std::uint32_t>(IFLA_XDP_PROG_ID, 42)
        .number<std::uint32_t>(IFLA_XDP_DRV_PROG_ID, 42);
    payload.nested(IFLA_LINKINFO, info)
        .nested(IFLA_XDP, xdp)
        .number<std::uint32_t>(IFLA_MASTER, 3)
        .number<std::uint32_t>(IFLA_PROMISCUITY, 1);
    const auto message = netlinkMessage(RTM_NEWLINK, payload);
    const auto link = parseLink(asHeader(message));
    ASSERT_TRUE(link);
    EXPECT_EQ(link->ifindex, 7u);
    EXPECT_EQ(link->name, "out0");
    EXPECT_EQ(link->mac.toString(), "02:00:00:00:00:07");
    EXPECT_EQ(link->mtu, 1500u);
    EXPECT_EQ(link->kind, "veth");
    EXPECT_EQ(link->slaveKind, "bridge");
    EXPECT_EQ(link->master, 3u);
    EXPECT_EQ(link->promiscuity, 1u);
    EXPECT_EQ(link->xdpMode, XdpMode::native);
    EXPECT_EQ(link->xdp.id, 42u);
}

TEST(ParseLink, OfSeveralProgramsTheDriversRunsBeforeTheStacks) {
    auto payload = linkPayload();
    NetlinkWriter xdp;
    xdp.number<std::uint8_t>(IFLA_XDP_ATTACHED, XDP_ATTACHED_MULTI)
        .number<std::uint32_t>(IFLA_XDP_SKB_PROG_ID, 5)
        .number<std::uint32_t>(IFLA_XDP_DRV_PROG_ID, 6);
    payload.nested(IFLA_XDP, xdp);
    const auto message = netlinkMessage(RTM_NEWLINK, payload);
    const auto link = parseLink(asHeader(message));
    ASSERT_TRUE(link);
    EXPECT_EQ(link->xdpMode, XdpMode::multiple);
    EXPECT_EQ(link->xdp.id, 6u);
}

TEST(ParseLink, RefusesBridgeMessagesAndTruncatedOnes) {
    auto header = linkHeader(7);
    header.ifi_family = AF_BRIDGE;
    NetlinkWriter bridge(header);
    bridge.text(IFLA_IFNAME, "out0");
    EXPECT_FALSE(parseLink(asHeader(netlinkMessage(RTM_NEWLINK, bridge))));
    EXPECT_FALSE(parseLink(asHeader(netlinkMessage(RTM_NEWLINK, Bytes{0, 0, 0}))));
    auto cut = linkPayload().bytes();
    cut.resize(cut.size() - 2);
    EXPECT_FALSE(parseLink(asHeader(netlinkMessage(RTM_NEWLINK, cut))));
}

NetlinkWriter rulePayload(std::uint8_t family, std::uint32_t priority, std::uint32_t table, std::uint8_t action = FR_ACT_TO_TBL) {
    fib_rule_hdr header{};
    header.family = family;
    header.action = action;
    header.table = static_cast<std::uint8_t>(table);
    NetlinkWriter payload(header);
    payload.number<std::uint32_t>(FRA_TABLE, table).number<std::uint32_t>(FRA_SUPPRESS_PREFIXLEN, UINT32_MAX);
    payload.number<std::uint8_t>(FRA_PROTOCOL, RTPROT_KERNEL);
    if (priority) payload.number<std::uint32_t>(FRA_PRIORITY, priority);
    return payload;
}

PolicyRule rule(const NetlinkWriter& payload) {
    const auto message = netlinkMessage(RTM_NEWRULE, payload);
    const auto parsed = parseRule(asHeader(message));
    EXPECT_TRUE(parsed);
    return parsed.value_or(PolicyRule{});
}

TEST(ParseRule, KnowsTheOnesOfAFreshNamespace) {
    EXPECT_TRUE(rule(rulePayload(AF_INET, 0, RT_TABLE_LOCAL)).standard);
    EXPECT_TRUE(rule(rulePayload(AF_INET, 32766, RT_TABLE_MAIN)).standard);
    EXPECT_TRUE(rule(rulePayload(AF_INET, 32767, RT_TABLE_DEFAULT)).standard);
    EXPECT_TRUE(rule(rulePayload(AF_INET6, 32766, RT_TABLE_MAIN)).standard);
    EXPECT_FALSE(rule(rulePayload(AF_INET6, 32767, RT_TABLE_DEFAULT)).standard);
    EXPECT_FALSE(rule(rulePayload(AF_INET, 100, 100)).standard);
    EXPECT_EQ(rule(rulePayload(AF_INET, 100, 1000)).table, 1000u);
}

TEST(ParseRule, NamesTheSelectorThatTheLookupDoesNotHonour) {
    const auto with = [](std::uint16_t type, const char* name) {
        auto payload = rulePayload(AF_INET, 100, 100);
        payload.number<std::uint32_t>(type, 1);
        EXPECT_EQ(rule(payload).unsupported, name) << type;
        EXPECT_FALSE(rule(payload).standard);
    };
    with(FRA_FWMARK, "fwmark");
    with(FRA_IP_PROTO, "ipproto");
    with(FRA_SPORT_RANGE, "sport");
    with(FRA_DPORT_RANGE, "dport");
    with(FRA_UID_RANGE, "uidrange");
    with(FRA_TUN_ID, "tun_id");
    with(FRA_OIFNAME, "oif");
    with(FRA_L3MDEV, "l3mdev");
    with(FRA_FLOW, "realms");
    with(200, "a selector that is newer than this program");
}

TEST(ParseRule, HonouredSelectorsAreNotStandardButSupported) {
    for (const std::uint16_t type : {FRA_DST, FRA_SRC, FRA_IIFNAME, FRA_GOTO}) {
        auto payload = rulePayload(AF_INET, 32766, RT_TABLE_MAIN);
        payload.number<std::uint32_t>(type, 1);
        EXPECT_EQ(rule(payload).unsupported, "");
        EXPECT_FALSE(rule(payload).standard) << type;
    }
    EXPECT_EQ(rule(rulePayload(AF_INET, 5, 0, FR_ACT_BLACKHOLE)).unsupported, "");
    EXPECT_EQ(rule(rulePayload(AF_INET, 5, 0, 77)).unsupported, "action 77");
}

TEST(ParseAddress, TakesTheOwnAddressNotThePeers) {
    const std::uint8_t own[] = {10, 0, 0, 1};
    const std::uint8_t peer[] = {10, 0, 0, 2};
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = 32;
    header.ifa_index = 4;
    NetlinkWriter payload(header);
    payload.attribute(IFA_ADDRESS, peer).attribute(IFA_LOCAL, own);
    const auto address = parseAddress(asHeader(netlinkMessage(RTM_NEWADDR, payload)));
    ASSERT_TRUE(address);
    EXPECT_EQ(address->address.toString(), "10.0.0.1/32");
    EXPECT_EQ(address->ifindex, 4u);
}

TEST(ParseNetconf, ReadsAllAndSingleInterfaces) {
    NetlinkWriter payload(netconfmsg{AF_INET});
    payload.number<std::int32_t>(NETCONFA_IFINDEX, -1)
        .number<std::int32_t>(NETCONFA_FORWARDING, 1)
        .number<std::int32_t>(NETCONFA_RP_FILTER, 2)
        .number<std::int32_t>(NETCONFA_PROXY_NEIGH, 1);
    const auto entry = parseNetconf(asHeader(netlinkMessage(RTM_NEWNETCONF, payload)));
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->ifindex, -1);
    EXPECT_TRUE(entry->conf.forwarding);
    EXPECT_EQ(entry->conf.rpFilter, 2);
    EXPECT_FALSE(entry->conf.proxyNdp);  // for IPv4 this is proxy_arp
    EXPECT_TRUE(entry->conf.known);
}

NetlinkWriter chainPayload(std::uint8_t family, std::uint32_t hook, std::uint32_t policy, std::uint32_t use) {
    NetlinkWriter hooks;
    hooks.number<std::uint32_t>(NFTA_HOOK_HOOKNUM, __builtin_bswap32(hook));
    hooks.number<std::uint32_t>(NFTA_HOOK_PRIORITY, __builtin_bswap32(static_cast<std::uint32_t>(-100)));
    NetlinkWriter devices;
    devices.text(NFTA_DEVICE_NAME, "in0").attribute(NFTA_DEVICE_NAME, ByteView(reinterpret_cast<const std::uint8_t*>("eth"), 3));
    hooks.nested(NFTA_HOOK_DEVS, devices);
    nfgenmsg header{};
    header.nfgen_family = family;
    NetlinkWriter payload(header);
    payload.text(NFTA_CHAIN_TABLE, "t").text(NFTA_CHAIN_NAME, "c").nested(NFTA_CHAIN_HOOK, hooks);
    payload.number<std::uint32_t>(NFTA_CHAIN_POLICY, __builtin_bswap32(policy));
    payload.number<std::uint32_t>(NFTA_CHAIN_USE, __builtin_bswap32(use));
    return payload;
}

constexpr std::uint16_t kNewChain = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWCHAIN;

TEST(ParseChain, ReadsHookPolicyRulesAndDevices) {
    const auto chain = parseChain(asHeader(netlinkMessage(kNewChain, chainPayload(NFPROTO_INET, NF_INET_FORWARD, NF_DROP, 3))));
    ASSERT_TRUE(chain);
    EXPECT_EQ(chain->family, "inet");
    EXPECT_EQ(chain->hook, "forward");
    EXPECT_EQ(chain->priority, -100);
    EXPECT_EQ(chain->rules, 3u);
    EXPECT_TRUE(chain->drops);
    EXPECT_THAT(chain->devices, ElementsAre("in0", "eth*"));
    const auto ingress = parseChain(asHeader(netlinkMessage(kNewChain, chainPayload(NFPROTO_NETDEV, 0, NF_ACCEPT, 0))));
    ASSERT_TRUE(ingress);
    EXPECT_EQ(ingress->hook, "ingress");
    EXPECT_FALSE(ingress->drops);
}

TEST(ParseChain, LeavesOutWhatForwardedPacketsDoNotPass) {
    EXPECT_FALSE(parseChain(asHeader(netlinkMessage(kNewChain, chainPayload(NFPROTO_INET, NF_INET_LOCAL_IN, NF_DROP, 1)))));
    EXPECT_FALSE(parseChain(asHeader(netlinkMessage(kNewChain, chainPayload(NFPROTO_BRIDGE, NF_INET_FORWARD, NF_DROP, 1)))));
    NetlinkWriter regular(nfgenmsg{NFPROTO_INET, 0, 0});
    regular.text(NFTA_CHAIN_NAME, "helper");
    EXPECT_FALSE(parseChain(asHeader(netlinkMessage(kNewChain, regular))));
}

TEST(ParseChain, AMalformedOneDropsEverything) {
    auto cut = chainPayload(NFPROTO_INET, NF_INET_FORWARD, NF_ACCEPT, 0).bytes();
    cut.resize(cut.size() - 2);
    const auto chain = parseChain(asHeader(netlinkMessage(kNewChain, cut)));
    ASSERT_TRUE(chain);
    EXPECT_TRUE(chain->drops);
}

TEST(ParseFilter, ReadsTheProgramOfABpfFilter) {
    tcmsg header{};
    header.tcm_handle = 1;
    NetlinkWriter options;
    options.number<std::uint32_t>(TCA_BPF_ID, 12).text(TCA_BPF_NAME, "watch.o:[cls]");
    NetlinkWriter payload(header);
    payload.text(TCA_KIND, "bpf").nested(TCA_OPTIONS, options);
    const auto filter = parseFilter(asHeader(netlinkMessage(RTM_NEWTFILTER, payload)));
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->kind, "bpf");
    EXPECT_EQ(filter->program, 12u);
    EXPECT_EQ(filter->programName, "watch.o:[cls]");
}

TEST(ParseNexthopGroup, IgnoresSingleHopsAndTheBridges) {
    const auto parse = [](bool group, bool bridge) {
        NetlinkWriter payload(nhmsg{});
        payload.number<std::uint32_t>(NHA_ID, 9);
        if (group) payload.number<std::uint64_t>(NHA_GROUP, 0);
        if (bridge) payload.attribute(NHA_FDB, {});
        return parseNexthopGroup(asHeader(netlinkMessage(RTM_NEWNEXTHOP, payload)));
    };
    EXPECT_EQ(parse(true, false), 9u);
    EXPECT_FALSE(parse(false, false));
    EXPECT_FALSE(parse(true, true));
}

TEST(ParseXdpFeatures, ReadsTheBits) {
    NetlinkWriter payload(genlmsghdr{1, 1, 0});
    payload.number<std::uint32_t>(1, 3).number<std::uint64_t>(3, 0x27);
    const auto features = parseXdpFeatures(asHeader(netlinkMessage(30, payload)));
    ASSERT_TRUE(features);
    EXPECT_EQ(features->first, 3u);
    EXPECT_EQ(features->second, 0x27u);
}

TEST(ParsePacketSockets, CountsCapturesOnly) {
    const std::string header = "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n";
    const auto lldp = parsePacketSockets(header + "0000000000000000 3      3    88cc   2     1 0      0      100\n");
    EXPECT_FALSE(lldp.all);
    EXPECT_TRUE(lldp.interfaces.empty());
    const auto one = parsePacketSockets(header + "0000000000000000 3      3    0003   12    1 0      0      100\n");
    EXPECT_FALSE(one.all);
    EXPECT_THAT(one.interfaces, ElementsAre(12u));
    const auto stopped = parsePacketSockets(header + "0000000000000000 3      3    0003   12    0 0      0      100\n");
    EXPECT_TRUE(stopped.interfaces.empty());
    EXPECT_TRUE(parsePacketSockets(header + "0000000000000000 3      3    86dd   0     1 0      0      100\n").all);
    EXPECT_TRUE(parsePacketSockets(header + "a line of another kernel\n").all);
    EXPECT_FALSE(parsePacketSockets(header).all);
}

/// Bytes that come close to messages: some of the lengths are right. The sanitizers watch.
TEST(Parsers, SurviveAnyBytes) {
    std::mt19937 random(20240607);
    const std::uint16_t types[] = {RTM_NEWLINK,  RTM_NEWQDISC,   RTM_NEWTFILTER, RTM_NEWADDR, RTM_NEWRULE,
                                   RTM_NEWROUTE, RTM_NEWNETCONF, RTM_NEWNEXTHOP, kNewChain,   kNewChain + 22,
                                   RTM_NEWNEIGH, RTM_DELLINK,    NLMSG_DONE,     19};
    std::size_t parsed = 0;
    for (int round = 0; round < 200000; ++round) {
        Bytes payload(random() % 96);
        for (auto& byte : payload) byte = static_cast<std::uint8_t>(random() % 5 ? random() % 24 : random());
        const auto message = netlinkMessage(types[random() % std::size(types)], payload);
        // A copy of exactly that size, so that a read beyond it is one beyond the allocation.
        const auto exact = std::make_unique<std::uint8_t[]>(message.size());
        std::copy(message.begin(), message.end(), exact.get());
        const auto& header = *reinterpret_cast<const nlmsghdr*>(exact.get());
        parsed += parseLink(header) || parseQdisc(header) || parseFilter(header) || parseAddress(header) || parseRule(header);
        parsed += parseNetconf(header) || parseNexthopGroup(header) || parseChain(header) || parseFlowtable(header);
        parsed += parseXdpFeatures(header).has_value();
        for (const auto protocol :
             {NetlinkProtocol::route, NetlinkProtocol::netfilter, NetlinkProtocol::xfrm, NetlinkProtocol::generic})
            parsed += classify(protocol, header).holdAll;
        parsed += routeFacts(header).multipath;
    }
    EXPECT_GT(parsed, 1000u);  // the bytes did reach the parsers
}

}  // namespace
}  // namespace fastlet::linuxfp
