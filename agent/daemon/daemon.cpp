// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/daemon.hpp"

#include <systemd/sd-daemon.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "agent/config/config.hpp"
#include "agent/control/server.hpp"
#include "core/event_loop.hpp"
#include "core/log.hpp"
#include "linuxfp/service.hpp"

namespace fastlet::agent {
namespace {

// The supervisor, when there is one (sd_notify(3) does nothing without it).
Status watchdog(EventLoop& loop) {
    std::uint64_t microseconds = 0;
    if (::sd_watchdog_enabled(0, &microseconds) <= 0) return {};
    // Half of what the supervisor waits, as sd_watchdog_enabled(3) advises.
    const auto period = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::microseconds(microseconds / 2));
    return loop.every(std::max(period, std::chrono::milliseconds(1)), [] { ::sd_notify(0, "WATCHDOG=1"); });
}

Result<Config> configuration(const DaemonOptions& options) {
    if (options.configFile.empty()) return Config{};
    return loadConfig(options.configFile);
}

// An invalid file keeps what there is: nothing is taken from it.
void reload(const DaemonOptions& options, linuxfp::Service& service) {
    if (options.configFile.empty()) return log::info("SIGHUP: there is no configuration file to read again");
    const auto config = loadConfig(options.configFile);
    if (!config) {
        log::report(log::Level::error, config.error());
        return log::warning("the configuration stays as it was");
    }
    log::setLevel(config->logLevel);
    if (auto done = service.configure(config->linuxfp); !done) return log::report(log::Level::error, done.error());
    log::info("the configuration {} has been read again", options.configFile);
}

}  // namespace

Status runDaemon(const DaemonOptions& options) {
    FASTLET_TRY(config, configuration(options));
    log::setLevel(config.logLevel);
    FASTLET_TRY(loop, EventLoop::create());
    const auto stop = [&loop = *loop] { loop.stop(); };
    FASTLET_CHECK(loop->onSignal(SIGTERM, stop));
    FASTLET_CHECK(loop->onSignal(SIGINT, stop));
    // Handled when the loop runs, and then there is a service; one that comes during the start must not end the daemon.
    std::unique_ptr<linuxfp::Service> service;
    FASTLET_CHECK(loop->onSignal(SIGHUP, [&] { reload(options, *service); }));
    // Before the engine: a socket that cannot be had must not cost anybody a packet.
    FASTLET_TRY(socket, ListeningSocket::open(options.socketPath));
    FASTLET_TRY(started, linuxfp::startService(*loop, {config.linuxfp, options.observe, options.stateDir}));
    service = std::move(started);
    ControlOptions control;
    control.version = options.version;
    FASTLET_TRY(server, ControlServer::open(*loop, std::move(socket), service->engine(), control));
    FASTLET_CHECK(watchdog(*loop));
    log::info("fastlet {} runs; ask it with: fastctl --socket {} status", options.version, options.socketPath);
    ::sd_notify(0, "READY=1");
    const Status ended = loop->run();
    ::sd_notify(0, "STOPPING=1");
    const Status stopped = service->stop();
    return ended ? stopped : ended;
}

}  // namespace fastlet::agent
