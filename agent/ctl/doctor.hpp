// SPDX-License-Identifier: Apache-2.0
// Can this kernel and this user run the fast path? Only reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/report/report.hpp"
#include "core/result.hpp"

namespace fastlet::agent {

/// What the doctor looks at. Tests give a tree of fixtures.
struct Patient {
    std::function<Result<std::string>(const std::string& path)> read;  ///< a file's content; Error code ENOENT: there is none
    std::function<bool(const std::string& path)> exists;
    std::function<Status()> daemon;  ///< does one answer?
};

/// Files of this host. `daemon` asks the control socket at `socket`.
[[nodiscard]] Patient thisHost(const std::string& socket);

enum class Health : std::uint8_t { ok, warn, fail };

struct Finding {
    std::string check;
    Health health = Health::ok;
    std::string text;
    std::string hint;
};

[[nodiscard]] std::vector<Finding> examine(const Patient& patient);
/// Nothing failed (warnings do not count).
[[nodiscard]] bool healthy(const std::vector<Finding>& findings);

/// {"checks": [{"name", "ok", "health", "detail", "hint"}], "ok"}; a warning is ok: something is lost, but not the fast path.
[[nodiscard]] Json toJson(const std::vector<Finding>& findings);
[[nodiscard]] std::string toText(const std::vector<Finding>& findings);

}  // namespace fastlet::agent
