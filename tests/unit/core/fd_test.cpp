// SPDX-License-Identifier: Apache-2.0
#include "core/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace fastlet {
namespace {

bool isOpen(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(Fd, ClosesWhatItOwnsAndNothingElse) {
    Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Fd second(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(first.valid() && second.valid());
    const int replaced = first.get();
    const int kept = second.get();
    first = std::move(second);  // the old descriptor of `first` must not leak
    EXPECT_FALSE(isOpen(replaced));
    EXPECT_TRUE(isOpen(kept));
    const int released = first.release();
    first.reset();
    EXPECT_TRUE(isOpen(released));
    ::close(released);
}

}  // namespace
}  // namespace fastlet
