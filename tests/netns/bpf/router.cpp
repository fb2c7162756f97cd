// SPDX-License-Identifier: Apache-2.0
#include "tests/netns/bpf/router.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "linuxfp/synth/objects.hpp"

namespace fastlet::fastpath {
namespace {

constexpr std::array<const char*, FL_REASON_COUNT> kNames = {
#define FL_NAME(id, name, text) name,
    FL_REASONS(FL_NAME)
#undef FL_NAME
};

std::array<std::uint8_t, 6> macOf(const std::string& name) {
    return {2, 0, 0, 0, static_cast<std::uint8_t>(name == "in0" ? 1 : name == "out0" ? 2 : 3), 1};
}

}  // namespace

void Router::SetUp() {
    if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs CAP_SYS_ADMIN: run as root";
    std::string commands = "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding;";
    for (const auto& [name, peer, n] : {std::array{"in0", "in1", "1"}, {"out0", "out1", "2"}, {"out2", "out3", "3"}}) {
        const std::string dev = name, number = n;
        commands += "ip link add " + dev + " address 02:00:00:00:0" + number + ":01 type veth peer name " + peer +
                    " && ip link set " + dev + " up && ip link set " + peer + " up && ip addr add 10.0." + number + ".1/24 dev " +
                    dev + " && ip addr add 2001:db8:" + number + "::1/64 dev " + dev + " nodad && ";
        for (const std::string& host : {"10.0." + number + ".2", "2001:db8:" + number + "::2"})
            commands += "ip neigh add " + host + " lladdr 02:00:00:00:0" + number + ":02 dev " + dev + " nud permanent && ";
    }
    sh(commands + "true");
    in_ = if_nametoindex("in0");
}

void Router::TearDown() { bpf_object__close(object_); }

void Router::sh(const std::string& commands) { ASSERT_EQ(std::system(commands.c_str()), 0) << commands; }

fl_shape Router::plainShape() {
    fl_shape shape{};
    shape.ipv4 = 1;
    shape.ipv6 = 1;
    return shape;
}

void Router::load(On hook, const fl_shape& shape) {
    hook_ = hook;
    bpf_object__close(object_);
    const auto bytes = hook == On::xdp ? linuxfp::forwardXdpObject() : linuxfp::forwardTcObject();
    object_ = bpf_object__open_mem(bytes.data(), bytes.size(), nullptr);
    ASSERT_NE(object_, nullptr);
    ASSERT_EQ(bpf_map__set_initial_value(bpf_object__find_map_by_name(object_, ".rodata"), &shape, sizeof shape), 0);
    ASSERT_EQ(bpf_object__load(object_), 0);
    port("in0", FL_PORT_INGRESS);
    for (const char* name : {"out0", "out2"}) port(name, hook == On::xdp ? FL_PORT_EGRESS_XDP : FL_PORT_EGRESS_TC);
    control();
}

void Router::control(std::uint64_t deadline, std::uint32_t hold, std::uint32_t maxLength) {
    fl_control control{};
    control.deadline_jiffies = deadline;
    control.hold_all = hold;
    control.tick = 1;
    control.max_len4 = maxLength;
    control.max_len6 = maxLength;
    const std::uint32_t key = 0;
    ASSERT_EQ(bpf_map_update_elem(map("fl_control_map"), &key, &control, BPF_ANY), 0);
}

void Router::port(const std::string& name, std::uint32_t flags, std::uint32_t hold) {
    fl_port port{};
    port.ifindex = if_nametoindex(name.c_str());
    ASSERT_NE(port.ifindex, 0U) << name;
    port.flags = flags;
    port.hold = hold;
    const auto mac = macOf(name);
    std::memcpy(port.mac, mac.data(), mac.size());
    const std::uint32_t slot = port.ifindex & (FL_PORTS - 1);
    ASSERT_EQ(bpf_map_update_elem(map("fl_port_map"), &slot, &port, BPF_ANY), 0);
    if (flags & FL_PORT_EGRESS_XDP) {
        ASSERT_EQ(bpf_map_update_elem(map("fl_devices"), &slot, &port.ifindex, BPF_ANY), 0);
    }
}

void Router::own(const std::string& address4) {
    std::uint32_t address = 0, present = 1;
    const std::uint32_t zero = 0;
    ASSERT_EQ(inet_pton(AF_INET, address4.c_str(), &address), 1);
    ASSERT_EQ(bpf_map_update_elem(map("fl_local4"), &address, &present, BPF_ANY), 0);
    fl_local_filter filter{};
    ASSERT_EQ(bpf_map_lookup_elem(map("fl_local_map"), &zero, &filter), 0);
    const std::uint32_t hash = FL_LOCAL4_HASH(address);
    filter.bits[hash >> 5] |= 1U << (hash & 31);
    ASSERT_EQ(bpf_map_update_elem(map("fl_local_map"), &zero, &filter, BPF_ANY), 0);
}

fl_port_stats Router::stats() {
    std::vector<fl_port_stats> perCpu(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t slot = in_ & (FL_PORTS - 1);
    EXPECT_EQ(bpf_map_lookup_elem(map("fl_stats"), &slot, perCpu.data()), 0);
    fl_port_stats sum{};
    for (const auto& one : perCpu) {
        sum.fast4_packets += one.fast4_packets;
        sum.fast6_packets += one.fast6_packets;
        sum.fast_bytes += one.fast_bytes;
        sum.held_packets += one.held_packets;
        for (int i = 0; i < 32; ++i) sum.slow[i] += one.slow[i];
    }
    return sum;
}

Verdict Router::runOnce(const Bytes& frame, const Extra& extra) {
    const auto before = stats();
    Verdict verdict;
    verdict.frame.resize(frame.size() + 64);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_out = verdict.frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()), .data_size_out = static_cast<__u32>(verdict.frame.size()));
    xdp_md xdp{};
    xdp.data_end = static_cast<__u32>(frame.size());
    xdp.ingress_ifindex = in_;
    __sk_buff skb{};
    skb.ifindex = in_;
    skb.mark = extra.mark;
    skb.priority = extra.priority;
    skb.gso_size = extra.gsoSize;
    skb.gso_segs = extra.gsoSize ? 2 : 0;
    if (hook_ == On::xdp) {
        options.ctx_in = &xdp;
        options.ctx_size_in = sizeof xdp;
    } else {
        options.ctx_in = options.ctx_out = &skb;
        options.ctx_size_in = options.ctx_size_out = sizeof skb;
    }
    auto* program = bpf_object__find_program_by_name(object_, hook_ == On::xdp ? "fastlet_xdp" : "fastlet_tc");
    EXPECT_EQ(bpf_prog_test_run_opts(bpf_program__fd(program), &options), 0) << std::strerror(errno);
    verdict.frame.resize(options.data_size_out);
    verdict.priority = skb.priority;
    const auto redirect = hook_ == On::xdp ? static_cast<__u32>(XDP_REDIRECT) : static_cast<__u32>(TC_ACT_REDIRECT);
    const auto pass = hook_ == On::xdp ? static_cast<__u32>(XDP_PASS) : static_cast<__u32>(TC_ACT_UNSPEC);
    verdict.forwarded = options.retval == redirect;
    EXPECT_TRUE(verdict.forwarded || options.retval == pass) << options.retval;
    const auto after = stats();
    for (std::uint32_t i = 0; i < FL_REASON_COUNT; ++i)
        if (after.slow[i] != before.slow[i]) verdict.reason = static_cast<fl_reason>(i);
    return verdict;
}

Verdict Router::run(const Bytes& frame, const Extra& extra) {
    auto verdict = runOnce(frame, extra);
    if (!verdict.forwarded && verdict.reason == FL_REASON_LIVENESS) {
        EXPECT_EQ(verdict.frame, frame) << "a packet for Linux was written to";
        verdict = runOnce(frame, extra);
    }
    return verdict;
}

void Router::refuses(const Bytes& sent, fl_reason why, const char* what, const Extra& extra) {
    const auto verdict = run(sent, extra);
    EXPECT_FALSE(verdict.forwarded) << what;
    EXPECT_EQ(reasonName(verdict.reason), reasonName(why)) << what;
    EXPECT_EQ(verdict.frame, sent) << what << ": a packet for Linux was written to";
}

Packet4 Router::asForwarded(Packet4 packet, const char* to, const char* from) {
    packet.mac = to;
    packet.sender = from;
    --packet.ttl;
    packet.trailer = 0;
    return packet;
}

Packet6 Router::asForwarded(Packet6 packet, const char* to, const char* from) {
    packet.mac = to;
    packet.sender = from;
    --packet.hops;
    packet.trailer = 0;
    return packet;
}

std::string Router::reasonName(fl_reason reason) { return kNames.at(reason); }

}  // namespace fastlet::fastpath
