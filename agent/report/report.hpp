// SPDX-License-Identifier: Apache-2.0
// What the daemon tells and fastctl shows: one data model, as JSON (json.cpp) and as text (text.cpp).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "linuxfp/engine.hpp"

namespace fastlet::agent {

using Json = nlohmann::json;

struct InterfaceStatus {
    std::string name;
    std::uint32_t ifindex = 0;
    std::string hook = "none";  ///< "xdp", "tc", "none"
    std::string mode = "none";  ///< "native", "generic", "tc", "none"
    std::vector<std::string> accelerates;
    std::vector<std::string> reasons;  ///< "code: text"
    bool held = false;
    bool attached = false;
};

struct PlanReport {
    std::vector<InterfaceStatus> interfaces;
    std::uint64_t generation = 0;
    bool observe = false;
    bool heldAll = false;
};

struct StatusReport {
    bool ready = false;
    std::string version;
    PlanReport plan;
    linuxfp::Counters counters;
    std::uint64_t routes4 = 0;
    std::uint64_t routes6 = 0;
};

using StatsReport = std::vector<linuxfp::InterfaceCounters>;

[[nodiscard]] StatusReport makeStatus(const linuxfp::EngineReport& report, const std::string& version);

[[nodiscard]] Json toJson(const StatusReport& report);
[[nodiscard]] Json toJson(const PlanReport& report);
[[nodiscard]] Json toJson(const StatsReport& report);
[[nodiscard]] Json toJson(const linuxfp::Explanation& explanation);

/// Error: the JSON is not what this version of the daemon sends.
[[nodiscard]] Result<StatusReport> statusFromJson(const Json& json);
[[nodiscard]] Result<PlanReport> planFromJson(const Json& json);
[[nodiscard]] Result<StatsReport> statsFromJson(const Json& json);
[[nodiscard]] Result<linuxfp::Explanation> explanationFromJson(const Json& json);

/// Text for a terminal, with a line feed at its end. Names from the kernel are made printable.
[[nodiscard]] std::string toText(const StatusReport& report);
[[nodiscard]] std::string toText(const PlanReport& report);
[[nodiscard]] std::string toText(const StatsReport& report);
[[nodiscard]] std::string toText(const linuxfp::Explanation& explanation);

/// Never throws: bytes that are not UTF-8 (interface names may hold any) are replaced. `indent` as nlohmann's, -1: one line.
[[nodiscard]] std::string dump(const Json& json, int indent = -1);

}  // namespace fastlet::agent
