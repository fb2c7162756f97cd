// SPDX-License-Identifier: Apache-2.0
// The configuration file (TOML). Unknown keys and wrong types are errors that name file, line and key, and suggest the nearest
// key.
#pragma once

#include <string>

#include "core/log.hpp"
#include "core/result.hpp"
#include "linuxfp/plan/plan.hpp"

namespace fastlet::agent {

struct Config {
    linuxfp::PlannerConfig linuxfp;
    log::Level logLevel = log::Level::info;
};

[[nodiscard]] Result<Config> parseConfig(const std::string& text, const std::string& fileName);
[[nodiscard]] Result<Config> loadConfig(const std::string& path);

}  // namespace fastlet::agent
