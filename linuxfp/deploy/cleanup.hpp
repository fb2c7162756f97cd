// SPDX-License-Identifier: Apache-2.0
// Removes what a daemon that is gone has left in this network namespace. Needs no daemon; touches nothing that is not ours.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace fastlet::linuxfp {

struct CleanupOptions {
    bool dryRun = false;   ///< only list
    std::string stateDir;  ///< where the ledger lies
};

struct CleanupItem {
    std::string what;  ///< "XDP program fastlet_xdp (id 12) on eth0"
    bool removed = false;
    std::string error;  ///< why it could not be removed; empty: it was, or this is a dry run
};

struct CleanupReport {
    std::vector<CleanupItem> items;
};

/// Error: a daemon runs in this network namespace (unless dryRun), or the interfaces cannot be listed. Idempotent.
[[nodiscard]] Result<CleanupReport> cleanup(const CleanupOptions& options);

}  // namespace fastlet::linuxfp
