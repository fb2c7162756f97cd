// SPDX-License-Identifier: Apache-2.0
#include "core/event_loop.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include <csignal>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fastlet {
namespace {

struct EventUnref {
    void operator()(sd_event* event) const { sd_event_unref(event); }
};
struct SourceUnref {
    // Disabled first: sd-event itself holds a reference while it dispatches the source.
    void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventPtr = std::unique_ptr<sd_event, EventUnref>;
using SourcePtr = std::unique_ptr<sd_event_source, SourceUnref>;

// sd-event would fold wake-ups together within 250 ms if not told otherwise.
constexpr std::uint64_t kAccuracyMicroseconds = 1000;

}  // namespace

struct EventLoop::State {
    struct Descriptor {
        State* owner = nullptr;
        SourcePtr source;
        std::shared_ptr<Handler> readable;
        std::shared_ptr<Handler> writable;
    };
    struct Signal {
        State* owner = nullptr;
        SourcePtr source;
        Handler handler;
    };
    struct Timer {
        State* owner = nullptr;
        SourcePtr source;
        Handler handler;
        std::uint64_t period = 0;  // microseconds
        std::uint64_t next = 0;
    };

    // No exception may travel through sd-event, which is C.
    void call(const Handler& handler) {
        try {
            handler();
        } catch (const std::exception& exception) {
            fail(exception.what());
        } catch (...) {
            fail("unknown exception");
        }
    }
    void fail(const char* what) {
        failure = Error::make(fmt::format("a handler of the event loop failed: {}", what));
        sd_event_exit(event.get(), 1);
    }

    static int onDescriptor(sd_event_source* source, int fd, std::uint32_t revents, void* userdata);
    static int onSignal(sd_event_source* source, const signalfd_siginfo* info, void* userdata);
    static int onTimer(sd_event_source* source, std::uint64_t now, void* userdata);

    EventPtr event;
    std::map<int, std::unique_ptr<Descriptor>> descriptors;
    std::vector<std::unique_ptr<Signal>> signals;
    std::vector<std::unique_ptr<Timer>> timers;
    std::optional<Error> failure;
};

int EventLoop::State::onDescriptor(sd_event_source* source, int /*fd*/, std::uint32_t /*revents*/, void* userdata) {
    auto* descriptor = static_cast<Descriptor*>(userdata);
    State* owner = descriptor->owner;
    // The handler may unwatch its own fd: after the call `descriptor` may be gone, and the handler lives on by this copy only.
    std::shared_ptr<Handler> handler = descriptor->readable;
    if (descriptor->writable) {
        handler = std::move(descriptor->writable);
        descriptor->writable.reset();
        sd_event_source_set_io_events(source, EPOLLIN);
    }
    owner->call(*handler);
    return 0;
}

int EventLoop::State::onSignal(sd_event_source* /*source*/, const signalfd_siginfo* /*info*/, void* userdata) {
    auto* signal = static_cast<Signal*>(userdata);
    signal->owner->call(signal->handler);
    return 0;
}

int EventLoop::State::onTimer(sd_event_source* source, std::uint64_t /*time*/, void* userdata) {
    auto* timer = static_cast<Timer*>(userdata);
    std::uint64_t now = 0;
    sd_event_now(timer->owner->event.get(), CLOCK_MONOTONIC, &now);
    // Periods that were missed are skipped, not made up for.
    timer->next += timer->period;
    if (timer->next <= now) timer->next = now + timer->period;
    sd_event_source_set_time(source, timer->next);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    timer->owner->call(timer->handler);
    return 0;
}

EventLoop::EventLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventLoop::~EventLoop() = default;

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
    sd_event* event = nullptr;
    if (const int r = sd_event_new(&event); r < 0) return Error::fromErrno("cannot create an event loop", -r);
    auto state = std::make_unique<State>();
    state->event.reset(event);
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(state)));
}

Status EventLoop::watchReadable(int fd, Handler handler, Priority priority) {
    if (state_->descriptors.contains(fd)) return Error::fromErrno(fmt::format("cannot watch descriptor {} twice", fd), EEXIST);
    auto descriptor = std::make_unique<State::Descriptor>();
    descriptor->owner = state_.get();
    descriptor->readable = std::make_shared<Handler>(std::move(handler));
    sd_event_source* source = nullptr;
    const int r =
        fd < 0 ? -EBADF : sd_event_add_io(state_->event.get(), &source, fd, EPOLLIN, State::onDescriptor, descriptor.get());
    if (r < 0) return Error::fromErrno(fmt::format("cannot watch descriptor {}", fd), -r);
    descriptor->source.reset(source);
    if (priority == Priority::background) sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
    state_->descriptors.emplace(fd, std::move(descriptor));
    return {};
}

Status EventLoop::onceWritable(int fd, Handler handler) {
    const auto found = state_->descriptors.find(fd);
    if (found == state_->descriptors.end()) return Error::fromErrno(fmt::format("descriptor {} is not watched", fd), ENOENT);
    if (const int r = sd_event_source_set_io_events(found->second->source.get(), EPOLLOUT); r < 0)
        return Error::fromErrno(fmt::format("cannot watch descriptor {} for writing", fd), -r);
    found->second->writable = std::make_shared<Handler>(std::move(handler));
    return {};
}

void EventLoop::unwatch(int fd) { state_->descriptors.erase(fd); }

Status EventLoop::onSignal(int signal, Handler handler) {
    sigset_t set;
    sigemptyset(&set);
    if (sigaddset(&set, signal) < 0) return Error::fromErrno(fmt::format("cannot watch signal {}", signal), errno);
    if (const int err = pthread_sigmask(SIG_BLOCK, &set, nullptr); err != 0)
        return Error::fromErrno(fmt::format("cannot block signal {}", signal), err);
    auto entry = std::make_unique<State::Signal>();
    entry->owner = state_.get();
    entry->handler = std::move(handler);
    sd_event_source* source = nullptr;
    if (const int r = sd_event_add_signal(state_->event.get(), &source, signal, State::onSignal, entry.get()); r < 0)
        return Error::fromErrno(fmt::format("cannot watch signal {}", signal), -r);
    entry->source.reset(source);
    state_->signals.push_back(std::move(entry));
    return {};
}

Status EventLoop::every(std::chrono::milliseconds period, Handler handler) {
    if (period.count() <= 0) return Error::fromErrno("cannot start a timer without a period", EINVAL);
    auto timer = std::make_unique<State::Timer>();
    timer->owner = state_.get();
    timer->handler = std::move(handler);
    timer->period = static_cast<std::uint64_t>(std::chrono::microseconds(period).count());
    std::uint64_t now = 0;
    if (const int r = sd_event_now(state_->event.get(), CLOCK_MONOTONIC, &now); r < 0)
        return Error::fromErrno("cannot read the loop's clock", -r);
    timer->next = now + timer->period;
    sd_event_source* source = nullptr;
    if (const int r = sd_event_add_time(state_->event.get(), &source, CLOCK_MONOTONIC, timer->next, kAccuracyMicroseconds,
                                        State::onTimer, timer.get());
        r < 0)
        return Error::fromErrno("cannot start a timer", -r);
    timer->source.reset(source);
    state_->timers.push_back(std::move(timer));
    return {};
}

Status EventLoop::run() {
    const int r = sd_event_loop(state_->event.get());
    if (state_->failure) return *state_->failure;
    if (r < 0) return Error::fromErrno("the event loop failed", -r);
    return {};
}

void EventLoop::stop() { sd_event_exit(state_->event.get(), 0); }

}  // namespace fastlet
