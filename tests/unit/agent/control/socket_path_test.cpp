// SPDX-License-Identifier: Apache-2.0
#include "agent/control/socket_path.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/agent/control/running_server.hpp"

namespace fastlet::tests {
namespace {

using agent::ListeningSocket;

Fd boundSocket(const std::string& path, int type) {
    Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
}

TEST(ListeningSocket, HasItsModeAndIsRemovedAtTheEnd) {
    const TemporaryFolder folder;
    const auto path = folder / "s";
    {
        const auto socket = ListeningSocket::open(path);
        ASSERT_TRUE(socket.ok()) << socket.error().message;
        struct stat status {};
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        EXPECT_TRUE(S_ISSOCK(status.st_mode));
        EXPECT_EQ(status.st_mode & 07777, 0660U);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListeningSocket, ADeadSocketIsReplaced) {
    const TemporaryFolder folder;
    boundSocket(folder / "s", SOCK_STREAM).reset();  // as a killed daemon leaves it
    EXPECT_TRUE(ListeningSocket::open(folder / "s").ok());
}

TEST(ListeningSocket, ALivingDaemonIsLeftAlone) {
    const TemporaryFolder folder;
    const auto first = ListeningSocket::open(folder / "s");
    ASSERT_TRUE(first.ok());
    const auto second = ListeningSocket::open(folder / "s");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, EADDRINUSE);
    EXPECT_EQ(second.error().message.rfind("another daemon answers on " + (folder / "s"), 0), 0U);
    EXPECT_FALSE(second.error().hint.empty());
    RawClient stillThere(folder / "s");
}

TEST(ListeningSocket, WhatIsNoSocketIsNeverDeleted) {
    const TemporaryFolder folder;
    std::ofstream(folder / "file") << "precious";
    std::filesystem::create_directory(folder / "folder");
    std::filesystem::create_symlink("file", folder / "link");
    for (const char* name : {"file", "folder", "link"}) {
        const auto socket = ListeningSocket::open(folder / name);
        ASSERT_FALSE(socket.ok()) << name;
        EXPECT_EQ(socket.error().code, EEXIST);
        EXPECT_TRUE(std::filesystem::exists(folder / name));
    }
}

TEST(ListeningSocket, AnotherKindOfSocketIsLeftAlone) {
    const TemporaryFolder folder;
    const Fd log = boundSocket(folder / "s", SOCK_DGRAM);  // as of a log daemon
    EXPECT_FALSE(ListeningSocket::open(folder / "s").ok());
    EXPECT_TRUE(std::filesystem::exists(folder / "s"));
}

TEST(ListeningSocket, FoldersAreNotMadeAndLongPathsRefused) {
    const TemporaryFolder folder;
    const auto missing = ListeningSocket::open(folder / "no/s");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, ENOENT);
    EXPECT_FALSE(missing.error().hint.empty());
    EXPECT_EQ(ListeningSocket::open(folder / std::string(120, 'x')).error().code, ENAMETOOLONG);
    EXPECT_FALSE(ListeningSocket::open("").ok());
}

TEST(ListeningSocket, RemovesOnlyItsOwnFile) {
    const TemporaryFolder folder;
    const auto path = folder / "s";
    {
        const auto first = ListeningSocket::open(path);
        ASSERT_TRUE(first.ok());
        std::filesystem::rename(path, folder / "old");  // the inode lives on: its number is not used again
        std::ofstream(path) << "somebody else's";
    }
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(ListeningSocket, AFailedStartLeavesNoFile) {
    const TemporaryFolder folder;
    const Fd lock(::open((folder / ".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    const auto refused = ListeningSocket::open(folder / "s");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EWOULDBLOCK);
    EXPECT_FALSE(std::filesystem::exists(folder / "s"));
}

}  // namespace
}  // namespace fastlet::tests
