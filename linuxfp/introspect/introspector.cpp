// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/introspect/introspector.hpp"

#include <cerrno>

#include "core/read_file.hpp"
#include "linuxfp/introspect/readers.hpp"

namespace fastlet::linuxfp {
namespace {

// Each repetition needs another change within the few microseconds or milliseconds of one dump.
constexpr int kAttempts = 8;

template <class Read>
Status untilConsistent(const char* what, Read read) {
    for (int attempt = 1;; ++attempt) {
        Status done = read();
        if (done) return done;
        if (done.error().code != EINTR || attempt == kAttempts)
            return std::move(done).error().withContext(std::string("reading ") + what);
    }
}

}  // namespace

ProcReader realProcReader() {
    return [](const std::string& path) {
        // /proc/net is the process's namespace, the thread's own may be another.
        const char* root = path.starts_with("net/") ? "/proc/thread-self/" : "/proc/";
        return readFile(root + path);
    };
}

Status Introspector::refresh(std::uint32_t categories, NetState& state) {
    NetState next = state;
    const auto wanted = [&](Category category) { return (categories & category) != 0; };
    if (wanted(kLinks)) FASTLET_CHECK(untilConsistent("links", [&] { return readLinks(netlink_, hooks_, proc_, next); }));
    if (wanted(kAddresses)) FASTLET_CHECK(untilConsistent("addresses", [&] { return readAddresses(netlink_, next); }));
    if (wanted(kRules)) FASTLET_CHECK(untilConsistent("policy rules", [&] { return readRules(netlink_, next); }));
    // A new link has settings of its own, and no event may have told them.
    if (wanted(kConf) || wanted(kLinks))
        FASTLET_CHECK(untilConsistent("network settings", [&] { return readConf(netlink_, proc_, next); }));
    // Told by a link's event when one comes; when it has gone, by nothing (a macvlan's port is destroyed after the event).
    if (wanted(kConf) || wanted(kLinks)) readRxHandlers(hooks_, next);
    if (wanted(kRoutes)) FASTLET_CHECK(untilConsistent("routes", [&] { return readRoutes(netlink_, next); }));
    if (wanted(kNftables)) FASTLET_CHECK(untilConsistent("nftables", [&] { return readNftables(netlink_, next); }));
    if (wanted(kNftables) || wanted(kLinks)) expandDevices(next);
    state = std::move(next);
    return {};
}

}  // namespace fastlet::linuxfp
