// SPDX-License-Identifier: Apache-2.0
// Among several next hops the program must choose the one that Linux chooses: the same frames go through both.
#include <fmt/format.h>

#include <random>
#include <set>

#include "tests/netns/bpf/router.hpp"
#include "tests/netns/bpf/wire.hpp"

namespace fastlet::fastpath {
namespace {

constexpr int kFlows = 256;

class Multipath : public OnBothHooks {
protected:
    void SetUp() override {
        OnBothHooks::SetUp();
        if (IsSkipped()) return;
        sh("ip route add 10.8.0.0/16 nexthop via 10.0.2.2 weight 1 nexthop via 10.0.3.2 weight 2 &&"
           "ip -6 route add 2001:db8:8::/48 nexthop via 2001:db8:2::2 weight 1 nexthop via 2001:db8:3::2 weight 2 &&"
           "ip route add 10.0.0.0/8 via 10.0.1.2 && ip -6 route add 2001:db8::/32 via 2001:db8:1::2");
    }
    void policy(std::uint8_t value) {
        for (const char* family : {"ipv4/fib_multipath_hash_policy", "ipv6/fib_multipath_hash_policy"})
            sh(fmt::format("echo {} > /proc/sys/net/{}", value, family));
        auto shape = plainShape();
        shape.multipath4 = shape.multipath6 = static_cast<std::uint8_t>(value + 1);
        load(GetParam(), shape);
    }
    unsigned random(unsigned below) { return static_cast<unsigned>(random_() % below); }

    // A payload of the protocol that ends with a marker of its own.
    Bytes payload(std::uint8_t protocol) {
        const auto from = static_cast<std::uint16_t>(1024 + random(60000)), to = static_cast<std::uint16_t>(1 + random(60000));
        Bytes bytes = protocol == kTcp ? tcp(from, to, 7, 16) : Packet4::udp(from, to, 7, 16);
        if (protocol == kIcmp) bytes = icmp(8);
        if (protocol == kIcmp6) bytes = icmp(128);
        for (std::size_t i = 1; i <= 4; ++i)
            bytes[bytes.size() - i] = static_cast<std::uint8_t>(++marker_ * 31 + i * random(256));
        return bytes;
    }
    Packet4 flow4() {
        static constexpr std::array kProtocols{kTcp, kUdp, kIcmp};
        Packet4 packet{.source = fmt::format("10.{}.{}.{}", 100 + random(100), random(256), random(256)),
                       .destination = fmt::format("10.8.{}.{}", random(256), 1 + random(254)),
                       .protocol = kProtocols[random(3)]};
        packet.payload = payload(packet.protocol);
        return packet;
    }
    Packet6 flow6() {
        static constexpr std::array kProtocols{kTcp, kUdp, kIcmp6};
        Packet6 packet{.source = fmt::format("2001:db8:77:{:x}::{:x}", random(65536), 1 + random(65535)),
                       .destination = fmt::format("2001:db8:8:{:x}::{:x}", random(65536), 1 + random(65535)),
                       .next = kProtocols[random(3)],
                       .trafficClass = static_cast<std::uint8_t>(random(64) << 2),
                       .label = random(1 << 20)};
        packet.payload = payload(packet.next);
        return packet;
    }
    template <class Flow>
    void sameChoice(Flow flow) {
        Wire wire;
        std::set<Bytes> macs;
        for (int i = 0; i < kFlows; ++i) {
            const Bytes sent = frame(flow());
            const auto verdict = run(sent);
            ASSERT_TRUE(verdict.forwarded) << reasonName(verdict.reason);
            ASSERT_EQ(verdict.frame, wire.through(sent)) << "flow " << i;
            macs.insert(Bytes(verdict.frame.begin(), verdict.frame.begin() + 6));
        }
        EXPECT_EQ(macs.size(), 2U) << "one of the next hops was never chosen";
    }

private:
    std::mt19937 random_{20240229};
    unsigned marker_ = 0;
};

TEST_P(Multipath, AddressesChoose4) {
    policy(0);
    sameChoice([this] { return flow4(); });
}

TEST_P(Multipath, AddressesAndLabelChoose6) {
    policy(0);
    sameChoice([this] { return flow6(); });
}

TEST_P(Multipath, NexthopObjects) {
    policy(0);
    sh("ip nexthop add id 1 via 10.0.2.2 dev out0 && ip nexthop add id 2 via 10.0.3.2 dev out2 &&"
       "ip nexthop add id 10 group 1/2,3 && ip route replace 10.8.0.0/16 nhid 10");
    sameChoice([this] { return flow4(); });
}

TEST_P(Multipath, PortsChoose) {
    policy(1);
    if (GetParam() == On::xdp) {
        refuses(flow4(), FL_REASON_MULTIPATH, "XDP cannot see a hash that the packet may bring along");
        refuses(flow6(), FL_REASON_MULTIPATH, "the same");
        return;
    }
    sameChoice([this] { return flow4(); });
    sameChoice([this] { return flow6(); });
    refuses(Packet4{.destination = "10.8.0.1", .fragment = 0x2000}, FL_REASON_MULTIPATH, "first fragment");
    refuses(Packet4{.destination = "10.8.0.1", .fragment = 1}, FL_REASON_MULTIPATH, "later fragment");
    refuses(Packet4{.destination = "10.8.0.1", .protocol = 47}, FL_REASON_MULTIPATH, "GRE");
    refuses(Packet6{.destination = "2001:db8:8::1", .next = 50}, FL_REASON_MULTIPATH, "ESP");
    refuses(Packet4{.destination = "10.8.0.1", .payload = Bytes(3)}, FL_REASON_MULTIPATH, "ports cut off");
}

TEST_P(Multipath, IcmpErrorsAreHashedByThePacketInside) {
    policy(0);
    for (const std::uint8_t type : {3, 4, 5, 11, 12})
        refuses(Packet4{.destination = "10.8.0.1", .protocol = kIcmp, .payload = icmp(type)}, FL_REASON_MULTIPATH, "ICMP error");
    for (const std::uint8_t type : {1, 2, 3, 4})
        refuses(Packet6{.destination = "2001:db8:8::1", .next = kIcmp6, .payload = icmp(type)}, FL_REASON_MULTIPATH,
                "ICMPv6 error");
    refuses(Packet4{.destination = "10.8.0.1", .protocol = kIcmp, .payload = {}}, FL_REASON_MULTIPATH, "no ICMP header");
    const Packet4 later{.source = "10.0.1.2", .destination = "10.0.2.2", .protocol = kIcmp, .fragment = 1, .payload = icmp(3)};
    forwards(later, "a later fragment, whose first bytes are no ICMP header");
}

TEST_P(Multipath, OwnAddressesAsSourceAreLinuxsEvenWhenAccepted) {
    auto shape = plainShape();
    shape.multipath4 = 1;
    shape.accept_local = 1;
    load(GetParam(), shape);
    own("10.0.2.1");
    refuses(Packet4{.source = "10.0.2.1"}, FL_REASON_SOURCE, "the helper would prefer that address's next hop");
    shape.multipath4 = 0;
    load(GetParam(), shape);
    own("10.0.2.1");
    forwards(Packet4{.source = "10.0.2.1"}, "accept_local");
}

FASTLET_ON_BOTH_HOOKS(Multipath);

}  // namespace
}  // namespace fastlet::fastpath
