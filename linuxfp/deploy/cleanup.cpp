// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/cleanup.hpp"

#include <fmt/format.h>
#include <net/if.h>

#include <memory>

#include "core/ledger.hpp"
#include "linuxfp/deploy/instance_lock.hpp"
#include "linuxfp/deploy/tc_hook.hpp"
#include "linuxfp/deploy/xdp_hook.hpp"

namespace fastlet::linuxfp {
namespace {

class Cleaner {
public:
    Cleaner(Ledger& ledger, bool dryRun) : ledger_(ledger), dryRun_(dryRun) {}

    Status interface(std::uint32_t ifindex, const std::string& name) {
        FASTLET_TRY(occupant, xdpOccupant(ifindex));
        if (occupant.native.ours) {
            const auto what = fmt::format("XDP program {} (id {}) on {}", occupant.native.name, occupant.native.id, name);
            remove(what, [&] { return detachXdpProgram(ifindex); });
        }
        if (const auto filter = clsactProgram(ifindex); filter.ours) {
            const auto what = fmt::format("tc filter {} (id {}) on {}", filter.name, filter.id, name);
            remove(what, [&] { return removeClsact(ifindex, false); });
        }
        if (ledger_.has("clsact", ifindex))
            remove(fmt::format("clsact qdisc on {}", name), [&] { return removeClsact(ifindex, true); });
        return {};
    }

    /// What is gone from the kernel needs no entry. What could not be removed keeps its own.
    Status settleLedger() {
        if (dryRun_ || failed_) return {};
        const auto entries = ledger_.entries();
        for (const auto& entry : entries) FASTLET_CHECK(ledger_.remove(entry.kind, entry.ifindex));
        return {};
    }

    CleanupReport report;

private:
    template <class Action>
    void remove(const std::string& what, Action action) {
        CleanupItem item{what, false, {}};
        if (!dryRun_) {
            const Status done = action();
            item.removed = done.ok();
            if (!done) item.error = done.error().message;
            failed_ |= !item.removed;
        }
        report.items.push_back(std::move(item));
    }

    Ledger& ledger_;
    bool dryRun_;
    bool failed_ = false;
};

}  // namespace

Result<CleanupReport> cleanup(const CleanupOptions& options) {
    Fd lock;
    if (!options.dryRun) {
        FASTLET_TRY(taken, takeInstanceLock());
        lock = std::move(taken);
    }
    FASTLET_TRY(ledger, Ledger::open(options.stateDir));
    const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> names(::if_nameindex(), ::if_freenameindex);
    if (!names) return Error::fromErrno("cannot list the interfaces", errno);
    Cleaner cleaner(ledger, options.dryRun);
    for (const auto* entry = names.get(); entry->if_index; ++entry)
        FASTLET_CHECK(cleaner.interface(entry->if_index, entry->if_name));
    FASTLET_CHECK(cleaner.settleLedger());
    return std::move(cleaner.report);
}

}  // namespace fastlet::linuxfp
