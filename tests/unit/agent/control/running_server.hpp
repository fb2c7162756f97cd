// SPDX-License-Identifier: Apache-2.0
// A control server on a fake engine, its loop in a thread of its own, and raw clients for it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <filesystem>
#include <string>
#include <thread>

#include "agent/control/server.hpp"
#include "tests/fakes/fake_engine.hpp"

namespace fastlet::tests {

class TemporaryFolder {
public:
    TemporaryFolder() {
        char pattern[] = "/tmp/fastlet-test-XXXXXX";
        path_ = ::mkdtemp(pattern);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

class RunningServer {
public:
    explicit RunningServer(agent::ControlOptions options = {}) : stop_(::eventfd(0, EFD_CLOEXEC)) {
        auto loop = EventLoop::create();
        EXPECT_TRUE(loop.ok());
        loop_ = std::move(*loop);
        options.version = "9.9.9";
        auto server = agent::ControlServer::open(*loop_, path(), engine, std::move(options));
        EXPECT_TRUE(server.ok());
        server_ = std::move(*server);
        EXPECT_TRUE(loop_->watchReadable(stop_.get(), [this] { loop_->stop(); }).ok());
        thread_ = std::thread([this] { EXPECT_TRUE(loop_->run().ok()); });
    }
    RunningServer(const RunningServer&) = delete;
    RunningServer& operator=(const RunningServer&) = delete;
    ~RunningServer() { stop(); }

    void stop() {
        if (!thread_.joinable()) return;
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(stop_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
        thread_.join();
        server_.reset();
    }
    [[nodiscard]] std::string path() const { return folder_ / "socket"; }

    FakeEngine engine;  // look at it only after an answer, or after stop()

private:
    TemporaryFolder folder_;
    Fd stop_;
    std::unique_ptr<EventLoop> loop_;
    std::unique_ptr<agent::ControlServer> server_;
    std::thread thread_;
};

/// Blocking, with a limit of ten seconds on every call.
class RawClient {
public:
    explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const timeval limit{10, 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, path.size());
        EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }

    /// False: the server has hung up.
    bool send(const std::string& bytes) {
        std::size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t sent = ::send(fd_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
            if (sent <= 0) return false;
            done += static_cast<std::size_t>(sent);
        }
        return true;
    }

    /// The next message; "EOF" when the server hung up.
    std::string receive() {
        while (true) {
            if (auto message = input_.next()) return *message;
            std::array<char, 65536> block{};
            const ssize_t got = ::recv(fd_.get(), block.data(), block.size(), 0);
            if (got == 0 || (got < 0 && errno == ECONNRESET)) return "EOF";
            if (got < 0) return "nothing within the time limit";
            input_.append({block.data(), static_cast<std::size_t>(got)});
        }
    }
    agent::Json receiveJson() { return agent::Json::parse(receive(), nullptr, false); }
    agent::Json ask(const std::string& text) {
        send(text + '\0');
        return receiveJson();
    }
    [[nodiscard]] int fd() const { return fd_.get(); }

private:
    Fd fd_;
    agent::MessageBuffer input_;
};

}  // namespace fastlet::tests
