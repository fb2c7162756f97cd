// SPDX-License-Identifier: Apache-2.0
// The daemon under test, as a user runs it: `fastlet run` in the router, asked by `fastctl`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/result.hpp"

namespace fastlet::oracle {

enum class HookChoice : std::uint8_t { tc, xdp };

struct FastCounters {
    std::uint64_t fast4 = 0;
    std::uint64_t fast6 = 0;
    std::uint64_t held = 0;
    std::uint64_t accelerated = 0;  ///< interfaces with a hook
    std::uint64_t interfaces = 0;
    std::map<std::string, std::uint64_t> slow;       ///< by reason
    std::map<std::string, std::uint64_t> unplanned;  ///< why an interface has no fast path, by code
    [[nodiscard]] std::uint64_t fast() const { return fast4 + fast6; }
    void add(const FastCounters& other);
};

class Daemon {
public:
    /// Starts it in the calling thread's network namespace and waits until it is ready and nothing is held.
    [[nodiscard]] static Result<std::unique_ptr<Daemon>> start(const std::string& program, HookChoice hook);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon();

    [[nodiscard]] Result<FastCounters> counters();
    /// SIGTERM; anything but exit code 0 is an Error.
    Status stop();

private:
    Daemon() = default;
    Status awaitReady();
    [[nodiscard]] Error failure(const std::string& what) const;
    [[nodiscard]] Result<std::string> ask(const std::string& object, const std::string& verb);

    pid_t pid_ = -1;
    std::string directory_, program_, client_;
};

}  // namespace fastlet::oracle
