// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "core/result.hpp"

namespace fastlet::log {

/// Severity, most severe first. The numbers are syslog's (RFC 5424), which systemd-journald understands as a line prefix.
enum class Level { error = 3, warning = 4, info = 6, debug = 7 };

[[nodiscard]] std::optional<Level> parseLevel(std::string_view name);
void setLevel(Level level);
[[nodiscard]] Level level();

/// One line on standard error: "LEVEL message"; with "<N>" before it when journald reads us (JOURNAL_STREAM is set).
/// Safe to call from any thread.
void write(Level level, std::string_view message);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    if (level() >= Level::info) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    if (level() >= Level::debug) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
    if (level() >= Level::warning) write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

/// The message, then a line "HINT: ..." when the error carries one.
void report(Level level, const Error& error);

}  // namespace fastlet::log
