// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/daemon.hpp"

#include <systemd/sd-daemon.h>

#include <chrono>
#include <csignal>

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

}  // namespace

Status runDaemon(const DaemonOptions& options) {
    FASTLET_TRY(config, configuration(options));
    log::setLevel(config.logLevel);
    FASTLET_TRY(loop, EventLoop::create());
    const auto stop = [&loop = *loop] { loop.stop(); };
    FASTLET_CHECK(loop->onSignal(SIGTERM, stop));
    FASTLET_CHECK(loop->onSignal(SIGINT, stop));
    // Before the engine: a socket that cannot be had must not cost anybody a packet.
    FASTLET_TRY(socket, ListeningSocket::open(options.socketPath));
    FASTLET_TRY(service, linuxfp::startService(*loop, {config.linuxfp, options.observe, options.stateDir}));
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
