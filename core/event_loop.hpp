// SPDX-License-Identifier: Apache-2.0
// The daemon's one event loop, on sd-event. Handlers run one after the other in the thread that calls run(). A handler that
// throws ends the loop, with an Error.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "core/result.hpp"

namespace fastlet {

class EventLoop {
public:
    using Handler = std::function<void()>;
    /// Background work waits until nobody else has anything: a question is answered before the next piece of it.
    enum class Priority { normal, background };

    [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop();

    /// `handler` whenever `fd` is readable (or hung up); one registration per fd. The fd stays the caller's; unwatch before
    /// closing.
    Status watchReadable(int fd, Handler handler, Priority priority = Priority::normal);
    /// For an fd that is watched: its readable handler pauses until the fd takes bytes again (or is hung up); then `handler`,
    /// once, and reading goes on.
    Status onceWritable(int fd, Handler handler);
    /// May be called from any handler, also the fd's own.
    void unwatch(int fd);
    /// The signal is blocked in the calling thread and delivered here; call before starting other threads.
    Status onSignal(int signal, Handler handler);
    /// Every `period` (monotonic), until the loop ends.
    Status every(std::chrono::milliseconds period, Handler handler);

    /// Until stop(); returns the error of the loop itself.
    Status run();
    void stop();

private:
    struct State;
    explicit EventLoop(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fastlet
