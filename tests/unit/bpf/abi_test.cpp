// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "bpf/abi/vitals.h"

namespace {

TEST(Abi, ReasonNamesAreUniqueAndFitTheCounters) {
    std::set<std::string> names;
#define FL_COLLECT(id, name, text) names.insert(name);
    FL_REASONS(FL_COLLECT)
#undef FL_COLLECT
    EXPECT_EQ(names.size(), static_cast<std::size_t>(FL_REASON_COUNT));
    EXPECT_LE(FL_REASON_COUNT, sizeof(fl_port_stats::slow) / sizeof(__u64));
}

TEST(Abi, LocalAddressHashStaysInsideTheFilter) {
    for (__u32 address : {0U, 1U, 0xffffffffU, 0x0100000aU, 0x0202000aU}) EXPECT_LT(FL_LOCAL4_HASH(address), FL_LOCAL4_BITS);
}

}  // namespace
