// SPDX-License-Identifier: Apache-2.0
// The thread that looks (Watch) every few milliseconds, and at once when a notification comes. Apart from the main loop, so that
// nothing the main loop does can delay a hold.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "core/fd.hpp"
#include "core/result.hpp"
#include "linuxfp/coherence/watch.hpp"

namespace fastlet::linuxfp {

class Sentinel {
public:
    /// The thread starts here, in the network namespace of the caller. `watch` must outlive the Sentinel.
    [[nodiscard]] static Result<std::unique_ptr<Sentinel>> start(Watch& watch);
    ~Sentinel();
    Sentinel(const Sentinel&) = delete;
    Sentinel& operator=(const Sentinel&) = delete;

    /// Readable when there is something to do for the main loop; acknowledge() before doing it.
    [[nodiscard]] int wakeFd() const { return wake_.get(); }
    void acknowledge();
    /// Makes wakeFd() readable: the main loop has more to do than it did in one go.
    void wakeMainLoop();
    /// Looks taken so far: it grows as long as the thread is alive.
    [[nodiscard]] std::uint64_t looks() const { return looks_.load(); }

private:
    Sentinel(Watch& watch, Fd wake, Fd stop) : watch_(watch), wake_(std::move(wake)), stop_(std::move(stop)) {}
    void run();

    Watch& watch_;
    Fd wake_;
    Fd stop_;
    std::atomic<std::uint64_t> looks_{0};
    std::thread thread_;
};

/// The kernel's HZ, which jiffies count: the coarse clocks advance once per tick.
[[nodiscard]] std::uint64_t kernelTicksPerSecond();

}  // namespace fastlet::linuxfp
