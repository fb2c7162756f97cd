// SPDX-License-Identifier: Apache-2.0
#include "agent/control/client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace fastlet::agent {
namespace {

// Thousands of interfaces with their reasons are some megabytes.
constexpr std::size_t kMaxReplyBytes = 256U << 20;
constexpr std::size_t kReadBytes = 64 * 1024;

Error notRunning(const std::string& path, int error) {
    std::string hint = "start it with `systemctl start fastlet`, or name its socket with --socket";
    if (error == EACCES || error == EPERM) hint = "run the command as root";
    return Error::fromErrno(fmt::format("no daemon answers on {}", path), error, hint);
}

Error hungUp() { return Error::make("the daemon ended the connection", "look at its log: `journalctl -u fastlet`"); }

}  // namespace

Result<ControlClient> ControlClient::connect(const std::string& path, std::chrono::milliseconds timeout) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path)) return notRunning(path, path.empty() ? ENOENT : ENAMETOOLONG);
    path.copy(address.sun_path, path.size());
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return Error::fromErrno("cannot open a socket", errno);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0) return notRunning(path, errno);
    return ControlClient(std::move(fd), path, timeout);
}

Status ControlClient::wait(short events, Clock::time_point deadline) const {
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd entry{fd_.get(), events, 0};
        const int ready = left <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(left));
        if (ready > 0) return {};
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0) return Error::fromErrno("cannot wait for the daemon", errno);
        return Error::fromErrno(fmt::format("the daemon does not answer on {}", path_), ETIMEDOUT,
                                "it may be busy or stopped: try again, or look at its log");
    }
}

Status ControlClient::send(const std::string& bytes, Clock::time_point deadline) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t sent = ::send(fd_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (sent >= 0) {
            done += static_cast<std::size_t>(sent);
        } else if (errno == EAGAIN) {
            FASTLET_CHECK(wait(POLLOUT, deadline));
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return {};  // what it said before it hung up is still to be read
        } else if (errno != EINTR) {
            return Error::fromErrno("cannot ask the daemon", errno);
        }
    }
    return {};
}

Result<std::string> ControlClient::receive(Clock::time_point deadline) {
    std::array<char, kReadBytes> block;
    while (true) {
        if (auto message = input_.next()) return *std::move(message);
        if (input_.pending() > kMaxReplyBytes) return Error::make("the daemon's answer is too long");
        const ssize_t got = ::recv(fd_.get(), block.data(), block.size(), 0);
        if (got > 0) {
            input_.append({block.data(), static_cast<std::size_t>(got)});
        } else if (got < 0 && errno == EAGAIN) {
            FASTLET_CHECK(wait(POLLIN, deadline));
        } else if (got == 0 || errno == ECONNRESET) {
            return hungUp();
        } else if (errno != EINTR) {
            return Error::fromErrno("cannot read the daemon's answer", errno);
        }
    }
}

Result<Json> ControlClient::call(const std::string& method, const Json& parameters) {
    const auto deadline = Clock::now() + timeout_;
    std::string bytes = requestText(method, parameters);
    bytes += '\0';
    FASTLET_CHECK(send(bytes, deadline));
    FASTLET_TRY(reply, receive(deadline));
    return parseReply(reply);
}

}  // namespace fastlet::agent
