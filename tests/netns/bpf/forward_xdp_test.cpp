// SPDX-License-Identifier: Apache-2.0
// The program against a real kernel, in a network namespace of its own: with no daemon behind it, it must leave all to Linux.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sched.h>

#include <array>
#include <cstring>
#include <vector>

#include "bpf/abi/fastpath.h"

namespace {

constexpr __u32 kLoopback = 1;  // BPF_PROG_TEST_RUN without a context runs as if on the namespace's loopback

class ForwardXdp : public testing::Test {
protected:
    void SetUp() override {
        if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs CAP_SYS_ADMIN: run as root";
        object_ = bpf_object__open_file(FASTLET_FORWARD_XDP_OBJECT, nullptr);
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
        const __u32 key = 0;
        ASSERT_EQ(bpf_map_update_elem(map("fl_control_map"), &key, &control, BPF_ANY), 0);
    }
    void openPort() {
        fl_port port{};
        port.ifindex = kLoopback;
        port.flags = FL_PORT_INGRESS;
        ASSERT_EQ(bpf_map_update_elem(map("fl_port_map"), &kLoopback, &port, BPF_ANY), 0);
    }
    __u32 run(std::array<unsigned char, 60>& frame) {
        std::array<unsigned char, 256> out{};
        LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_out = out.data(),
                    .data_size_in = static_cast<__u32>(frame.size()), .data_size_out = static_cast<__u32>(out.size()));
        auto* program = bpf_object__find_program_by_name(object_, "fastlet_xdp");
        EXPECT_EQ(bpf_prog_test_run_opts(bpf_program__fd(program), &options), 0);
        EXPECT_EQ(std::memcmp(out.data(), frame.data(), frame.size()), 0) << "a packet for Linux was written to";
        return options.retval;
    }
    fl_port_stats stats() {
        std::vector<fl_port_stats> perCpu(static_cast<std::size_t>(libbpf_num_possible_cpus()));
        EXPECT_EQ(bpf_map_lookup_elem(map("fl_stats"), &kLoopback, perCpu.data()), 0);
        fl_port_stats sum{};
        for (const auto& one : perCpu) {
            sum.held_packets += one.held_packets;
            sum.fast4_packets += one.fast4_packets;
            for (int i = 0; i < 32; ++i) sum.slow[i] += one.slow[i];
        }
        return sum;
    }

    bpf_object* object_ = nullptr;
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

}  // namespace
