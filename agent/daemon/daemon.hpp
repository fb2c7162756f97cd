// SPDX-License-Identifier: Apache-2.0
// The daemon: configuration, event loop, engines and control socket, from start to signal.
#pragma once

#include <string>

#include "core/result.hpp"

namespace fastlet::agent {

struct DaemonOptions {
    std::string configFile;  ///< empty: defaults
    std::string socketPath;
    std::string stateDir;
    bool observe = false;  ///< plan and explain, attach nothing
    std::string version;
};

/// SIGHUP reads the configuration again; an invalid one keeps the old. Returns after SIGTERM or SIGINT, with everything detached;
/// an Error when it could not start, or could not detach.
[[nodiscard]] Status runDaemon(const DaemonOptions& options);

}  // namespace fastlet::agent
