// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/introspect/introspector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netconf.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "tests/fakes/fake_netlink.hpp"

namespace fastlet::linuxfp {
namespace {

using fastlet::testing::FakeNetlink;
using fastlet::testing::netlinkMessage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kRoute = NetlinkProtocol::route;
constexpr std::uint16_t kGetChain = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETCHAIN;
constexpr std::uint16_t kNewChain = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWCHAIN;
constexpr std::uint16_t kNetdevId = 30;

class FakeHooks final : public HookInspector {
public:
    Result<AttachedProgram> program(std::uint32_t id) override {
        if (const auto found = programs.find(id); found != programs.end()) return found->second;
        return Error::fromErrno("program", ENOENT);
    }
    Result<std::vector<AttachedProgram>> tcx(std::uint32_t ifindex, bool ingress) override {
        if (tcxError) return Error::fromErrno("tcx", tcxError);
        return attached[{ifindex, ingress}];
    }
    Result<std::set<std::uint32_t>> rxHandlers() override {
        if (handlersUnreadable) return Error::make("no types");
        return handlers;
    }
    std::set<std::uint32_t> handlers;
    bool handlersUnreadable = false;
    std::map<std::uint32_t, AttachedProgram> programs;
    std::map<std::pair<std::uint32_t, bool>, std::vector<AttachedProgram>> attached;
    int tcxError = 0;
};

Bytes linkMessage(int ifindex, const std::string& name, std::uint32_t xdpProgram = 0) {
    ifinfomsg header{};
    header.ifi_index = ifindex;
    NetlinkWriter payload(header);
    payload.text(IFLA_IFNAME, name);
    NetlinkWriter xdp;
    xdp.number<std::uint8_t>(IFLA_XDP_ATTACHED, XDP_ATTACHED_DRV).number<std::uint32_t>(IFLA_XDP_PROG_ID, xdpProgram);
    if (xdpProgram) payload.nested(IFLA_XDP, xdp);
    return netlinkMessage(RTM_NEWLINK, payload);
}

Bytes qdiscMessage(int ifindex, const std::string& kind, std::uint32_t handle, std::uint32_t parent) {
    tcmsg header{};
    header.tcm_ifindex = ifindex;
    header.tcm_handle = handle;
    header.tcm_parent = parent;
    NetlinkWriter payload(header);
    payload.text(TCA_KIND, kind);
    return netlinkMessage(RTM_NEWQDISC, payload);
}

Bytes bpfFilter(std::uint32_t handle, std::uint32_t program) {
    tcmsg header{};
    header.tcm_handle = handle;
    NetlinkWriter options;
    options.number<std::uint32_t>(TCA_BPF_ID, program).text(TCA_BPF_NAME, "given");
    NetlinkWriter payload(header);
    payload.text(TCA_KIND, "bpf");
    if (handle) payload.nested(TCA_OPTIONS, options);
    return netlinkMessage(RTM_NEWTFILTER, payload);
}

class IntrospectorTest : public ::testing::Test {
protected:
    IntrospectorTest() {
        NetlinkWriter family(genlmsghdr{});
        family.number<std::uint16_t>(CTRL_ATTR_FAMILY_ID, kNetdevId);
        netlink_.set(NetlinkProtocol::generic, GENL_ID_CTRL, {netlinkMessage(GENL_ID_CTRL, family)});
    }

    Status refresh(std::uint32_t categories) {
        Introspector introspector(netlink_, hooks_, [this](const std::string& path) -> Result<std::string> {
            if (const auto found = files_.find(path); found != files_.end()) return found->second;
            return Error::fromErrno(path, ENOENT);
        });
        return introspector.refresh(categories, state_);
    }

    FakeNetlink netlink_;
    FakeHooks hooks_;
    std::map<std::string, std::string> files_;
    NetState state_;
};

TEST_F(IntrospectorTest, AnInterruptedDumpIsRepeatedAndCountsOnce) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0")});
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_table = RT_TABLE_MAIN;
    netlink_.set(kRoute, RTM_GETROUTE, {netlinkMessage(RTM_NEWROUTE, NetlinkWriter(header))});
    netlink_.interrupt(kRoute, RTM_GETLINK, 2);
    netlink_.interrupt(kRoute, RTM_GETROUTE, 1);
    ASSERT_TRUE(refresh(kLinks | kRoutes));
    EXPECT_EQ(netlink_.requests(kRoute, RTM_GETLINK), 3);
    EXPECT_EQ(state_.links.size(), 1u);
    EXPECT_EQ(state_.routes4.count, 1u);
}

TEST_F(IntrospectorTest, AfterManyInterruptionsItGivesUpAndLeavesTheStateAsItWas) {
    state_.number = 7;
    state_.links[9].name = "old0";
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0")});
    netlink_.interrupt(kRoute, RTM_GETRULE, 1000);
    const auto done = refresh(kLinks | kRules);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, EINTR);
    EXPECT_THAT(done.error().message, HasSubstr("policy rules"));
    EXPECT_EQ(state_.links.at(9).name, "old0");
    EXPECT_EQ(state_.number, 7u);
}

TEST_F(IntrospectorTest, OnlyTheNamedCategoriesAreRead) {
    state_.routes4.count = 5;
    ASSERT_TRUE(refresh(kAddresses));
    EXPECT_EQ(netlink_.requests(kRoute, RTM_GETADDR), 2);
    EXPECT_EQ(netlink_.log().size(), 2u);
    EXPECT_EQ(state_.routes4.count, 5u);
}

TEST_F(IntrospectorTest, OwnProgramsAreNotForeign) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0", 11)});
    netlink_.set(kRoute, RTM_GETQDISC, {qdiscMessage(2, "clsact", 0xffff0000, 0xfffffff1)});
    netlink_.handle(kRoute, RTM_GETTFILTER, [](const NetlinkRequest& request) -> Result<std::vector<Bytes>> {
        const auto parent = readStruct<tcmsg>(request.payload).tcm_parent;
        if (parent != TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)) return std::vector<Bytes>{};
        return std::vector<Bytes>{bpfFilter(0, 0), bpfFilter(1, 21), bpfFilter(2, 22), bpfFilter(3, 99)};
    });
    hooks_.programs[11] = {11, "fastlet_xdp", true};
    hooks_.programs[21] = {21, "fastlet_tc", true};
    hooks_.programs[22] = {22, "watcher", false};
    hooks_.attached[{2, true}] = {{31, "fastlet_tc", true}, {32, "cil_from", false}};
    hooks_.attached[{2, false}] = {{33, "", false}};
    ASSERT_TRUE(refresh(kLinks));
    const auto& link = state_.links.at(2);
    EXPECT_TRUE(link.xdp.ours);
    EXPECT_THAT(link.tcIngress, ElementsAre("filter bpf watcher", "filter bpf given", "tcx cil_from"));
    EXPECT_THAT(link.tcEgress, ElementsAre("tcx 33"));
    EXPECT_EQ(link.hookUnknown, 0u);
}

TEST_F(IntrospectorTest, FiltersAreAskedForOnlyWhereTheyCanBe) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0")});
    netlink_.set(kRoute, RTM_GETQDISC,
                 {qdiscMessage(2, "mq", 0, TC_H_ROOT), qdiscMessage(2, "fq_codel", 0, 0x10001),
                  qdiscMessage(2, "noqueue", 0, TC_H_ROOT), qdiscMessage(7, "clsact", 0xffff0000, 0)});
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_EQ(netlink_.requests(kRoute, RTM_GETTFILTER), 0);
    EXPECT_THAT(state_.links.at(2).qdiscs, ElementsAre("mq", "fq_codel", "noqueue"));
    netlink_.set(kRoute, RTM_GETQDISC, {qdiscMessage(2, "fq_codel", 0, TC_H_ROOT)});
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_EQ(netlink_.requests(kRoute, RTM_GETTFILTER), 1);
}

TEST_F(IntrospectorTest, HooksThatCannotBeListedAreSaidAndVanishedInterfacesSkipped) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0")});
    netlink_.set(kRoute, RTM_GETQDISC, {qdiscMessage(2, "clsact", 0xffff0000, 0)});
    netlink_.fail(kRoute, RTM_GETTFILTER, ENODEV, 2);
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_EQ(state_.links.at(2).hookUnknown, 0u);
    netlink_.fail(kRoute, RTM_GETTFILTER, EPERM, 2);
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_EQ(state_.links.at(2).hookUnknown, static_cast<std::uint32_t>(EPERM));
    hooks_.tcxError = EPERM;
    netlink_.set(kRoute, RTM_GETQDISC, {});
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_EQ(state_.links.at(2).hookUnknown, static_cast<std::uint32_t>(EPERM));
}

TEST_F(IntrospectorTest, WhoReceivesByAnInterfaceIsReadWithLinksAndWithSettings) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0"), linkMessage(3, "out0")});
    hooks_.handlers = {3, 9};
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_FALSE(state_.links[2].rxHandler);
    EXPECT_TRUE(state_.links[3].rxHandler);
    EXPECT_EQ(state_.links.size(), 2u);
    hooks_.handlers = {2};
    ASSERT_TRUE(refresh(kConf));
    EXPECT_TRUE(state_.links[2].rxHandler);
    EXPECT_FALSE(state_.links[3].rxHandler);
    EXPECT_THAT(state_.rxHandlersUnreadable, IsEmpty());
    hooks_.handlersUnreadable = true;
    ASSERT_TRUE(refresh(kConf));
    EXPECT_EQ(state_.rxHandlersUnreadable, "no types");
}

TEST_F(IntrospectorTest, XdpFeaturesAreUnknownWithoutTheFamily) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0"), linkMessage(3, "out0")});
    NetlinkWriter device(genlmsghdr{1, 1, 0});
    device.number<std::uint32_t>(1, 2).number<std::uint64_t>(3, 7);
    netlink_.set(NetlinkProtocol::generic, kNetdevId, {netlinkMessage(kNetdevId, device)});
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_TRUE(state_.links.at(2).xdpFeaturesKnown);
    EXPECT_EQ(state_.links.at(2).xdpFeatures, 7u);
    EXPECT_FALSE(state_.links.at(3).xdpFeaturesKnown);
    netlink_.fail(NetlinkProtocol::generic, GENL_ID_CTRL, ENOENT);
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_FALSE(state_.links.at(2).xdpFeaturesKnown);
}

TEST_F(IntrospectorTest, AMissingFamilyIsNoConfiguration) {
    // Without IPv6 the kernel answers the question with everything it has.
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_table = RT_TABLE_MAIN;
    netlink_.set(kRoute, RTM_GETROUTE, {netlinkMessage(RTM_NEWROUTE, NetlinkWriter(header))});
    netlink_.handle(kRoute, RTM_GETRULE, [](const NetlinkRequest& request) -> Result<std::vector<Bytes>> {
        if (request.payload.front() == AF_INET6) return Error::fromErrno("rules", EAFNOSUPPORT);
        return std::vector<Bytes>{};
    });
    ASSERT_TRUE(refresh(kRoutes | kRules));
    EXPECT_EQ(state_.routes4.count, 1u);
    EXPECT_EQ(state_.routes6.count, 0u);
    EXPECT_THAT(state_.rules, IsEmpty());
}

TEST_F(IntrospectorTest, ARuleThatCannotBeReadIsAnError) {
    netlink_.set(kRoute, RTM_GETRULE, {netlinkMessage(RTM_NEWRULE, Bytes{AF_INET, 0, 0})});
    const auto done = refresh(kRules);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, EPROTO);
}

TEST_F(IntrospectorTest, SettingsThatCannotBeReadAreTakenForTheCarefulOnes) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0")});
    netlink_.handle(kRoute, RTM_GETNETCONF, [](const NetlinkRequest& request) -> Result<std::vector<Bytes>> {
        NetlinkWriter conf(netconfmsg{request.payload.front()});
        conf.number<std::int32_t>(NETCONFA_IFINDEX, 2).number<std::int32_t>(NETCONFA_FORWARDING, 1);
        return std::vector<Bytes>{netlinkMessage(RTM_NEWNETCONF, conf)};
    });
    ASSERT_TRUE(refresh(kLinks | kConf));
    EXPECT_TRUE(state_.conf4.at(2).forwarding);
    EXPECT_FALSE(state_.conf4.at(2).acceptLocal);
    EXPECT_FALSE(state_.conf6.at(2).forwarding);
    files_["sys/net/ipv4/conf/in0/accept_local"] = "1\n";
    files_["sys/net/ipv6/conf/in0/disable_ipv6"] = "0\n";
    ASSERT_TRUE(refresh(kConf));
    EXPECT_TRUE(state_.conf4.at(2).acceptLocal);
    EXPECT_TRUE(state_.conf6.at(2).forwarding);
}

TEST_F(IntrospectorTest, WildcardDevicesOfNftablesFollowTheLinks) {
    const std::uint8_t prefix[] = {'e', 't', 'h'};
    NetlinkWriter devices;
    devices.attribute(NFTA_DEVICE_NAME, prefix);
    NetlinkWriter hook;
    hook.number<std::uint32_t>(NFTA_HOOK_HOOKNUM, 0).nested(NFTA_HOOK_DEVS, devices);
    NetlinkWriter chain(nfgenmsg{NFPROTO_NETDEV, 0, 0});
    chain.text(NFTA_CHAIN_NAME, "c").nested(NFTA_CHAIN_HOOK, hook);
    netlink_.set(NetlinkProtocol::netfilter, kGetChain, {netlinkMessage(kNewChain, chain)});
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "eth0"), linkMessage(3, "lan0")});
    ASSERT_TRUE(refresh(kLinks | kNftables));
    EXPECT_THAT(state_.nftChains.at(0).devices, ElementsAre("eth*", "eth0"));
    netlink_.add(kRoute, RTM_GETLINK, linkMessage(4, "eth1"));
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_THAT(state_.nftChains.at(0).devices, ElementsAre("eth*", "eth0", "eth1"));
}

TEST_F(IntrospectorTest, NftablesThatCannotBeListedAreSaidThoseThatAreNotThereAreNone) {
    netlink_.fail(NetlinkProtocol::netfilter, kGetChain, EPERM);
    ASSERT_TRUE(refresh(kNftables));
    EXPECT_NE(state_.nftUnreadable, "");
    netlink_.fail(NetlinkProtocol::netfilter, kGetChain, EINVAL);
    ASSERT_TRUE(refresh(kNftables));
    EXPECT_EQ(state_.nftUnreadable, "");
}

TEST_F(IntrospectorTest, CapturesFromProc) {
    netlink_.set(kRoute, RTM_GETLINK, {linkMessage(2, "in0"), linkMessage(3, "out0")});
    files_["net/packet"] =
        "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n"
        "0000000000000000 3      3    0003   3     1 0      0      100\n";
    ASSERT_TRUE(refresh(kLinks));
    EXPECT_FALSE(state_.links.at(2).packetSocket);
    EXPECT_TRUE(state_.links.at(3).packetSocket);
    EXPECT_FALSE(state_.packetSocketAll);
}

}  // namespace
}  // namespace fastlet::linuxfp
