// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "agent/config/config.hpp"
#include "agent/daemon/daemon.hpp"
#include "agent/paths.hpp"
#include "core/log.hpp"

namespace {

using namespace fastlet;  // NOLINT: the program's own namespace, in its only file

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int checkConfig(const std::string& path) {
    const auto config = agent::loadConfig(path);
    if (config) {
        std::cout << path << " is a valid configuration\n";
        return 0;
    }
    log::report(log::Level::error, config.error());
    return kFailed;
}

int run(const agent::DaemonOptions& options) {
    const auto done = agent::runDaemon(options);
    if (done) return 0;
    log::report(log::Level::error, done.error());
    return kFailed;
}

int start(int argc, char** argv) {
    CLI::App app{"Fastlet: makes what this Linux node already does faster", "fastlet"};
    app.set_version_flag("--version", "fastlet " FASTLET_VERSION);
    std::string checked;
    app.add_option("--check-config", checked, "check a configuration file and end")->type_name("FILE");
    agent::DaemonOptions options{"", agent::kDefaultSocket, agent::kDefaultStateDir, false, FASTLET_VERSION};
    auto* daemon = app.add_subcommand("run", "the daemon, in the foreground and in this network namespace");
    daemon->add_option("--config", options.configFile, "configuration (TOML); without it, everything has its default")
        ->type_name("FILE");
    daemon->add_option("--socket", options.socketPath, "control socket")->type_name("PATH")->capture_default_str();
    daemon->add_option("--state-dir", options.stateDir, "what is placed in the kernel is noted here")
        ->type_name("DIR")
        ->capture_default_str();
    daemon->add_flag("--observe", options.observe, "plan and explain, attach nothing");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? 0 : kUsage;
    }
    if (!checked.empty()) return checkConfig(checked);
    if (daemon->parsed()) return run(options);
    std::cerr << app.help();
    return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return start(argc, argv);
    } catch (const std::exception& exception) {
        std::cerr << "error: " << exception.what() << '\n';
        return kFailed;
    }
}
