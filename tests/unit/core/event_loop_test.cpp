// SPDX-License-Identifier: Apache-2.0
#include "core/event_loop.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>
#include <vector>

#include "core/fd.hpp"

namespace fastlet {
namespace {

using std::chrono::milliseconds;

struct Pair {
    Fd first, second;
};

Pair socketPair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    return {Fd(fds[0]), Fd(fds[1])};
}

std::unique_ptr<EventLoop> makeLoop() {
    auto loop = EventLoop::create();
    EXPECT_TRUE(loop.ok());
    return std::move(*loop);
}

void send(const Fd &fd) { ASSERT_EQ(::write(fd.get(), "x", 1), 1); }

void take(const Fd &fd) {
    char byte = 0;
    ASSERT_EQ(::read(fd.get(), &byte, 1), 1);
}

TEST(EventLoop, CallsTheHandlerForEveryByteUntilStopped) {
    auto loop = makeLoop();
    Pair pair = socketPair();
    Fd &ours = pair.first, &theirs = pair.second;
    int calls = 0;
    ASSERT_TRUE(loop->watchReadable(ours.get(), [&] {
        take(ours);
        if (++calls == 3)
            loop->stop();
        else
            send(theirs);
    }));
    send(theirs);
    EXPECT_TRUE(loop->run().ok());
    EXPECT_EQ(calls, 3);
}

TEST(EventLoop, ReportsHangUp) {
    auto loop = makeLoop();
    Pair pair = socketPair();
    Fd &ours = pair.first, &theirs = pair.second;
    ASSERT_TRUE(loop->watchReadable(ours.get(), [&] { loop->stop(); }));
    theirs.reset();
    EXPECT_TRUE(loop->run().ok());
}

TEST(EventLoop, RefusesWhatCannotBeWatched) {
    auto loop = makeLoop();
    Pair pair = socketPair();
    Fd &ours = pair.first, &theirs = pair.second;
    ASSERT_TRUE(loop->watchReadable(ours.get(), [] {}));
    EXPECT_EQ(loop->watchReadable(ours.get(), [] {}).error().code, EEXIST);
    EXPECT_EQ(loop->watchReadable(-1, [] {}).error().code, EBADF);
    EXPECT_EQ(loop->onceWritable(theirs.get(), [] {}).error().code, ENOENT);
    EXPECT_EQ(loop->every(milliseconds(0), [] {}).error().code, EINVAL);
    EXPECT_FALSE(loop->onSignal(-5, [] {}).ok());
}

TEST(EventLoop, AHandlerMayUnwatchItselfAndOthers) {
    auto loop = makeLoop();
    Pair pair = socketPair();
    Fd &ours = pair.first, &theirs = pair.second;
    Pair otherPair = socketPair();
    Fd &other = otherPair.first, &otherEnd = otherPair.second;
    std::vector<int> called;
    const auto handler = [&](int name) {
        return [&, name, keep = std::make_shared<int>(name)] {
            called.push_back(name);
            loop->unwatch(ours.get());
            loop->unwatch(other.get());
            EXPECT_EQ(*keep, name);  // the handler itself must still be alive
        };
    };
    ASSERT_TRUE(loop->watchReadable(ours.get(), handler(1)));
    ASSERT_TRUE(loop->watchReadable(other.get(), handler(2)));
    send(theirs);
    send(otherEnd);
    ASSERT_TRUE(loop->every(milliseconds(5), [&] {
        EXPECT_TRUE(loop->watchReadable(ours.get(), [] {}).ok()) << "an fd that was unwatched can be watched again";
        loop->stop();
    }));
    EXPECT_TRUE(loop->run().ok());
    EXPECT_EQ(called.size(), 1U) << "both were ready, the first one removed both";
}

TEST(EventLoop, WaitingToWritePausesReadingAndComesOnce) {
    auto loop = makeLoop();
    Pair pair = socketPair();
    Fd &ours = pair.first, &theirs = pair.second;
    std::array<char, 65536> block{};
    while (::write(ours.get(), block.data(), block.size()) > 0) {
    }
    std::vector<std::string> order;
    ASSERT_TRUE(loop->watchReadable(ours.get(), [&] {
        order.emplace_back("read");
        take(ours);
        loop->stop();
    }));
    ASSERT_TRUE(loop->onceWritable(ours.get(), [&] { order.emplace_back("write"); }));
    send(theirs);  // readable at once, but it has to wait
    ASSERT_TRUE(loop->every(milliseconds(5), [&] {
        while (::read(theirs.get(), block.data(), block.size()) > 0) {
        }
    }));
    EXPECT_TRUE(loop->run().ok());
    EXPECT_EQ(order, (std::vector<std::string>{"write", "read"}));
}

TEST(EventLoop, DeliversSignals) {
    auto loop = makeLoop();
    int calls = 0;
    ASSERT_TRUE(loop->onSignal(SIGUSR1, [&] {
        ++calls;
        loop->stop();
    }));
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    EXPECT_TRUE(loop->run().ok());
    EXPECT_EQ(calls, 1);
}

TEST(EventLoop, TimerRepeats) {
    auto loop = makeLoop();
    const auto start = std::chrono::steady_clock::now();
    int calls = 0;
    ASSERT_TRUE(loop->every(milliseconds(10), [&] {
        if (++calls == 3) loop->stop();
    }));
    EXPECT_TRUE(loop->run().ok());
    EXPECT_EQ(calls, 3);
    EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(29));
}

TEST(EventLoop, BackgroundWorkComesLast) {
    auto loop = *EventLoop::create();
    const Fd background(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    const Fd question(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    int questions = 0;
    ASSERT_TRUE(loop->watchReadable(
        background.get(),
        [&] {
            EXPECT_EQ(questions, 3);
            loop->stop();
        },
        EventLoop::Priority::background));
    ASSERT_TRUE(loop->watchReadable(question.get(), [&] {
        if (++questions == 3) loop->unwatch(question.get());
    }));
    ASSERT_TRUE(loop->run());
    EXPECT_EQ(questions, 3);
}

TEST(EventLoop, AHandlerThatThrowsEndsTheLoopWithAnError) {
    auto loop = makeLoop();
    ASSERT_TRUE(loop->every(milliseconds(1), [] { throw std::runtime_error("broken"); }));
    const auto status = loop->run();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("broken"), std::string::npos);
}

TEST(EventLoop, StopBeforeRunMeansNoRun) {
    auto loop = makeLoop();
    loop->stop();
    EXPECT_TRUE(loop->run().ok());
}

}  // namespace
}  // namespace fastlet
