// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/sentinel.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <system_error>

#include "core/log.hpp"

namespace fastlet::linuxfp {
namespace {

// Half of what a rule may take to be in force when nothing notifies it (iptables-legacy), and a quarter of the heartbeat's
// lifetime. Most of the price of a look is waking up: 5 ms measured 1.1 % of a core on a virtual machine.
constexpr int kLookMilliseconds = 10;
// After a look that a notification has asked for, so that a flood of them cannot take a CPU away from everybody else.
constexpr auto kRest = std::chrono::microseconds(500);

std::uint64_t monotonicMilliseconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

void signalFd(int fd) {
    const std::uint64_t one = 1;
    // EAGAIN: the counter is full, so the reader has been told often enough.
    if (::write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN) log::report(log::Level::error, Error::fromErrno("eventfd", errno));
}

// A busy machine must not delay the look; without the right to ask for it, the heartbeat's lifetime is what bounds the delay.
void askForRealtime() {
    sched_param parameters{};
    parameters.sched_priority = 1;
    if (const int rc = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &parameters))
        log::info("the sentinel runs with ordinary priority: {}", std::system_category().message(rc));
}

}  // namespace

std::uint64_t kernelTicksPerSecond() {
    constexpr long kNanoseconds = 1'000'000'000;
    timespec resolution{};
    if (::clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) || resolution.tv_nsec <= 0) return 100;  // the lowest of all HZ
    return static_cast<std::uint64_t>((kNanoseconds + resolution.tv_nsec / 2) / resolution.tv_nsec);
}

Result<std::unique_ptr<Sentinel>> Sentinel::start(Watch& watch) {
    Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    Fd stop(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!wake.valid() || !stop.valid()) return Error::fromErrno("cannot create an eventfd", errno);
    std::unique_ptr<Sentinel> sentinel(new Sentinel(watch, std::move(wake), std::move(stop)));
    // Signals are the main loop's.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        sentinel->thread_ = std::thread([self = sentinel.get()] { self->run(); });
    } catch (const std::system_error& failure) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return Error::make(std::string("cannot start the sentinel thread: ") + failure.what());
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return sentinel;
}

Sentinel::~Sentinel() {
    if (!thread_.joinable()) return;
    signalFd(stop_.get());
    thread_.join();
}

void Sentinel::acknowledge() {
    std::uint64_t count = 0;
    if (::read(wake_.get(), &count, sizeof(count)) < 0 && errno != EAGAIN)
        log::report(log::Level::error, Error::fromErrno("eventfd", errno));
}

void Sentinel::wakeMainLoop() { signalFd(wake_.get()); }

void Sentinel::run() {
    ::pthread_setname_np(::pthread_self(), "fl-sentinel");
    askForRealtime();
    for (bool notified = true;;) {
        if (watch_.step(monotonicMilliseconds(), notified)) wakeMainLoop();
        looks_.fetch_add(1);
        if (notified) std::this_thread::sleep_for(kRest);
        std::vector<pollfd> fds{{stop_.get(), POLLIN, 0}};
        for (const int fd : watch_.descriptors()) fds.push_back({fd, POLLIN, 0});
        const int readable = ::poll(fds.data(), fds.size(), kLookMilliseconds);
        if (readable < 0 && errno != EINTR) log::report(log::Level::error, Error::fromErrno("poll", errno));
        notified = readable != 0;  // a poll() that fails at once must not spin either
        if (fds.front().revents) return;
    }
}

}  // namespace fastlet::linuxfp
