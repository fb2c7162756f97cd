// SPDX-License-Identifier: Apache-2.0
// Checksums and segments that a sender has left to its device.
#include "tests/netns/bpf/router.hpp"

namespace fastlet::fastpath {
namespace {

template <class Packet>
Bytes unfinished(const Packet& packet) {
    Bytes bytes = frame(packet);
    leaveChecksumToDevice(bytes);
    return bytes;
}

class PartialCheck : public Router {
protected:
    void SetUp() override {
        Router::SetUp();
        if (IsSkipped()) return;
        auto shape = plainShape();
        shape.partial_check = 1;
        load(On::xdp, shape);
    }
};

TEST_F(PartialCheck, UnfinishedChecksums4) {
    for (std::uint16_t n = 1; n <= 64; ++n) {
        const auto port = static_cast<std::uint16_t>(n * 991);
        refuses(unfinished(Packet4{.payload = Packet4::udp(port, 53, 0, n)}), FL_REASON_OFFLOAD, "UDP");
        refuses(unfinished(Packet4{.protocol = kTcp, .payload = tcp(port, 80, 0, n)}), FL_REASON_OFFLOAD, "TCP");
    }
    refuses(Packet4{.payload = Packet4::udp(1, 2, 0)}, FL_REASON_OFFLOAD, "UDP without a checksum");
    forwards(Packet4{}, "UDP with another checksum");
    forwards(Packet4{.protocol = kTcp, .payload = tcp(1, 2, 3, 10)}, "TCP with another checksum");
    forwards(Packet4{.protocol = kIcmp, .payload = icmp(8)}, "ICMP");
}

TEST_F(PartialCheck, UnfinishedChecksums6) {
    for (std::uint16_t n = 1; n <= 64; ++n) {
        const auto port = static_cast<std::uint16_t>(n * 991);
        refuses(unfinished(Packet6{.payload = Packet4::udp(port, 53, 0, n)}), FL_REASON_OFFLOAD, "UDP");
        refuses(unfinished(Packet6{.next = kTcp, .payload = tcp(port, 80, 0, n)}), FL_REASON_OFFLOAD, "TCP");
    }
    forwards(Packet6{}, "UDP with another checksum");
    forwards(Packet6{.next = kTcp, .payload = tcp(1, 2, 3, 10)}, "TCP with another checksum");
    forwards(Packet6{.next = kIcmp6, .payload = icmp(128)}, "ICMPv6");
    refuses(Packet6{.next = 132}, FL_REASON_OFFLOAD, "SCTP");
    refuses(Packet6{.payload = Packet4::udp(1000, 4789)}, FL_REASON_TUNNEL_PORT, "tunnel");
}

TEST_F(PartialCheck, WhatCannotBeJudged) {
    for (const std::uint8_t protocol : {4, 41, 47, 50, 132, 136})
        refuses(Packet4{.protocol = protocol}, FL_REASON_OFFLOAD, "other protocols");
    for (const std::uint16_t port : {4789, 8472, 6081})
        refuses(Packet4{.payload = Packet4::udp(1000, port)}, FL_REASON_TUNNEL_PORT, "tunnel");
    forwards(Packet4{.payload = Packet4::udp(4789, 1000)}, "tunnel port as source");
    refuses(Packet4{.payload = Bytes(7)}, FL_REASON_OFFLOAD, "UDP header cut off");
    refuses(Packet4{.protocol = kTcp, .payload = Bytes(19)}, FL_REASON_OFFLOAD, "TCP header cut off");
}

TEST_F(PartialCheck, FragmentsAreComplete) {
    Packet4 fragment{.fragment = 0x2000, .payload = Packet4::udp(1000, 4789, 0)};
    forwards(fragment, "first fragment");
    fragment.fragment = 0x2001;
    forwards(fragment, "later fragment, whose first bytes are no header");
}

class Segments : public Router {
protected:
    void SetUp() override {
        Router::SetUp();
        if (!IsSkipped()) load(On::tc);
    }
};

TEST_F(Segments, TcpSuperFramesAreJudgedByTheirSegments) {
    const Packet4 big{.protocol = kTcp, .payload = tcp(1, 2, 3, 3000)};
    forwards(big, "segments as long as the MTU", {.gsoSize = 1460});
    refuses(big, FL_REASON_TOO_BIG, "segments a byte too long", {.gsoSize = 1461});
    refuses(big, FL_REASON_TOO_BIG, "one packet");
    control(~0ULL, 0, 1400);
    forwards(big, "segments as long as the mtu metric", {.gsoSize = 1360});
    refuses(big, FL_REASON_TOO_BIG, "segments longer than the mtu metric", {.gsoSize = 1361});
}

TEST_F(Segments, TcpSuperFrames6) {
    const Packet6 big{.next = kTcp, .payload = tcp(1, 2, 3, 3000)};
    forwards(big, "segments as long as the MTU", {.gsoSize = 1440});
    refuses(big, FL_REASON_TOO_BIG, "segments a byte too long", {.gsoSize = 1441});
    refuses(Packet6{.payload = Packet4::udp(1, 2, 3, 2000)}, FL_REASON_OFFLOAD, "UDP segments", {.gsoSize = 1000});
    refuses(Packet6{}, FL_REASON_MARK, "marked", {.mark = 1});
}

TEST_F(Segments, OthersAreLinuxs) {
    refuses(Packet4{.payload = Packet4::udp(1, 2, 3, 2000)}, FL_REASON_OFFLOAD, "UDP segments", {.gsoSize = 1000});
    refuses(Packet4{.protocol = kTcp, .payload = Bytes(10)}, FL_REASON_OFFLOAD, "TCP header cut off", {.gsoSize = 1000});
    refuses(Packet4{}, FL_REASON_MARK, "marked", {.mark = 1});
}

TEST_F(Segments, PriorityFollowsTheTosOnlyWhenTheKernelWouldSetIt) {
    const auto priority = [this](std::uint8_t tos) { return run(frame(Packet4{.tos = tos}), {.priority = 5}).priority; };
    EXPECT_EQ(priority(0x10), 5U);
    auto shape = plainShape();
    shape.priority_update = 1;
    load(On::tc, shape);
    // rt_tos2priority: the values of enum TC_PRIO_* by the TOS of RFC 1349
    EXPECT_EQ(priority(0x00), 0U);
    EXPECT_EQ(priority(0x08), 2U);
    EXPECT_EQ(priority(0x10), 6U);
    EXPECT_EQ(priority(0x18), 4U);
    EXPECT_EQ(priority(0xe3), 0U);
    EXPECT_EQ(priority(0xb8), 4U);
}

}  // namespace
}  // namespace fastlet::fastpath
