// SPDX-License-Identifier: Apache-2.0
// The other end of the control socket: one question, one answer, within a time limit.
#pragma once

#include <chrono>
#include <string>

#include "agent/control/protocol.hpp"
#include "core/fd.hpp"

namespace fastlet::agent {

class ControlClient {
public:
    [[nodiscard]] static Result<ControlClient> connect(const std::string& path,
                                                       std::chrono::milliseconds timeout = std::chrono::seconds(5));
    /// The parameters of the reply; an Error for a refusal (with the daemon's hint) or when the daemon does not answer in time.
    Result<Json> call(const std::string& method, const Json& parameters = Json::object());

private:
    using Clock = std::chrono::steady_clock;
    ControlClient(Fd fd, std::string path, std::chrono::milliseconds timeout)
        : fd_(std::move(fd)), path_(std::move(path)), timeout_(timeout) {}
    Status wait(short events, Clock::time_point deadline) const;
    Status send(const std::string& bytes, Clock::time_point deadline) const;
    Result<std::string> receive(Clock::time_point deadline);

    Fd fd_;
    std::string path_;
    std::chrono::milliseconds timeout_;
    MessageBuffer input_;
};

}  // namespace fastlet::agent
