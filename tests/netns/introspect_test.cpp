// SPDX-License-Identifier: Apache-2.0
// The real kernel, changed with the tools that administrators use, must appear in the state. One namespace per test process.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "core/fd.hpp"
#include "linuxfp/introspect/hook_inspector.hpp"
#include "linuxfp/introspect/introspector.hpp"
#include "linuxfp/plan/explain.hpp"

namespace fastlet::linuxfp {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

class IntrospectTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (::unshare(CLONE_NEWNET)) GTEST_SKIP() << "needs root (unshare)";
        auto netlink = openNetlink();
        ASSERT_TRUE(netlink) << netlink.error().message;
        netlink_ = *std::move(netlink);
        hooks_ = realHookInspector();
        introspector_ = std::make_unique<Introspector>(*netlink_, *hooks_, realProcReader());
        run("ip link set lo up && ip link add in0 type veth peer name host0 && ip link add out0 type veth peer name host1");
        run("ip link set in0 up && ip link set host0 up && ip link set out0 up && ip link set host1 up");
        run("ip addr add 10.0.1.1/24 dev in0 && ip addr add 10.0.2.1/24 dev out0");
    }

    const NetState& read(std::uint32_t categories = kEverything) {
        const auto done = introspector_->refresh(categories, state_);
        EXPECT_TRUE(done) << done.error().message;
        return state_;
    }

    const Link& link(const std::string& name) {
        const auto ifindex = ::if_nametoindex(name.c_str());
        EXPECT_TRUE(state_.links.contains(ifindex)) << name;
        return state_.links[ifindex];
    }

    std::unique_ptr<Netlink> netlink_;
    std::unique_ptr<HookInspector> hooks_;
    std::unique_ptr<Introspector> introspector_;
    NetState state_;
};

TEST_F(IntrospectTest, LinksWithKindMasterAndMtu) {
    run("ip link add br0 type bridge && ip link set host1 master br0 && ip link set out0 mtu 1400");
    read(kLinks);
    EXPECT_EQ(link("in0").kind, "veth");
    EXPECT_EQ(link("in0").mtu, 1500u);
    EXPECT_EQ(link("out0").mtu, 1400u);
    EXPECT_EQ(link("host1").master, ::if_nametoindex("br0"));
    EXPECT_EQ(link("host1").slaveKind, "bridge");
    EXPECT_EQ(link("br0").kind, "bridge");
    EXPECT_NE(link("in0").mac, MacAddress{});
    EXPECT_EQ(link("in0").hookUnknown, 0u);
    EXPECT_TRUE(link("lo").flags & IFF_LOOPBACK);
}

TEST_F(IntrospectTest, ARenamedAndACreatedAnewInterface) {
    read();
    const auto before = ::if_nametoindex("in0");
    run("ip link set in0 down && ip link set in0 name lan0");
    read(kLinks);
    EXPECT_EQ(state_.links[before].name, "lan0");
    run("ip link del lan0 && ip link add lan0 index " + std::to_string(before) + " type bridge");
    read(kLinks);
    EXPECT_EQ(state_.links[before].kind, "bridge");
    EXPECT_EQ(state_.links[before].name, "lan0");
    run("ip link del lan0");
    read(kLinks);
    EXPECT_FALSE(state_.links.contains(before));
    EXPECT_FALSE(state_.conf4.contains(static_cast<std::int32_t>(before)));
}

TEST_F(IntrospectTest, WhoReceivesByAnInterfaceFromAnotherNamespace) {
    read(kLinks);
    EXPECT_TRUE(state_.rxHandlersUnreadable.empty()) << state_.rxHandlersUnreadable;
    for (const char* name : {"lo", "in0", "out0", "host0", "host1"}) EXPECT_FALSE(link(name).rxHandler) << name;
    run("ip link add br0 type bridge && ip link set host1 master br0");
    const std::string other = "fastlet-receiver-" + std::to_string(::getpid());
    run("ip netns add " + other + " && ip link add mv0 link in0 netns " + other + " type macvlan mode passthru");
    read(kLinks);
    EXPECT_TRUE(link("in0").rxHandler);
    EXPECT_TRUE(link("host1").rxHandler);
    EXPECT_FALSE(link("br0").rxHandler);
    EXPECT_FALSE(link("out0").rxHandler);
    run("ip -n " + other + " link del mv0 && ip netns del " + other + " && ip link set host1 nomaster");
    read(kConf);
    EXPECT_FALSE(link("in0").rxHandler);
    EXPECT_FALSE(link("host1").rxHandler);
}

TEST_F(IntrospectTest, QdiscsAndFilters) {
    run("tc qdisc add dev in0 clsact");
    run("tc filter add dev in0 ingress protocol ip u32 match ip dst 10.9.0.0/16 flowid 1:1");
    run("tc qdisc add dev out0 root handle 1: htb default 1");
    run("tc filter add dev out0 parent 1: protocol ip prio 1 u32 match ip dst 10.8.0.0/16 flowid 1:1");
    read(kLinks);
    EXPECT_THAT(link("in0").qdiscs, Contains("clsact"));
    EXPECT_THAT(link("in0").tcIngress, ElementsAre("filter u32"));
    EXPECT_THAT(link("in0").tcEgress, IsEmpty());
    EXPECT_THAT(link("out0").qdiscs, Contains("htb"));
    EXPECT_THAT(link("out0").tcEgress, ElementsAre("filter u32"));
    run("tc filter add dev in0 egress protocol ip u32 match ip dst 10.9.0.0/16 flowid 1:1");
    run("tc filter del dev in0 ingress && tc qdisc del dev out0 root");
    read(kLinks);
    EXPECT_THAT(link("in0").tcIngress, IsEmpty());
    EXPECT_THAT(link("in0").tcEgress, ElementsAre("filter u32"));
    EXPECT_THAT(link("out0").tcEgress, IsEmpty());
    EXPECT_THAT(link("out0").qdiscs, ElementsAre("noqueue"));
    run("tc qdisc del dev in0 clsact && tc qdisc add dev in0 ingress");
    run("tc filter add dev in0 ingress protocol ip u32 match ip dst 10.9.0.0/16 flowid 1:1");
    read(kLinks);
    EXPECT_THAT(link("in0").qdiscs, Contains("ingress"));
    EXPECT_THAT(link("in0").tcIngress, ElementsAre("filter u32"));
}

TEST_F(IntrospectTest, AFilterBlockThatTwoInterfacesShare) {
    run("tc qdisc add dev in0 ingress_block 7 clsact && tc qdisc add dev out0 ingress_block 7 clsact");
    run("tc filter add block 7 protocol ip u32 match ip dst 10.9.0.0/16 flowid 1:1");
    read(kLinks);
    EXPECT_THAT(link("in0").tcIngress, ElementsAre("filter u32"));
    EXPECT_THAT(link("out0").tcIngress, ElementsAre("filter u32"));
}

TEST_F(IntrospectTest, XdpFeaturesAreKnownAndPeersNapiDecides) {
    read(kLinks);
    EXPECT_TRUE(link("in0").xdpFeaturesKnown);
    EXPECT_TRUE(link("in0").xdpFeatures & 1);  // NETDEV_XDP_ACT_BASIC
    constexpr std::uint64_t kNdoXmit = 4;
    EXPECT_FALSE(link("in0").xdpFeatures & kNdoXmit);
    EXPECT_EQ(std::system("ethtool -K host0 gro on >/dev/null 2>&1"), 0);
    read(kLinks);
    EXPECT_TRUE(link("in0").xdpFeatures & kNdoXmit);
}

TEST_F(IntrospectTest, Addresses) {
    run("ip addr add 10.5.0.1 peer 10.5.0.2 dev in0 && ip -6 addr add 2001:db8::1/64 dev in0 nodad");
    read(kAddresses);
    std::vector<std::string> all;
    for (const auto& entry : state_.addresses) all.push_back(entry.address.toString());
    EXPECT_THAT(all, Contains("10.0.1.1/24"));
    EXPECT_THAT(all, Contains("10.5.0.1/32"));
    EXPECT_THAT(all, Contains("127.0.0.1/8"));
    EXPECT_THAT(all, Contains("2001:db8::1/64"));
}

std::size_t customRules(const NetState& state) {
    std::size_t count = 0;
    for (const auto& rule : state.rules) count += rule.standard ? 0 : 1;
    return count;
}

TEST_F(IntrospectTest, PolicyRules) {
    read(kRules);
    EXPECT_EQ(state_.rules.size(), 5u);
    EXPECT_EQ(customRules(state_), 0u);
    run("ip rule add fwmark 7 table 100 && ip rule add from 10.0.0.0/8 table 101 && ip -6 rule add ipproto tcp table 102");
    run("ip rule add not iif in0 table 1000 && ip rule add tos 0x10 blackhole && ip rule add to 10.2.0.0/16 "
        "suppress_prefixlength 0 table main");
    read(kRules);
    EXPECT_EQ(customRules(state_), 6u);
    std::vector<std::string> unsupported;
    for (const auto& rule : state_.rules)
        if (!rule.unsupported.empty()) unsupported.push_back(rule.unsupported);
    EXPECT_THAT(unsupported, ::testing::UnorderedElementsAre("fwmark", "ipproto"));
}

TEST_F(IntrospectTest, SettingsOfInterfaces) {
    run("sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.in0.rp_filter=2");
    run("sysctl -qw net.ipv4.conf.in0.forwarding=1 net.ipv4.conf.in0.accept_local=1 net.ipv6.conf.out0.proxy_ndp=1");
    run("sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.host0.disable_ipv6=1");
    read(kLinks | kConf);
    const auto in = static_cast<std::int32_t>(::if_nametoindex("in0"));
    const auto out = static_cast<std::int32_t>(::if_nametoindex("out0"));
    const auto host = static_cast<std::int32_t>(::if_nametoindex("host0"));
    EXPECT_TRUE(state_.conf4[in].known);
    EXPECT_TRUE(state_.conf4[in].forwarding);
    EXPECT_EQ(state_.conf4[in].rpFilter, 2);
    EXPECT_TRUE(state_.conf4[in].acceptLocal);
    EXPECT_FALSE(state_.conf4[out].forwarding);
    EXPECT_FALSE(state_.conf4[out].acceptLocal);
    EXPECT_TRUE(state_.conf4[-1].known);
    EXPECT_EQ(state_.conf4[-1].rpFilter, 0);
    EXPECT_TRUE(state_.conf6[-1].forwarding);
    EXPECT_TRUE(state_.conf6[out].forwarding);
    EXPECT_TRUE(state_.conf6[out].proxyNdp);
    EXPECT_FALSE(state_.conf6[in].proxyNdp);
    EXPECT_FALSE(state_.conf6[host].forwarding);  // IPv6 is disabled there
}

TEST_F(IntrospectTest, RoutesBecomeASummary) {
    read(kRoutes);
    EXPECT_EQ(state_.routes4.count, 2u);
    EXPECT_FALSE(state_.routes4.multipath || state_.routes4.realms || state_.routes4.customLocal);
    EXPECT_EQ(state_.routes4.minMtu, 0u);
    run("ip route add 10.20.0.0/16 via 10.0.2.2 mtu 1300 && ip route add 10.21.0.0/16 via 10.0.2.2 mtu lock 1200 table 77");
    run("ip route add local 10.30.0.0/16 dev lo && ip route add 10.22.0.0/16 via 10.0.2.2 realm 5");
    read(kRoutes);
    EXPECT_EQ(state_.routes4.count, 5u);
    EXPECT_EQ(state_.routes4.minMtu, 1200u);
    EXPECT_TRUE(state_.routes4.customLocal);
    EXPECT_TRUE(state_.routes4.realms);
    EXPECT_FALSE(state_.routes4.multipath);
    run("ip -6 addr add 2001:db8:2::1/64 dev out0 nodad");
    run("ip -6 route add 2001:db8:9::/48 nexthop via 2001:db8:2::2 nexthop via 2001:db8:2::3");
    read(kRoutes);
    EXPECT_TRUE(state_.routes6.multipath);
    EXPECT_FALSE(state_.routes6.customLocal);
    EXPECT_FALSE(state_.routes4.multipath);
}

TEST_F(IntrospectTest, GroupsOfNexthopObjectsAreMultipath) {
    run("ip nexthop add id 1 via 10.0.2.2 dev out0 && ip nexthop add id 2 via 10.0.2.3 dev out0");
    run("ip route add 10.20.0.0/16 nhid 1");
    read(kRoutes);
    EXPECT_FALSE(state_.routes4.multipath);
    // Without this, the kernel spells the group out in the route.
    run("sysctl -qw net.ipv4.nexthop_compat_mode=0");
    run("ip nexthop add id 10 group 1/2 && ip route add 10.21.0.0/16 nhid 10");
    read(kRoutes);
    EXPECT_TRUE(state_.routes4.multipath);
}

TEST_F(IntrospectTest, NftablesChainsAndFlowtables) {
    read(kNftables);
    EXPECT_THAT(state_.nftChains, IsEmpty());
    EXPECT_EQ(state_.nftUnreadable, "");
    run("nft 'add table inet t; add chain inet t f { type filter hook forward priority 5; policy drop; };"
        " add chain inet t helper; add chain inet t i { type filter hook input priority 0; };"
        " add rule inet t f counter; add rule inet t f accept'");
    run("nft 'add table netdev n; add chain netdev n in { type filter hook ingress device in0 priority 0; }'");
    read(kNftables);
    ASSERT_EQ(state_.nftChains.size(), 2u);
    for (const auto& chain : state_.nftChains) {
        if (chain.hook == "forward") {
            EXPECT_EQ(chain.family, "inet");
            EXPECT_EQ(chain.rules, 2u);
            EXPECT_TRUE(chain.drops);
            EXPECT_EQ(chain.priority, 5);
        } else {
            EXPECT_EQ(chain.hook, "ingress");
            EXPECT_EQ(chain.family, "netdev");
            EXPECT_THAT(chain.devices, ElementsAre("in0"));
        }
    }
}

TEST_F(IntrospectTest, Flowtables) {
    run("nft add table inet t");
    if (std::system("nft 'add flowtable inet t fast { hook ingress priority 0; devices = { in0, out0 }; }' 2>/dev/null"))
        GTEST_SKIP() << "this kernel has no flowtables";
    read(kNftables);
    ASSERT_EQ(state_.nftChains.size(), 1u);
    EXPECT_EQ(state_.nftChains[0].hook, "flowtable");
    EXPECT_THAT(state_.nftChains[0].devices, ::testing::UnorderedElementsAre("in0", "out0"));
}

TEST_F(IntrospectTest, IptablesOfTheNftKindAreChainsOfNftables) {
    run("iptables-nft -A FORWARD -s 10.0.0.0/8 -j DROP");
    read(kNftables);
    ASSERT_EQ(state_.nftChains.size(), 1u);
    EXPECT_EQ(state_.nftChains[0].family, "ip");
    EXPECT_EQ(state_.nftChains[0].hook, "forward");
    EXPECT_EQ(state_.nftChains[0].rules, 1u);
    EXPECT_FALSE(state_.nftChains[0].drops);
}

TEST_F(IntrospectTest, CapturesOnOneInterfaceAndOnAll) {
    read(kLinks);
    EXPECT_FALSE(link("in0").packetSocket);
    EXPECT_FALSE(state_.packetSocketAll);
    Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(::if_nametoindex("in0"));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    read(kLinks);
    EXPECT_TRUE(link("in0").packetSocket);
    EXPECT_FALSE(link("out0").packetSocket);
    const Fd all(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
    read(kLinks);
    EXPECT_TRUE(state_.packetSocketAll);
}

TEST_F(IntrospectTest, AnErrorOfTheKernelCarriesItsText) {
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_flags = 1;  // not allowed in a dump under strict checking
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&header);
    const auto done =
        netlink_->dump({NetlinkProtocol::route, RTM_GETROUTE, 0, Bytes(begin, begin + sizeof(header))}, [](const nlmsghdr&) {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, EINVAL);
    EXPECT_THAT(done.error().message, HasSubstr("("));
    read();  // the socket is as good as before
}

TEST_F(IntrospectTest, NotificationsThatAreLostAreReported) {
    const std::array groups{static_cast<int>(RTNLGRP_IPV4_ROUTE)};
    auto events = openNetlinkEvents(NetlinkProtocol::route, groups, 4096);
    ASSERT_TRUE(events);
    const auto nothing = (*events)->drain([](const nlmsghdr&) {});
    ASSERT_TRUE(nothing);
    EXPECT_EQ(nothing->messages, 0u);
    run("ip route add 10.40.0.0/24 via 10.0.2.2");
    pollfd readable{(*events)->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&readable, 1, 1000), 1);
    std::uint16_t type = 0;
    const auto one = (*events)->drain([&](const nlmsghdr& message) { type = message.nlmsg_type; });
    ASSERT_TRUE(one);
    EXPECT_EQ(one->messages, 1u);
    EXPECT_FALSE(one->overflow);
    EXPECT_EQ(type, RTM_NEWROUTE);
    run("for i in $(seq 1 100); do echo route add 10.50.$i.0/24 via 10.0.2.2; done | ip -batch -");
    const auto many = (*events)->drain([](const nlmsghdr&) {});
    ASSERT_TRUE(many);
    EXPECT_TRUE(many->overflow);
    EXPECT_LT(many->messages, 100u);
    run("ip route add 10.41.0.0/24 via 10.0.2.2");
    const auto after = (*events)->drain([](const nlmsghdr&) {});
    ASSERT_TRUE(after);
    EXPECT_FALSE(after->overflow);
    EXPECT_EQ(after->messages, 1u);
}

class ExplainTest : public IntrospectTest {
protected:
    Explanation explain(const std::string& source, const std::string& destination, std::uint32_t size = 100) {
        read(kEverything & ~kVitals);
        FastPathPlan plan;
        plan.state = 1;
        for (const auto& [ifindex, link] : state_.links) {
            InterfacePlan interface;
            interface.ifindex = ifindex;
            interface.name = link.name;
            interface.hook = Hook::tc;
            interface.shape.ipv4 = interface.shape.ipv6 = 1;
            interface.egressTc = true;
            plan.interfaces.push_back(interface);
        }
        PacketQuery query;
        query.interface = "in0";
        query.source = IpAddress::parse(source);
        query.destination = IpAddress::parse(destination);
        query.size = size;
        auto explanation = explainPacket(query, state_, plan, false, {}, *netlink_);
        EXPECT_TRUE(explanation) << explanation.error().message;
        return explanation ? *explanation : Explanation{};
    }
};

TEST_F(ExplainTest, TheKernelsAnswersInWords) {
    run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
    run("ip neigh add 10.0.2.2 lladdr 02:00:00:00:00:99 dev out0");
    run("ip route add 10.20.0.0/16 via 10.0.2.2 && ip route add blackhole 10.21.0.0/16 && ip route add unreachable 10.22.0.0/16");
    run("ip route add prohibit 10.23.0.0/16");
    const auto fast = explain("10.0.1.5", "10.20.1.1");
    EXPECT_TRUE(fast.fast) << fast.verdict;
    EXPECT_EQ(fast.verdict, "fast: to 10.0.2.2 via out0");
    EXPECT_EQ(fast.nextHopMac, "02:00:00:00:00:99");
    EXPECT_TRUE(explain("", "10.20.1.1").fast);
    EXPECT_THAT(explain("10.0.1.5", "10.0.2.77").verdict, HasSubstr("no-neighbour"));
    EXPECT_THAT(explain("10.0.1.5", "10.0.2.1").verdict, HasSubstr("no-forward"));
    EXPECT_THAT(explain("10.0.1.5", "10.0.2.255").verdict, HasSubstr("no-forward"));
    EXPECT_THAT(explain("10.0.1.5", "10.99.0.1").verdict, HasSubstr("no-forward"));
    EXPECT_THAT(explain("10.0.1.5", "10.21.0.1").verdict, HasSubstr("route-reject"));
    EXPECT_THAT(explain("10.0.1.5", "10.23.0.1").verdict, HasSubstr("route-reject"));
    EXPECT_THAT(explain("10.0.2.1", "10.20.1.1").verdict, HasSubstr("source-address"));
    EXPECT_THAT(explain("10.0.1.5", "224.0.0.5").verdict, HasSubstr("destination-address"));
    EXPECT_THAT(explain("10.0.1.5", "10.20.1.1", 1501).verdict, HasSubstr("too-big"));
    run("sysctl -qw net.ipv4.conf.in0.rp_filter=1");
    EXPECT_THAT(explain("10.0.2.9", "10.20.1.1").verdict, HasSubstr("reverse-path"));
    run("sysctl -qw net.ipv4.ip_forward=0");
    EXPECT_THAT(explain("10.0.1.5", "10.20.1.1").verdict, HasSubstr("no-forward"));
}

TEST_F(ExplainTest, Ipv6) {
    run("sysctl -qw net.ipv6.conf.all.forwarding=1");
    run("ip -6 addr add 2001:db8:1::1/64 dev in0 nodad && ip -6 addr add 2001:db8:2::1/64 dev out0 nodad");
    run("ip neigh add 2001:db8:2::2 lladdr 02:00:00:00:00:99 dev out0");
    run("ip -6 route add 2001:db8:9::/48 via 2001:db8:2::2 && ip -6 route add unreachable 2001:db8:8::/48");
    EXPECT_EQ(explain("2001:db8:1::5", "2001:db8:9::1").verdict, "fast: to 2001:db8:2::2 via out0");
    EXPECT_THAT(explain("2001:db8:1::5", "2001:db8:8::1").verdict, Not(HasSubstr("fast")));
    EXPECT_THAT(explain("2001:db8:1::5", "2001:db8:1::1").verdict, HasSubstr("no-forward"));
    EXPECT_THAT(explain("2001:db8:1::5", "fe80::1").verdict, HasSubstr("destination-address"));
}

}  // namespace
}  // namespace fastlet::linuxfp
