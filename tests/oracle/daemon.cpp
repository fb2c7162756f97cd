// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/daemon.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/oracle/process.hpp"

namespace fastlet::oracle {

namespace {

using Json = nlohmann::json;
constexpr auto kReadyTimeout = std::chrono::seconds(10);
constexpr int kStopSeconds = 10;

std::string readFile(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool settled(const Json& status) {
    const auto engine = status.value("linuxfp", Json::object());
    if (!status.value("ready", false) || engine.value("held_all", true)) return false;
    const auto interfaces = engine.value("interfaces", Json::array());
    for (const auto& interface : interfaces) {
        if (interface.value("held", false)) return false;
    }
    return true;
}

}  // namespace

void FastCounters::add(const FastCounters& other) {
    fast4 += other.fast4;
    fast6 += other.fast6;
    held += other.held;
    accelerated += other.accelerated;
    interfaces += other.interfaces;
    for (const auto& [reason, packets] : other.slow) slow[reason] += packets;
    for (const auto& [reason, count] : other.unplanned) unplanned[reason] += count;
}

Result<std::unique_ptr<Daemon>> Daemon::start(const std::string& program, HookChoice hook) {
    auto daemon = std::unique_ptr<Daemon>(new Daemon);
    std::string pattern = (std::filesystem::temp_directory_path() / "fastlet-oracle-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) return Error::fromErrno("cannot make a folder", errno);
    daemon->directory_ = pattern;
    daemon->program_ = program;
    daemon->client_ = (std::filesystem::path(program).parent_path() / "fastctl").string();
    std::ofstream(pattern + "/fastlet.toml")
        << "[linuxfp]\nvirtual_hook = \"" << (hook == HookChoice::xdp ? "xdp" : "tc") << "\"\n";
    FASTLET_TRY(pid, oracle::start({program, "run", "--config", pattern + "/fastlet.toml", "--socket", pattern + "/socket",
                                    "--state-dir", pattern + "/state"},
                                   pattern + "/log"));
    daemon->pid_ = pid;
    FASTLET_CHECK(daemon->awaitReady());
    return daemon;
}

Daemon::~Daemon() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Error Daemon::failure(const std::string& what) const {
    auto log = readFile(directory_ + "/log");
    if (log.size() > 2000) log.erase(0, log.size() - 2000);
    return Error::make(program_ + " " + what + "; its log ends with:\n" + log);
}

Result<std::string> Daemon::ask(const std::string& object, const std::string& verb) {
    std::vector<std::string> arguments = {client_, "--socket", directory_ + "/socket", "-j", object};
    if (!verb.empty()) arguments.push_back(verb);
    FASTLET_TRY(finished, run(arguments));
    if (finished.status != 0) return Error::make("fastctl failed: " + finished.errors);
    return finished.output;
}

Status Daemon::awaitReady() {
    const auto deadline = std::chrono::steady_clock::now() + kReadyTimeout;
    std::string last;
    while (std::chrono::steady_clock::now() < deadline) {
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            pid_ = -1;
            return failure("ended at once");
        }
        const auto answer = ask("status", "");
        if (answer.ok()) {
            last = *answer;
            const auto status = Json::parse(last, nullptr, false);
            if (status.is_object() && settled(status)) return {};
        }
        ::usleep(5000);
    }
    return failure("did not become ready; last status: " + last);
}

Result<FastCounters> Daemon::counters() {
    FASTLET_TRY(statistics, ask("fp", "stats"));
    FASTLET_TRY(text, ask("status", ""));
    const auto json = Json::parse(statistics, nullptr, false);
    const auto status = Json::parse(text, nullptr, false);
    if (json.is_discarded() || status.is_discarded()) return Error::make("fastctl does not answer in JSON");
    FastCounters result;
    const auto measured = json.value("interfaces", Json::array());
    for (const auto& interface : measured) {
        result.fast4 += interface.value("fast4_packets", std::uint64_t{0});
        result.fast6 += interface.value("fast6_packets", std::uint64_t{0});
        result.held += interface.value("held_packets", std::uint64_t{0});
        const auto slow = interface.value("slow", Json::object());
        for (const auto& [reason, packets] : slow.items()) {
            result.slow[reason] += packets.get<std::uint64_t>();
        }
    }
    const auto planned = status.value("linuxfp", Json::object()).value("interfaces", Json::array());
    for (const auto& interface : planned) {
        ++result.interfaces;
        if (interface.value("hook", "none") != "none") ++result.accelerated;
        for (const auto& reason : interface.value("reasons", Json::array())) {
            const auto line = reason.get<std::string>();
            ++result.unplanned[line.substr(0, line.find(':'))];
        }
    }
    return result;
}

Status Daemon::stop() {
    const pid_t pid = std::exchange(pid_, -1);
    FASTLET_TRY(code, terminate(pid, kStopSeconds));
    if (code != 0) return failure(fmt::format("ended with {} after SIGTERM", code));
    return {};
}

}  // namespace fastlet::oracle
