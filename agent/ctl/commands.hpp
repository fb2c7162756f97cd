// SPDX-License-Identifier: Apache-2.0
// The verbs of fastctl. Each prints its result and returns, or returns the Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "agent/report/report.hpp"
#include "core/result.hpp"

namespace fastlet::agent {

struct Output {
    std::ostream& out;
    bool json = false;
};

struct WatchOptions {
    bool on = false;
    std::optional<std::uint64_t> count;  ///< end after so many; without: until SIGINT or SIGTERM
    std::chrono::milliseconds period = std::chrono::seconds(1);
};

Status showStatus(const std::string& socket, const Output& output);
Status showPlan(const std::string& socket, const std::string& interface, const Output& output);
Status showExplanation(const std::string& socket, const Json& query, const Output& output);
Status showStats(const std::string& socket, const WatchOptions& watch, const Output& output);
Status switchFastPath(const std::string& socket, const std::string& interface, bool enabled, const Output& output);
Status cleanUp(bool dryRun, const std::string& stateDir, const Output& output);
void showVersion(const std::string& version, const Output& output);

}  // namespace fastlet::agent
