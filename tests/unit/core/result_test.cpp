// SPDX-License-Identifier: Apache-2.0
#include "core/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace fastlet {
namespace {

Result<std::unique_ptr<int>> half(int value) {
    if (value % 2 != 0) return Error::make("odd", "give an even number", EINVAL);
    return std::make_unique<int>(value / 2);
}

Result<int> quarter(int value) {
    FASTLET_TRY(first, half(value));
    FASTLET_TRY(second, half(*first));
    return *second;
}

Status check(int value) {
    FASTLET_CHECK([&]() -> Status {
        if (value < 0) return Error::make("negative");
        return {};
    }());
    return {};
}

TEST(Result, TryPassesValuesAndErrorsOn) {
    ASSERT_TRUE(quarter(8));
    EXPECT_EQ(*quarter(8), 2);
    const auto failed = quarter(6);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().hint, "give an even number");
    EXPECT_EQ(failed.error().code, EINVAL);
}

TEST(Result, CheckReturnsTheError) {
    EXPECT_TRUE(check(0));
    const auto failed = check(-1);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "negative");
}

TEST(Error, ContextComesFirst) {
    const Error error = Error::fromErrno("open", ENOENT).withContext("reading the configuration");
    EXPECT_EQ(error.message, "reading the configuration: open: No such file or directory");
    EXPECT_EQ(error.code, ENOENT);
}

}  // namespace
}  // namespace fastlet
