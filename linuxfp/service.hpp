// SPDX-License-Identifier: Apache-2.0
// linuxfp with the real kernel behind it, on the daemon's event loop.
#pragma once

#include <memory>
#include <string>

#include "core/event_loop.hpp"
#include "core/result.hpp"
#include "linuxfp/engine.hpp"

namespace fastlet::linuxfp {

struct ServiceOptions {
    PlannerConfig planner;
    bool observe = false;  ///< plan and explain, attach nothing
    std::string stateDir;
};

class Service {
public:
    virtual ~Service() = default;
    [[nodiscard]] virtual Engine& engine() = 0;
    /// Plans anew with another configuration. `fp off` stays off. Error: it could not be deployed, and is tried again every
    /// second.
    virtual Status configure(const PlannerConfig& config) = 0;
    /// Detaches everything; the fast path is off when it returns. Done by the destructor too, which can only log an Error.
    virtual Status stop() = 0;
};

/// When it returns, the first plan has been applied (or a log line says why not, and it is tried again every second). Error:
/// another daemon runs here, no privileges, a kernel without what is needed; then nothing is attached.
[[nodiscard]] Result<std::unique_ptr<Service>> startService(EventLoop& loop, const ServiceOptions& options);

}  // namespace fastlet::linuxfp
