// SPDX-License-Identifier: Apache-2.0
// IPv4 on both hooks: what is forwarded, byte for byte, and each reason to leave a packet to Linux.
#include "tests/netns/bpf/router.hpp"

namespace fastlet::fastpath {
namespace {

class Forward4 : public OnBothHooks {
protected:
    void SetUp() override {
        OnBothHooks::SetUp();
        if (!IsSkipped()) load(GetParam());
    }
};

TEST_P(Forward4, ForwardsAfterLinuxHasSeenOnePacketOfTheNextHop) {
    const Bytes sent = frame(Packet4{});
    const auto first = runOnce(sent);
    EXPECT_FALSE(first.forwarded);
    EXPECT_EQ(first.reason, FL_REASON_LIVENESS);
    EXPECT_EQ(first.frame, sent);
    forwards(Packet4{}, "plain UDP");
    EXPECT_EQ(stats().fast4_packets, 1U);
    EXPECT_EQ(stats().fast_bytes, sent.size());
}

TEST_P(Forward4, AStaleHeartbeatLeavesEverythingToLinux) {
    control(0);
    EXPECT_FALSE(runOnce(frame(Packet4{})).forwarded);
    EXPECT_EQ(stats().held_packets, 1U);
}

TEST_P(Forward4, HoldsLeaveEverythingToLinux) {
    control(~0ULL, 1);
    EXPECT_FALSE(runOnce(frame(Packet4{})).forwarded);
    control();
    port("in0", FL_PORT_INGRESS, 1);
    EXPECT_FALSE(runOnce(frame(Packet4{})).forwarded);
    EXPECT_EQ(stats().held_packets, 2U);
    port("in0", FL_PORT_INGRESS);
    port("out0", FL_PORT_EGRESS_XDP | FL_PORT_EGRESS_TC, 1);
    refuses(Packet4{}, FL_REASON_EGRESS, "egress on hold");
    port("out0", hook_ == On::xdp ? FL_PORT_EGRESS_TC : FL_PORT_EGRESS_XDP);
    refuses(Packet4{}, FL_REASON_EGRESS, "egress open to the other hook only");
}

TEST_P(Forward4, EveryTtlKeepsTheHeaderChecksumRight) {
    for (unsigned ttl = 2; ttl < 256; ++ttl) forwards(Packet4{.ttl = static_cast<std::uint8_t>(ttl)}, "TTL");
}

TEST_P(Forward4, WhatTheHeaderSays) {
    refuses(Packet4{.ttl = 1}, FL_REASON_TTL, "TTL 1");
    refuses(Packet4{.ttl = 0}, FL_REASON_TTL, "TTL 0");
    refuses(Packet4{.versionAndLength = 0x55}, FL_REASON_IP_HEADER, "version 5");
    refuses(Packet4{.versionAndLength = 0x44}, FL_REASON_IP_HEADER, "header of 16 bytes");
    refuses(Packet4{.versionAndLength = 0x46}, FL_REASON_IP_OPTIONS, "options");
    refuses(Packet4{.checksumError = 0x0100}, FL_REASON_IP_CHECKSUM, "checksum");
    refuses(Packet4{.lengthError = 1}, FL_REASON_TRUNCATED, "longer than the frame");
    refuses(Packet4{.payload = {}, .lengthError = -1}, FL_REASON_TRUNCATED, "shorter than its header");
    auto cut = frame(Packet4{});
    cut.resize(kEthernet + 19);
    if (hook_ == On::xdp)
        refuses(cut, FL_REASON_TRUNCATED, "cut inside the header");  // on tc the kernel's test run takes no such frame
    refuses(Packet4{.mac = "02:00:00:00:09:09"}, FL_REASON_NOT_OURS, "to another host");
    refuses(Packet4{.mac = "ff:ff:ff:ff:ff:ff"}, FL_REASON_NOT_OURS, "broadcast frame");
    auto arp = frame(Packet4{});
    arp[13] = 0x06;
    refuses(arp, FL_REASON_NOT_IP, "ARP");
}

TEST_P(Forward4, Addresses) {
    for (const char* source : {"0.0.0.1", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"})
        refuses(Packet4{.source = source}, FL_REASON_SOURCE, source);
    for (const char* destination : {"0.0.0.1", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"})
        refuses(Packet4{.destination = destination}, FL_REASON_DESTINATION, destination);
    own("10.0.2.1");
    refuses(Packet4{.source = "10.0.2.1"}, FL_REASON_SOURCE, "own address as source");
    refuses(Packet4{.destination = "10.0.2.1"}, FL_REASON_NO_FORWARD, "to us");
    refuses(Packet4{.destination = "10.0.2.255"}, FL_REASON_NO_FORWARD, "broadcast of the egress network");
    refuses(Packet4{.destination = "10.99.0.1"}, FL_REASON_NO_FORWARD, "no route");
    refuses(Packet4{.destination = "10.0.2.77"}, FL_REASON_NO_NEIGHBOUR, "not resolved");
    refuses(Packet4{.destination = "10.0.1.2"}, FL_REASON_SAME_INTERFACE, "back where it came from");
}

TEST_P(Forward4, Routes) {
    forwards(Packet4{}, "plain");
    for (const char* type : {"blackhole", "unreachable", "prohibit"}) {
        sh(std::string("ip route add ") + type + " 10.0.2.2/32");
        refuses(Packet4{}, FL_REASON_ROUTE_REJECT, type);
        sh(std::string("ip route del ") + type + " 10.0.2.2/32");
    }
    sh("ip route add 10.8.0.0/16 via 10.0.3.2");
    forwards(Packet4{.destination = "10.8.1.1"}, "through a gateway", {}, "02:00:00:00:03:02", "02:00:00:00:03:01");
    sh("ip route add 10.9.0.0/16 via inet6 2001:db8:3::2");
    forwards(Packet4{.destination = "10.9.1.1"}, "through an IPv6 gateway", {}, "02:00:00:00:03:02", "02:00:00:00:03:01");
    sh("echo 0 > /proc/sys/net/ipv4/conf/in0/forwarding");
    refuses(Packet4{}, FL_REASON_NO_FORWARD, "forwarding is off");
}

TEST_P(Forward4, Lengths) {
    sh("ip link set out0 mtu 1000");
    forwards(Packet4{.payload = Packet4::udp(1, 2, 3, 972)}, "as long as the MTU");
    refuses(Packet4{.payload = Packet4::udp(1, 2, 3, 973)}, FL_REASON_TOO_BIG, "a byte too long");
    control(~0ULL, 0, 500);
    forwards(Packet4{.payload = Packet4::udp(1, 2, 3, 472)}, "as long as the smallest mtu metric");
    refuses(Packet4{.payload = Packet4::udp(1, 2, 3, 473)}, FL_REASON_TOO_BIG, "a byte longer");
}

TEST_P(Forward4, FragmentsAndOtherProtocolsAreForwarded) {
    forwards(Packet4{.fragment = 0x2000}, "first fragment");
    forwards(Packet4{.fragment = 0x0010}, "last fragment");
    forwards(Packet4{.fragment = 0x4000}, "DF");
    for (const std::uint8_t protocol : {1, 4, 6, 41, 47, 50, 132, 255}) forwards(Packet4{.protocol = protocol}, "protocol");
    forwards(Packet4{.tos = 0xb8}, "DSCP EF");
}

TEST_P(Forward4, BytesBeyondTheIpLength) {
    const Packet4 padded{.payload = Packet4::udp(1, 2, 3, 0), .trailer = 18};
    if (hook_ == On::xdp)
        forwards(padded, "Ethernet padding is trimmed");
    else
        refuses(padded, FL_REASON_TRAILER, "Ethernet padding");
}

TEST_P(Forward4, AShapeWithoutTheFamilyLeavesItToLinux) {
    auto shape = plainShape();
    shape.ipv4 = 0;
    load(GetParam(), shape);
    refuses(Packet4{}, FL_REASON_FAMILY_OFF, "IPv4 is off");
}

FASTLET_ON_BOTH_HOOKS(Forward4);

}  // namespace
}  // namespace fastlet::fastpath
