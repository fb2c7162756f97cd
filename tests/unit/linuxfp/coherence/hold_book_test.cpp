// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/hold_book.hpp"

#include <gtest/gtest.h>

#include <array>

namespace fastlet::linuxfp {
namespace {

class HoldBookTest : public testing::Test {
protected:
    HoldBookTest() {
        ports_[2].ifindex = 2;
        ports_[3].ifindex = 3;
        control_.max_len4 = control_.max_len6 = 65535;
    }

    fl_control control_{};
    std::array<fl_port, FL_PORTS> ports_{};
    fl_local_filter local_{};
    HoldBook book_{SharedMemory{&control_, ports_.data(), &local_}};
};

TEST_F(HoldBookTest, HoldsAtOnceAndOwesTheReading) {
    EXPECT_TRUE(book_.note({kLinks, false, 2}));
    EXPECT_EQ(ports_[2].hold, 1U);
    EXPECT_EQ(ports_[3].hold, 0U);
    EXPECT_TRUE(book_.held(2));
    EXPECT_FALSE(book_.heldAll());
    EXPECT_EQ(book_.take().categories, kLinks);
    EXPECT_EQ(book_.take().categories, 0U);
    EXPECT_TRUE(book_.held(2)) << "taking does not lift";
}

TEST_F(HoldBookTest, NothingToNoteIsNothing) { EXPECT_FALSE(book_.note({})); }

TEST_F(HoldBookTest, ReleaseLiftsOnlyWhatThePlanHasSeen) {
    book_.note({kLinks, false, 2});
    const auto first = book_.take();
    book_.note({kLinks, false, 3});
    book_.note({kRules, true, 0});
    book_.release(first.stamp);
    EXPECT_FALSE(book_.held(2));
    EXPECT_TRUE(book_.held(3));
    EXPECT_TRUE(book_.heldAll());
    book_.release(book_.take().stamp);
    EXPECT_FALSE(book_.held(3));
    EXPECT_FALSE(book_.heldAll());
}

TEST_F(HoldBookTest, NewEventOnTheSameInterfaceKeepsTheHold) {
    book_.note({kLinks, false, 2});
    const auto first = book_.take();
    book_.note({kLinks, false, 2});
    book_.release(first.stamp);
    EXPECT_TRUE(book_.held(2));
}

TEST_F(HoldBookTest, FailedReadingIsOwedAgain) {
    book_.note({kRules, true, 0});
    const auto pending = book_.take();
    book_.giveBack(pending);
    EXPECT_EQ(book_.take().categories, kRules);
}

TEST_F(HoldBookTest, ApplyHoldsAllUntilReleased) {
    book_.beginApply();
    EXPECT_TRUE(book_.heldAll());
    book_.note({kRules, true, 0});
    book_.release(0);
    EXPECT_TRUE(book_.heldAll()) << "an event came while the plan was applied";
    book_.release(book_.take().stamp);
    EXPECT_FALSE(book_.heldAll());
}

TEST_F(HoldBookTest, LimitIsLoweredAtOnceAndRaisedOnlyByAPlanThatKnows) {
    const auto before = book_.take();
    book_.lowerLimit(true, 1400);
    EXPECT_EQ(control_.max_len4, 1400U);
    book_.lowerLimit(true, 1500);
    EXPECT_EQ(control_.max_len4, 1400U);
    book_.setLimits(65535, 65535, before.stamp);
    EXPECT_EQ(control_.max_len4, 1400U) << "made before the route came";
    book_.setLimits(1400, 65535, book_.take().stamp);
    book_.setLimits(65535, 65535, book_.take().stamp);
    EXPECT_EQ(control_.max_len4, 65535U);
    EXPECT_EQ(control_.max_len6, 65535U);
}

TEST_F(HoldBookTest, InterfaceOfAnotherSlotOwnerIsNotHeld) {
    book_.note({kLinks, false, 2});
    EXPECT_FALSE(book_.held(2 + FL_PORTS));
}

}  // namespace
}  // namespace fastlet::linuxfp
