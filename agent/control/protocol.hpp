// SPDX-License-Identifier: Apache-2.0
// Varlink's wire format: JSON objects, each ended by a NUL byte. No I/O.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agent/report/report.hpp"
#include "core/result.hpp"

namespace fastlet::agent {

inline constexpr std::size_t kMaxRequestBytes = 1 << 20;

struct Request {
    std::string method;
    Json parameters = Json::object();
    bool oneway = false;  ///< the caller wants no answer
};

/// An error of the wire: its Varlink name, and what a person reads.
struct Refusal {
    std::string name;
    Error error;
    Json details = Json::object();  ///< what Varlink's own errors carry besides
};

[[nodiscard]] Result<Request> parseRequest(std::string_view text);
/// Without the NUL.
[[nodiscard]] std::string requestText(const std::string& method, const Json& parameters);
[[nodiscard]] std::string replyText(const Json& parameters);
[[nodiscard]] std::string refusalText(const Refusal& refusal);
/// The parameters of a good reply; an Error for a refusal, or for what is no reply at all.
[[nodiscard]] Result<Json> parseReply(std::string_view text);

/// Cuts a stream of bytes into messages. Work grows with the bytes, not with their square.
class MessageBuffer {
public:
    void append(std::string_view bytes) { bytes_.append(bytes); }
    /// The next whole message, without its NUL.
    std::optional<std::string> next();
    /// Bytes of the message that has begun and is not whole yet (or of those not taken yet).
    [[nodiscard]] std::size_t pending() const { return bytes_.size() - start_; }

private:
    std::string bytes_;
    std::size_t start_ = 0;
    std::size_t scanned_ = 0;  // no NUL before
};

}  // namespace fastlet::agent
