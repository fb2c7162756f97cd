// SPDX-License-Identifier: Apache-2.0
// IPv6 on both hooks: what is forwarded, byte for byte, and each reason to leave a packet to Linux.
#include "tests/netns/bpf/router.hpp"

namespace fastlet::fastpath {
namespace {

class Forward6 : public OnBothHooks {
protected:
    void SetUp() override {
        OnBothHooks::SetUp();
        if (!IsSkipped()) load(GetParam());
    }
};

TEST_P(Forward6, ForwardsAfterLinuxHasSeenOnePacketOfTheNextHop) {
    const Bytes sent = frame(Packet6{});
    const auto first = runOnce(sent);
    EXPECT_FALSE(first.forwarded);
    EXPECT_EQ(first.reason, FL_REASON_LIVENESS);
    EXPECT_EQ(first.frame, sent);
    forwards(Packet6{}, "plain UDP");
    EXPECT_EQ(stats().fast6_packets, 1U);
    EXPECT_EQ(stats().fast4_packets, 0U);
    EXPECT_EQ(stats().fast_bytes, sent.size());
}

TEST_P(Forward6, WhatTheHeaderSays) {
    refuses(Packet6{.hops = 1}, FL_REASON_TTL, "hop limit 1");
    refuses(Packet6{.hops = 0}, FL_REASON_TTL, "hop limit 0");
    forwards(Packet6{.hops = 2}, "hop limit 2");
    forwards(Packet6{.hops = 255}, "hop limit 255");
    forwards(Packet6{.trafficClass = 0xb8, .label = 0xabcde}, "traffic class and flow label");
    refuses(Packet6{.version = 4}, FL_REASON_IP_HEADER, "version 4");
    refuses(Packet6{.payload = {}}, FL_REASON_IP_HEADER, "no payload");
    refuses(Packet6{.lengthError = 1}, FL_REASON_TRUNCATED, "longer than the frame");
    auto cut = frame(Packet6{});
    cut.resize(kEthernet + 39);
    if (hook_ == On::xdp)
        refuses(cut, FL_REASON_TRUNCATED, "cut inside the header");  // tc: no such frame in the kernel's test run
    refuses(Packet6{.mac = "02:00:00:00:09:09"}, FL_REASON_NOT_OURS, "to another host");
    refuses(Packet6{.mac = "33:33:00:00:00:01"}, FL_REASON_NOT_OURS, "multicast frame");
}

TEST_P(Forward6, NextHeaders) {
    for (const std::uint8_t next : {0, 43, 44, 51, 59, 60, 135, 139, 140, 253, 254})
        refuses(Packet6{.next = next}, FL_REASON_EXT_HEADER, std::to_string(next).c_str());
    for (const std::uint8_t next : {4, 6, 17, 33, 41, 47, 50, 58, 132, 136, 200})
        forwards(Packet6{.next = next}, std::to_string(next).c_str());
}

TEST_P(Forward6, Addresses) {
    for (const char* address :
         {"::", "::1", "::ffff:10.0.1.2", "::10.0.1.2", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1"}) {
        refuses(Packet6{.source = address}, FL_REASON_SOURCE, address);
        refuses(Packet6{.destination = address}, FL_REASON_DESTINATION, address);
    }
    forwards(Packet6{.source = "64:ff9b::a00:102"}, "NAT64 source");
    forwards(Packet6{.source = "fd00::1"}, "unique local source");
    forwards(Packet6{.source = "fe00::1"}, "below the link-local range");
    forwards(Packet6{.source = "2001:db8:2::1"}, "own address as source, which Linux forwards too");
    refuses(Packet6{.destination = "2001:db8:2::1"}, FL_REASON_NO_FORWARD, "to us");
    refuses(Packet6{.destination = "2001:db8:2::"}, FL_REASON_NO_FORWARD, "router anycast");
    refuses(Packet6{.destination = "2001:db8:99::1"}, FL_REASON_NO_FORWARD, "no route");
    refuses(Packet6{.destination = "2001:db8:2::77"}, FL_REASON_NO_NEIGHBOUR, "not resolved");
    refuses(Packet6{.destination = "2001:db8:1::2"}, FL_REASON_SAME_INTERFACE, "back where it came from");
}

TEST_P(Forward6, Routes) {
    forwards(Packet6{}, "plain");
    for (const char* type : {"blackhole", "unreachable", "prohibit"}) {
        sh(std::string("ip -6 route add ") + type + " 2001:db8:2::2/128");
        refuses(Packet6{}, FL_REASON_ROUTE_REJECT, type);
        sh(std::string("ip -6 route del ") + type + " 2001:db8:2::2/128");
    }
    sh("ip -6 route add 2001:db8:8::/48 via 2001:db8:3::2");
    forwards(Packet6{.destination = "2001:db8:8::8"}, "through a gateway", {}, "02:00:00:00:03:02", "02:00:00:00:03:01");
    sh("echo 0 > /proc/sys/net/ipv6/conf/in0/forwarding");
    refuses(Packet6{}, FL_REASON_NO_FORWARD, "forwarding is off");
}

TEST_P(Forward6, Lengths) {
    sh("ip link set out0 mtu 1400");
    forwards(Packet6{.payload = Packet4::udp(1, 2, 3, 1352)}, "as long as the MTU");
    refuses(Packet6{.payload = Packet4::udp(1, 2, 3, 1353)}, FL_REASON_TOO_BIG, "a byte too long");
    control(~0ULL, 0, 1300);
    forwards(Packet6{.payload = Packet4::udp(1, 2, 3, 1252)}, "as long as the smallest mtu metric");
    refuses(Packet6{.payload = Packet4::udp(1, 2, 3, 1253)}, FL_REASON_TOO_BIG, "a byte longer");
}

TEST_P(Forward6, BytesBeyondTheIpLength) {
    const Packet6 padded{.payload = Bytes(1, 0x55), .trailer = 5};
    if (hook_ == On::xdp)
        forwards(padded, "Ethernet padding is trimmed");
    else
        refuses(padded, FL_REASON_TRAILER, "Ethernet padding");
}

TEST_P(Forward6, AShapeWithoutTheFamilyLeavesItToLinux) {
    auto shape = plainShape();
    shape.ipv6 = 0;
    load(GetParam(), shape);
    refuses(Packet6{}, FL_REASON_FAMILY_OFF, "IPv6 is off");
    forwards(Packet4{}, "IPv4 is on");
}

FASTLET_ON_BOTH_HOOKS(Forward6);

}  // namespace
}  // namespace fastlet::fastpath
