// SPDX-License-Identifier: Apache-2.0
// A router of veth pairs in a network namespace of its own, and a fast path program that is run on frames without being attached.
#pragma once

#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bpf/abi/fastpath.h"
#include "tests/netns/bpf/packets.hpp"

namespace fastlet::fastpath {

enum class On { xdp, tc };

/// What a program did with a frame.
struct Verdict {
    bool forwarded = false;
    fl_reason reason = FL_REASON_UNSPEC;  ///< of a frame that was left to Linux
    Bytes frame;
    std::uint32_t priority = 0;  ///< tc: of the packet afterwards
};

/// What a packet carries on tc besides its bytes.
struct Extra {
    std::uint32_t mark = 0;
    std::uint32_t gsoSize = 0;
    std::uint32_t priority = 0;
};

/// in0 (02:..:01:01, 10.0.1.1/24, 2001:db8:1::1/64) -> out0 (02:..:02:01, 10.0.2.1/24, 2001:db8:2::1/64) with a resolved host ::2
/// or .2 (02:..:02:02), and out2 likewise with 3 in place of 2. Each case runs in a process of its own.
class Router : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    static fl_shape plainShape();
    void load(On hook, const fl_shape& shape = plainShape());
    void control(std::uint64_t deadline = ~0ULL, std::uint32_t hold = 0, std::uint32_t maxLength = 65535);
    void port(const std::string& name, std::uint32_t flags, std::uint32_t hold = 0);
    void own(const std::string& address4);
    static void sh(const std::string& commands);

    Verdict runOnce(const Bytes& frame, const Extra& extra = {});
    /// The same, but a frame that was only sampled for the neighbour's sake is sent again.
    Verdict run(const Bytes& frame, const Extra& extra = {});
    fl_port_stats stats();

    template <class Packet>
    void forwards(const Packet& sent, const char* what, const Extra& extra = {}, const char* to = "02:00:00:00:02:02",
                  const char* from = "02:00:00:00:02:01") {
        const auto verdict = run(frame(sent), extra);
        ASSERT_TRUE(verdict.forwarded) << what << ": " << reasonName(verdict.reason);
        EXPECT_EQ(verdict.frame, frame(asForwarded(sent, to, from))) << what;
    }
    void refuses(const Bytes& sent, fl_reason why, const char* what, const Extra& extra = {});
    template <class Packet>
    void refuses(const Packet& sent, fl_reason why, const char* what, const Extra& extra = {}) {
        refuses(frame(sent), why, what, extra);
    }

    static Packet4 asForwarded(Packet4 packet, const char* to, const char* from);
    static Packet6 asForwarded(Packet6 packet, const char* to, const char* from);
    static std::string reasonName(fl_reason reason);

    On hook_ = On::xdp;

private:
    [[nodiscard]] int map(const char* name) const { return bpf_object__find_map_fd_by_name(object_, name); }

    bpf_object* object_ = nullptr;
    std::uint32_t in_ = 0;
};

class OnBothHooks : public Router, public testing::WithParamInterface<On> {
protected:
    void SetUp() override {
        Router::SetUp();
        hook_ = GetParam();
    }
};

inline std::string hookName(const testing::TestParamInfo<On>& info) { return info.param == On::xdp ? "xdp" : "tc"; }

#define FASTLET_ON_BOTH_HOOKS(suite) \
    INSTANTIATE_TEST_SUITE_P(Hook, suite, testing::Values(fastlet::fastpath::On::xdp, fastlet::fastpath::On::tc), hookName)

}  // namespace fastlet::fastpath
