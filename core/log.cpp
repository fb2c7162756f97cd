// SPDX-License-Identifier: Apache-2.0
#include "core/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace fastlet::log {
namespace {

std::atomic<Level> currentLevel{Level::info};

std::string_view levelName(Level level) {
    switch (level) {
        case Level::error:
            return "error";
        case Level::warning:
            return "warning";
        case Level::info:
            return "info";
        case Level::debug:
            return "debug";
    }
    return "info";
}

bool journalReadsUs() {
    static const bool value = std::getenv("JOURNAL_STREAM") != nullptr;
    return value;
}

}  // namespace

std::optional<Level> parseLevel(std::string_view name) {
    for (Level candidate : {Level::error, Level::warning, Level::info, Level::debug})
        if (levelName(candidate) == name) return candidate;
    return std::nullopt;
}

void setLevel(Level level) { currentLevel.store(level, std::memory_order_relaxed); }
Level level() { return currentLevel.load(std::memory_order_relaxed); }

void write(Level level, std::string_view message) {
    const std::string line = journalReadsUs() ? fmt::format("<{}>{}\n", static_cast<int>(level), message)
                                              : fmt::format("{}: {}\n", levelName(level), message);
    // One write call per line keeps lines of several threads whole. There is nobody to tell when stderr is gone.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void report(Level level, const Error& error) {
    if (log::level() < level) return;
    write(level, error.message);
    if (!error.hint.empty()) write(level, fmt::format("HINT: {}", error.hint));
}

}  // namespace fastlet::log
