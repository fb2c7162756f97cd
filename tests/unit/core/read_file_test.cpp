// SPDX-License-Identifier: Apache-2.0
#include "core/read_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace fastlet {
namespace {

class ReadFileTest : public testing::Test {
protected:
    ReadFileTest() : path_(testing::TempDir() + "read_file." + std::to_string(::getpid())) {}
    ~ReadFileTest() override { ::unlink(path_.c_str()); }
    void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
    std::string path_;
};

TEST_F(ReadFileTest, ReadsMoreThanOneBlock) {
    const std::string text(100'000, 'x');
    write(text);
    EXPECT_EQ(*readFile(path_), text);
    EXPECT_EQ(*readFile("/proc/self/comm"), *RereadFile("/proc/self/comm").read()) << "files without a size too";
}

TEST_F(ReadFileTest, SaysWhatIsMissing) {
    const auto read = readFile(path_);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ENOENT);
    EXPECT_NE(read.error().message.find(path_), std::string::npos);
}

TEST_F(ReadFileTest, RereadSeesWhatHasChanged) {
    RereadFile file(path_);
    EXPECT_FALSE(file.read());
    write("one");
    EXPECT_EQ(*file.read(), "one") << "it may come later";
    write("another");
    EXPECT_EQ(*file.read(), "another");
    EXPECT_EQ(*file.read(), "another") << "from the start each time";
}

}  // namespace
}  // namespace fastlet
