// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <gtest/gtest.h>

namespace fastlet {
namespace {

TEST(Text, NearestFindsTypingErrorsAndNothingElse) {
    const std::vector<std::string> words = {"status", "plan", "explain", "stats"};
    EXPECT_EQ(nearest("statu", words), "status");
    EXPECT_EQ(nearest("stast", words), std::nullopt) << "two edits in five letters";
    EXPECT_EQ(nearest("pan", words), "plan");
    EXPECT_EQ(nearest("explian", words), "explain");
    EXPECT_EQ(nearest("plan", words), "plan");
    EXPECT_EQ(nearest("", words), std::nullopt);
    EXPECT_EQ(nearest(std::string(1000, 'x'), words), std::nullopt);
}

TEST(Text, InQuotesIsOneLineAndBounded) {
    EXPECT_EQ(inQuotes("eth0"), "\"eth0\"");
    EXPECT_EQ(inQuotes("a\nb\x1b\""), "\"a\\x0ab\\x1b\\x22\"");
    EXPECT_LT(inQuotes(std::string(1000, 'x')).size(), 80U);
}

TEST(Text, SuggestionNamesTheNearestOrAll) {
    EXPECT_EQ(suggestion("pln", {"plan", "stats"}), "did you mean \"plan\"?");
    EXPECT_EQ(suggestion("zzz", {"plan", "stats"}), "known here: plan, stats");
    EXPECT_EQ(suggestion("zzz", {}), "");
}

}  // namespace
}  // namespace fastlet
