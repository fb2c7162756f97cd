// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/commands.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <ctime>
#include <ostream>

#include "agent/control/client.hpp"
#include "agent/report/table.hpp"
#include "linuxfp/deploy/cleanup.hpp"

namespace fastlet::agent {
namespace {

constexpr int kIndent = 2;

// `decode` makes the report of the reply; text is printed of the report, JSON of the reply as it came.
template <class Decode>
Status show(const Json& reply, Decode decode, const Output& output) {
    if (output.json) {
        output.out << dump(reply, kIndent) << '\n';
        return {};
    }
    FASTLET_TRY(report, decode(reply));
    output.out << toText(report);
    return {};
}

Result<Json> ask(const std::string& socket, const std::string& method, const Json& parameters = Json::object()) {
    FASTLET_TRY(client, ControlClient::connect(socket));
    return client.call(method, parameters);
}

// Blocks the signals that end a watch, so that they can be waited for together with the time.
class EndSignals {
public:
    EndSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    EndSignals(const EndSignals&) = delete;
    EndSignals& operator=(const EndSignals&) = delete;
    ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    /// True: a signal came before `period` was over.
    bool wait(std::chrono::milliseconds period) const {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(period);
        const timespec limit{seconds.count(), std::chrono::nanoseconds(period - seconds).count()};
        return ::sigtimedwait(&set_, nullptr, &limit) > 0;
    }

private:
    sigset_t set_{};
    sigset_t before_{};
};

// Under --dry-run, `removed` is what would be.
Json toJson(const linuxfp::CleanupReport& report, bool dryRun) {
    Json removed = Json::array();
    Json failed = Json::array();
    for (const auto& item : report.items) {
        if (item.error.empty())
            removed.push_back({{"what", item.what}});
        else
            failed.push_back({{"what", item.what}, {"error", item.error}});
    }
    return {{"removed", std::move(removed)}, {"failed", std::move(failed)}, {"dry_run", dryRun}};
}

std::string toText(const linuxfp::CleanupReport& report, bool dryRun) {
    if (report.items.empty()) return "nothing to remove\n";
    std::string text;
    for (const auto& item : report.items) {
        const char* verb = dryRun ? "would remove" : item.removed ? "removed" : "left";
        text += fmt::format("{} {}{}{}\n", verb, printable(item.what), item.error.empty() ? "" : ": ", printable(item.error));
    }
    return text;
}

}  // namespace

Status showStatus(const std::string& socket, const Output& output) {
    FASTLET_TRY(reply, ask(socket, "io.fastlet.Status"));
    return show(reply, statusFromJson, output);
}

Status showPlan(const std::string& socket, const std::string& interface, const Output& output) {
    Json parameters = Json::object();
    if (!interface.empty()) parameters["interface"] = interface;
    FASTLET_TRY(reply, ask(socket, "io.fastlet.linuxfp.Plan", parameters));
    return show(reply, planFromJson, output);
}

Status showExplanation(const std::string& socket, const Json& query, const Output& output) {
    FASTLET_TRY(reply, ask(socket, "io.fastlet.linuxfp.Explain", query));
    return show(reply, explanationFromJson, output);
}

Status showStats(const std::string& socket, const WatchOptions& watch, const Output& output) {
    const EndSignals signals;
    FASTLET_TRY(client, ControlClient::connect(socket));
    for (std::uint64_t shown = 0;; ++shown) {
        FASTLET_TRY(reply, client.call("io.fastlet.linuxfp.Stats"));
        if (shown > 0 && !output.json) output.out << '\n';
        FASTLET_CHECK(show(reply, statsFromJson, output));
        output.out.flush();
        if (!watch.on || !output.out || (watch.count && shown + 1 >= *watch.count)) return {};
        if (signals.wait(watch.period)) return {};
    }
}

Status switchFastPath(const std::string& socket, const std::string& interface, bool enabled, const Output& output) {
    Json parameters = Json::object({{"enabled", enabled}});
    if (!interface.empty()) parameters["interface"] = interface;
    FASTLET_TRY(reply, ask(socket, "io.fastlet.linuxfp.SetEnabled", parameters));
    if (output.json)
        output.out << dump(reply, kIndent) << '\n';
    else
        output.out << fmt::format("fast path {} on {}\n", enabled ? "allowed" : "off",
                                  interface.empty() ? "all interfaces" : printable(interface));
    return {};
}

Status cleanUp(bool dryRun, const std::string& stateDir, const Output& output) {
    FASTLET_TRY(report, linuxfp::cleanup({dryRun, stateDir}));
    output.out << (output.json ? dump(toJson(report, dryRun), kIndent) + '\n' : toText(report, dryRun));
    for (const auto& item : report.items)
        if (!item.error.empty())
            return Error::make("not everything could be removed", "run it again as root, or remove the rest with ip and tc");
    return {};
}

void showVersion(const std::string& version, const Output& output) {
    if (output.json)
        output.out << dump(Json::object({{"version", version}}), kIndent) << '\n';
    else
        output.out << "fastctl " << version << '\n';
}

}  // namespace fastlet::agent
