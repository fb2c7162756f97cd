// SPDX-License-Identifier: Apache-2.0
// The program against a real kernel, in a network namespace of its own: with no daemon behind it, it must leave all to Linux.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bpf/abi/fastpath.h"
#include "linuxfp/synth/objects.hpp"

namespace {

constexpr __u32 kLoopback = 1;  // every network namespace has it, with this ifindex

class ForwardXdp : public testing::Test {
protected:
    void SetUp() override {
        if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs CAP_SYS_ADMIN: run as root";
        object_ = bpf_object__open_mem(fastlet::linuxfp::forwardXdpObject().data(), fastlet::linuxfp::forwardXdpObject().size(),
                                       nullptr);
        ASSERT_NE(object_, nullptr);
        auto* rodata = bpf_object__find_map_by_name(object_, ".rodata");
        fl_shape shape{};
        shape.ipv4 = 1;
        ASSERT_EQ(bpf_map__set_initial_value(rodata, &shape, sizeof shape), 0);
        ASSERT_EQ(bpf_object__load(object_), 0);
    }
    void TearDown() override { bpf_object__close(object_); }

    int map(const char* name) { return bpf_object__find_map_fd_by_name(object_, name); }
    void setControl(__u64 deadline, __u32 hold) {
        fl_control control{};
        control.deadline_jiffies = deadline;
        control.hold_all = hold;
        control.tick = 1;
        control.max_len4 = 65535;
        const __u32 key = 0;
        ASSERT_EQ(bpf_map_update_elem(map("fl_control_map"), &key, &control, BPF_ANY), 0);
    }
    void addPort(__u32 ifindex, __u32 flags, std::array<unsigned char, 6> mac) {
        fl_port port{};
        port.ifindex = ifindex;
        port.flags = flags;
        std::memcpy(port.mac, mac.data(), mac.size());
        const __u32 slot = ifindex & (FL_PORTS - 1);
        ASSERT_EQ(bpf_map_update_elem(map("fl_port_map"), &slot, &port, BPF_ANY), 0);
    }

    __u32 forward(std::array<unsigned char, 60>& frame) {
        std::array<unsigned char, 256> out{};
        xdp_md context{};
        context.data_end = static_cast<__u32>(frame.size());
        context.ingress_ifindex = in_;
        LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_out = out.data(),
                    .data_size_in = static_cast<__u32>(frame.size()), .data_size_out = static_cast<__u32>(out.size()),
                    .ctx_in = &context, .ctx_size_in = sizeof context);
        auto* program = bpf_object__find_program_by_name(object_, "fastlet_xdp");
        EXPECT_EQ(bpf_prog_test_run_opts(bpf_program__fd(program), &options), 0);
        std::memcpy(frame.data(), out.data(), frame.size());
        lengthOut_ = options.data_size_out;
        return options.retval;
    }

    void openPort() { addPort(kLoopback, FL_PORT_INGRESS, {}); }
    __u32 run(const std::array<unsigned char, 60>& frame) {
        auto sent = frame;
        const __u32 verdict = forward(sent);
        EXPECT_EQ(sent, frame) << "a packet for Linux was written to";
        return verdict;
    }
    fl_port_stats stats() {
        std::vector<fl_port_stats> perCpu(static_cast<std::size_t>(libbpf_num_possible_cpus()));
        EXPECT_EQ(bpf_map_lookup_elem(map("fl_stats"), &kLoopback, perCpu.data()), 0);
        fl_port_stats sum{};
        for (const auto& one : perCpu) {
            sum.held_packets += one.held_packets;
            for (int i = 0; i < 32; ++i) sum.slow[i] += one.slow[i];
        }
        return sum;
    }

    bpf_object* object_ = nullptr;
    __u32 in_ = kLoopback;  // where forward() lets the frame come in
    __u32 lengthOut_ = 0;   // of the frame after the last forward()
    std::array<unsigned char, 60> frame_{};
};

TEST_F(ForwardXdp, AStaleHeartbeatLeavesEverythingToLinux) {
    openPort();
    setControl(0, 0);
    EXPECT_EQ(run(frame_), static_cast<__u32>(XDP_PASS));
    EXPECT_EQ(stats().held_packets, 1U);
}

TEST_F(ForwardXdp, AHoldLeavesEverythingToLinux) {
    openPort();
    setControl(~0ULL, 1);
    EXPECT_EQ(run(frame_), static_cast<__u32>(XDP_PASS));
    EXPECT_EQ(stats().held_packets, 1U);
}

TEST_F(ForwardXdp, WhatIsNotIpIsCountedByItsReason) {
    openPort();
    setControl(~0ULL, 0);
    EXPECT_EQ(run(frame_), static_cast<__u32>(XDP_PASS));
    EXPECT_EQ(stats().held_packets, 0U);
    EXPECT_EQ(stats().slow[FL_REASON_NOT_IP], 1U);
}

TEST_F(ForwardXdp, ABrokenIpHeaderIsLinuxs) {
    openPort();
    setControl(~0ULL, 0);
    frame_[12] = 0x08;  // IPv4, and a version nibble of 0
    EXPECT_EQ(run(frame_), static_cast<__u32>(XDP_PASS));
    EXPECT_EQ(stats().slow[FL_REASON_IP_HEADER], 1U);
}

// A plain router of two veth pairs, one packet from in0 to a resolved next hop behind out0.
class ForwardXdpRouter : public ForwardXdp {
protected:
    void SetUp() override {
        ForwardXdp::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        ASSERT_EQ(std::system("ip link add in0 address 02:00:00:00:01:01 type veth peer name in1 &&"
                              "ip link add out0 address 02:00:00:00:02:01 type veth peer name out1 &&"
                              "for i in in0 in1 out0 out1; do ip link set $i up || exit 1; done &&"
                              "ip addr add 10.0.1.1/24 dev in0 && ip addr add 10.0.2.1/24 dev out0 &&"
                              "ip neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev out0 nud permanent &&"
                              "echo 1 > /proc/sys/net/ipv4/ip_forward"),
                  0);
        in_ = if_nametoindex("in0");
        out_ = if_nametoindex("out0");
        addPort(in_, FL_PORT_INGRESS, {2, 0, 0, 0, 1, 1});
        addPort(out_, FL_PORT_EGRESS_XDP, {2, 0, 0, 0, 2, 1});
        ASSERT_EQ(bpf_map_update_elem(map("fl_devices"), &out_, &out_, BPF_ANY), 0);
        setControl(~0ULL, 0);
    }

    // 10.0.1.2 -> 10.0.2.2, UDP, `length` bytes of IP in a frame of 60, the checksum as RFC 1071 says.
    static std::array<unsigned char, 60> packet(unsigned char ttl, unsigned char length = 46) {
        std::array<unsigned char, 60> frame{2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2, 8, 0, 0x45, 0, 0, length, 0, 0, 0, 0, ttl, 17};
        const std::array<unsigned char, 8> addresses{10, 0, 1, 2, 10, 0, 2, 2};
        std::copy(addresses.begin(), addresses.end(), frame.begin() + 26);
        const unsigned sum = static_cast<unsigned>(~headerSum(frame)) & 0xffffU;
        frame[24] = static_cast<unsigned char>(sum >> 8);
        frame[25] = static_cast<unsigned char>(sum);
        return frame;
    }
    static unsigned headerSum(const std::array<unsigned char, 60>& frame) {
        unsigned sum = 0;
        for (std::size_t i = 14; i < 34; i += 2) sum += static_cast<unsigned>(frame[i]) << 8 | frame[i + 1];
        while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
        return sum;
    }

    __u32 out_ = 0;
};

TEST_F(ForwardXdpRouter, ForwardsAfterLinuxHasSeenOnePacketOfTheNextHop) {
    auto sampled = packet(64);
    EXPECT_EQ(forward(sampled), static_cast<__u32>(XDP_PASS));
    EXPECT_EQ(sampled, packet(64)) << "a packet for Linux was written to";
    auto frame = packet(64);
    ASSERT_EQ(forward(frame), static_cast<__u32>(XDP_REDIRECT));
    auto expected = packet(63);
    const std::array<unsigned char, 12> macs{2, 0, 0, 0, 2, 2, 2, 0, 0, 0, 2, 1};
    std::copy(macs.begin(), macs.end(), expected.begin());
    EXPECT_EQ(frame, expected);
}

TEST_F(ForwardXdpRouter, TrimsEthernetPaddingAsLinuxDoes) {
    auto warmUp = packet(64);
    forward(warmUp);
    auto frame = packet(64, 28);
    ASSERT_EQ(forward(frame), static_cast<__u32>(XDP_REDIRECT));
    EXPECT_EQ(lengthOut_, 14U + 28U);
    EXPECT_EQ(headerSum(frame), 0xffffU);
}

TEST_F(ForwardXdpRouter, WhatLinuxWouldTreatOtherwiseIsUntouched) {
    auto warmUp = packet(64);
    forward(warmUp);
    const auto staysWithLinux = [this](std::array<unsigned char, 60> frame, const char* what) {
        auto sent = frame;
        EXPECT_EQ(forward(sent), static_cast<__u32>(XDP_PASS)) << what;
        EXPECT_EQ(sent, frame) << what;
    };
    staysWithLinux(packet(1), "TTL used up");
    auto frame = packet(64);
    frame[24] ^= 1;
    staysWithLinux(frame, "header checksum wrong");
    frame = packet(64);
    frame[5] = 9;
    staysWithLinux(frame, "not addressed to us");
    ASSERT_EQ(std::system("ip route add blackhole 10.0.2.2/32"), 0);
    staysWithLinux(packet(64), "blackhole route added, effective at once");
    ASSERT_EQ(std::system("ip route del blackhole 10.0.2.2/32 && ip neigh del 10.0.2.2 dev out0"), 0);
    staysWithLinux(packet(64), "next hop not resolved");
}

}  // namespace
