// SPDX-License-Identifier: Apache-2.0
// Sources that Linux looks up (rp_filter, policy rules): what is forwarded, Linux forwards too, byte for byte.
#include <memory>

#include "tests/netns/bpf/router.hpp"
#include "tests/netns/bpf/wire.hpp"

namespace fastlet::fastpath {
namespace {

class SourceLookup : public OnBothHooks {
protected:
    void SetUp() override {
        OnBothHooks::SetUp();
        if (IsSkipped()) return;
        sh("ip route add 10.5.0.0/16 via 10.0.1.2 && ip route add 10.6.0.0/16 via 10.0.3.2 && ip route add blackhole "
           "10.7.0.0/16");
    }
    void load(std::uint8_t lookup) {
        sh("echo " + std::string(lookup == 2 ? "1" : "2") + " > /proc/sys/net/ipv4/conf/in0/rp_filter");
        auto shape = plainShape();
        shape.source_lookup = lookup;
        Router::load(GetParam(), shape);
    }
    void forwardsAsLinux(const char* source) {
        Packet4 packet{.source = source};
        packet.payload.back() = ++marker_;
        forwards(packet, source);
        if (!wire_) wire_ = std::make_unique<Wire>();
        EXPECT_EQ(run(frame(packet)).frame, wire_->through(frame(packet))) << source;
    }
    void leaves(const char* source) { refuses(Packet4{.source = source}, FL_REASON_REVERSE_PATH, source); }

private:
    std::unique_ptr<Wire> wire_;
    std::uint8_t marker_ = 0;
};

TEST_P(SourceLookup, StrictlyTheRouteMustPointBack) {
    load(2);
    forwardsAsLinux("10.0.1.2");
    forwardsAsLinux("10.0.1.77");
    forwardsAsLinux("10.5.1.1");
    for (const char* source : {"10.6.1.1", "10.0.3.2", "10.7.1.1", "10.99.0.1", "10.0.2.1", "10.0.1.255"}) leaves(source);
}

TEST_P(SourceLookup, LooselyAnyRouteWillDo) {
    load(1);
    forwardsAsLinux("10.5.1.1");
    forwardsAsLinux("10.6.1.1");
    for (const char* source : {"10.7.1.1", "10.99.0.1", "10.0.2.1", "10.0.1.255"}) leaves(source);
}

TEST_P(SourceLookup, RulesSeeTheWayBack) {
    load(2);
    leaves("10.77.1.1");
    sh("ip rule add iif out0 from 10.0.2.2 lookup 77 && ip route add 10.77.0.0/16 via 10.0.1.2 table 77");
    forwardsAsLinux("10.77.1.1");
    sh("ip rule del iif out0 from 10.0.2.2 lookup 77 && ip rule add iif in0 from 10.0.2.2 lookup 77");
    leaves("10.77.1.1");
}

TEST_P(SourceLookup, TheLengthOfTheWayBackDoesNotMatter) {
    load(1);
    sh("ip link set out2 mtu 576");
    Packet4 packet{.source = "10.6.1.1", .payload = Packet4::udp(1, 2, 3, 1200)};
    forwards(packet, "longer than the MTU towards its source");
    sh("echo 0 > /proc/sys/net/ipv4/conf/out0/forwarding");
    refuses(packet, FL_REASON_REVERSE_PATH, "the egress does not forward, and the helper cannot be asked");
}

TEST_P(SourceLookup, Ipv6SourcesAreNotLookedUp) {
    load(2);
    forwards(Packet6{.source = "2001:db8:99::1"}, "no route back");
}

FASTLET_ON_BOTH_HOOKS(SourceLookup);

}  // namespace
}  // namespace fastlet::fastpath
