// SPDX-License-Identifier: Apache-2.0
// fastlet-oracle: Linux with the fast path off against Linux with fastlet on, packet by packet (docs/developers/oracle.md).
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>

#include "core/log.hpp"
#include "tests/oracle/run.hpp"

namespace fastlet::oracle {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kShownDifferences = 3;

struct Settings {
    std::uint64_t seed = 1;
    std::uint32_t configurations = 20;
    std::uint32_t packets = 500;
    std::string hook = "tc";
    std::string fastlet;
    double seconds = 0;
    bool selfTest = false;
    bool show = false;
    bool keepGoing = false;
    double minimumShare = 0;
};

struct Totals {
    std::uint64_t configurations = 0, sent = 0, received = 0, refused = 0, refusedPackets = 0, noise = 0, different = 0;
    std::uint64_t forwarded4 = 0, forwarded6 = 0;  ///< by plain Linux
    FastCounters fast;
};

void printConfiguration(const Configuration& configuration, std::size_t changes) {
    const auto print = [](const std::vector<Command>& commands) {
        for (const auto& command : commands) fmt::print("    {}\n", asShell(command));
    };
    print(configuration.links);
    print(configuration.rest);
    for (std::size_t i = 0; i < changes && i < configuration.changes.size(); ++i) {
        fmt::print("    # then, while packets flow:\n");
        print(configuration.changes[i]);
    }
}

// Every kind of fault that a fast path could make, put into a run that had none: all must be noticed.
std::vector<std::pair<std::string, Outcome>> faults(const Outcome& good) {
    std::vector<std::pair<std::string, Outcome>> result;
    std::size_t at = SIZE_MAX;
    for (std::size_t i = 0; i < good.steps.size(); ++i) {
        if (!good.steps[i].empty()) at = i;
    }
    if (at == SIZE_MAX) return result;
    const auto add = [&](const char* name, auto&& damage) {
        Outcome copy = good;
        damage(copy);
        result.emplace_back(name, std::move(copy));
    };
    add("one bit changed", [&](Outcome& bad) { bad.steps[at].front().frame.back() ^= 1; });
    add("TTL not decremented", [&](Outcome& bad) { ++bad.steps[at].front().frame[kEthernet + 8]; });
    add("one byte longer", [&](Outcome& bad) { bad.steps[at].front().frame.push_back(0); });
    add("one packet lost", [&](Outcome& bad) { bad.steps[at].erase(bad.steps[at].begin()); });
    add("one packet twice", [&](Outcome& bad) { bad.steps[at].push_back(bad.steps[at].front()); });
    add("wrong port", [&](Outcome& bad) { bad.steps[at].front().port ^= 1; });
    add("a counter ahead", [&](Outcome& bad) { ++bad.counters["Ip.ForwDatagrams"]; });
    add("a neighbour forgotten", [&](Outcome& bad) { bad.neighbours.emplace_back("r0 10.9.9.9 -"); });
    return result;
}

class Oracle {
public:
    explicit Oracle(Settings settings) : settings_(std::move(settings)) {}

    /// Exit code.
    int run(HookChoice hook) {
        hook_ = hook;
        totals_ = {};
        const auto begin = Clock::now();
        const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
        for (std::uint32_t i = 0; i < settings_.configurations; ++i) {
            if (settings_.seconds > 0 && elapsed() > settings_.seconds) break;
            const auto status = one(settings_.seed + i);
            if (!status) {
                fmt::print("seed {}: the comparison itself failed\n", settings_.seed + i);
                log::report(log::Level::error, status.error());
                return 1;
            }
            if (totals_.different > 0 && !settings_.keepGoing) break;
        }
        summary(elapsed());
        return verdict();
    }

private:
    [[nodiscard]] bool alone() const { return settings_.fastlet.empty(); }

    Status one(std::uint64_t seed) {
        const auto configuration = makeConfiguration(seed);
        const auto steps = makeSteps(seed, configuration, {settings_.packets, hook_ == HookChoice::tc});
        if (settings_.show) printConfiguration(configuration, SIZE_MAX);
        RunOptions options{hook_ == HookChoice::xdp, "", hook_};
        FASTLET_TRY(plain, runOnce(configuration, steps, options));
        options.fastlet = settings_.fastlet;
        count(steps, plain);
        if (settings_.selfTest) return selfTest(configuration, steps, options, plain);
        FASTLET_TRY(other, runOnce(configuration, steps, options));
        totals_.fast.add(other.fast);
        const bool ordered = alone() || hook_ == HookChoice::tc;
        auto differences = compare(steps, plain, other, ordered);
        if (!differences.empty() && !alone()) {
            FASTLET_TRY(again, runOnce(configuration, steps, {options.hostNapi, "", hook_}));
            removeNoise(compare(steps, plain, again, ordered), differences);
        }
        if (!differences.empty()) report(configuration, steps, differences);
        return {};
    }

    // What plain Linux does differently from itself cannot be held against the fast path.
    void removeNoise(const std::vector<Difference>& noise, std::vector<Difference>& differences) {
        std::set<std::size_t> noisy;
        for (const auto& one : noise) noisy.insert(one.step);
        totals_.noise += std::erase_if(differences, [&](const Difference& one) { return noisy.count(one.step) > 0; });
    }

    Status selfTest(const Configuration& configuration, const std::vector<Step>& steps, const RunOptions& options,
                    const Outcome& plain) {
        for (const auto& [name, outcome] : faults(plain)) {
            if (compare(steps, plain, outcome, true).empty()) return Error::make("not noticed: " + name);
            ++totals_.noise;
        }
        auto changed = configuration;
        changed.rest.push_back({Tool::sysctl, "net/ipv4/ip_forward=0"});
        FASTLET_TRY(other, runOnce(changed, steps, options));
        if (plain.counters.at("Ip.ForwDatagrams") > 0 && compare(steps, plain, other, true).empty()) {
            return Error::make("not noticed: a router that does not forward");
        }
        ++totals_.noise;
        return {};
    }

    void count(const std::vector<Step>& steps, const Outcome& plain) {
        ++totals_.configurations;
        for (const auto& step : steps) totals_.sent += step.packets.size();
        for (const auto& step : plain.steps) totals_.received += step.size();
        totals_.forwarded4 += plain.counters.at("Ip.ForwDatagrams");
        totals_.forwarded6 += plain.counters.at("Ip6OutForwDatagrams");
        totals_.refused += plain.refused.size();
        totals_.refusedPackets += plain.refusedPackets;
        for (const auto& line : plain.refused) {
            if (settings_.show) fmt::print("    refused: {}\n", line);
        }
    }

    void report(const Configuration& configuration, const std::vector<Step>& steps, const std::vector<Difference>& differences) {
        ++totals_.different;
        fmt::print("DIFFERENCE with seed {} ({} in all); repeat with: --seed {} --configurations 1 --packets {} --hook {}\n",
                   configuration.seed, differences.size(), configuration.seed, settings_.packets,
                   hook_ == HookChoice::xdp ? "xdp" : "tc");
        std::size_t changes = 0;
        for (std::size_t i = 0; i < steps.size() && i <= differences.front().step; ++i) changes += steps[i].change != SIZE_MAX;
        fmt::print("  configuration, up to the first difference:\n");
        printConfiguration(configuration, changes);
        for (std::size_t i = 0; i < differences.size() && i < kShownDifferences; ++i) {
            const auto& one = differences[i];
            fmt::print("  {}:\n{}", one.step == SIZE_MAX ? "in the end" : fmt::format("step {}", one.step), one.text);
        }
        if (differences.size() > kShownDifferences) {
            fmt::print("  and in steps:");
            for (std::size_t i = kShownDifferences; i < differences.size(); ++i) {
                if (differences[i].step != SIZE_MAX)
                    fmt::print(" {}", differences[i].step);
                else
                    fmt::print("\n{}", differences[i].text);
            }
            fmt::print("\n");
        }
        std::fflush(stdout);
    }

    [[nodiscard]] double share() const {
        return totals_.received == 0 ? 0 : static_cast<double>(totals_.fast.fast()) / static_cast<double>(totals_.received);
    }

    void summary(double seconds) const {
        const auto& all = totals_;
        fmt::print(
            "{} configurations, {} packets sent, {} came out, Linux forwarded {} IPv4 and {} IPv6, {} commands and {} packets "
            "refused by the kernel, {:.1f} s\n",
            all.configurations, all.sent, all.received, all.forwarded4, all.forwarded6, all.refused, all.refusedPackets, seconds);
        if (settings_.selfTest) return fmt::print("{} faults, all noticed\n", all.noise);
        if (alone()) return fmt::print("Linux against Linux: {} configurations differ\n", all.different);
        fmt::print(
            "fastlet on {}: {} IPv4 and {} IPv6 packets took the fast path, {:.1f} % of what came out; {} of {} interfaces "
            "accelerated; {} packets held\n",
            hook_ == HookChoice::xdp ? "xdp" : "tc", all.fast.fast4, all.fast.fast6, share() * 100, all.fast.accelerated,
            all.fast.interfaces, all.fast.held);
        for (const auto& [reason, packets] : all.fast.slow) fmt::print("  left to Linux: {} {}\n", packets, reason);
        for (const auto& [reason, number] : all.fast.unplanned)
            fmt::print("  interfaces with the reason {}: {}\n", reason, number);
        fmt::print("{} configurations differ; {} steps where Linux differs from itself\n", all.different, all.noise);
    }

    [[nodiscard]] int verdict() const {
        if (totals_.different > 0 || totals_.configurations == 0) return 1;
        if (!alone() && share() * 100 < settings_.minimumShare) {
            fmt::print("less than {:.0f} % took the fast path: this run has proved too little\n", settings_.minimumShare);
            return 1;
        }
        return 0;
    }

    Settings settings_;
    HookChoice hook_ = HookChoice::tc;
    Totals totals_;
};

// The kernel then handles the packets on this CPU, one after the other, while the daemon has the others.
void stayOnOneCpu() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<std::size_t>(std::max(0, ::sched_getcpu())), &cpus);
    ::sched_setaffinity(0, sizeof cpus, &cpus);
}

int mainOf(int argc, char** argv) {
    Settings settings;
    CLI::App app("Compares Linux with the fast path off with Linux with fastlet on, for random configurations and packets.");
    app.add_option("--seed", settings.seed, "seed of the first configuration; the next one has the next seed");
    app.add_option("--configurations", settings.configurations, "how many");
    app.add_option("--packets", settings.packets, "per configuration");
    app.add_option("--hook", settings.hook, "where fastlet attaches on veth")->check(CLI::IsMember({"tc", "xdp", "both"}));
    app.add_option("--fastlet", settings.fastlet, "the daemon; fastctl stands beside it. Without: Linux against Linux")
        ->check(CLI::ExistingFile);
    app.add_option("--seconds", settings.seconds, "begin no configuration after this time");
    app.add_option("--minimum-share", settings.minimumShare, "fail when less than this percentage took the fast path");
    app.add_flag("--self-test", settings.selfTest, "put faults into one run; fails when one is not noticed");
    app.add_flag("--show", settings.show, "print each configuration");
    app.add_flag("--keep", settings.keepGoing, "go on after a difference");
    CLI11_PARSE(app, argc, argv);
    if (::geteuid() != 0) {
        fmt::print(stderr, "fastlet-oracle makes network namespaces: run it as root\n");
        return 77;
    }
    if (!settings.fastlet.empty()) settings.fastlet = std::filesystem::absolute(settings.fastlet).string();
    stayOnOneCpu();
    Oracle oracle(settings);
    int code = 0;
    if (settings.hook != "xdp") code |= oracle.run(HookChoice::tc);
    if (settings.hook != "tc") code |= oracle.run(HookChoice::xdp);
    return code;
}

}  // namespace

}  // namespace fastlet::oracle

int main(int argc, char** argv) { return fastlet::oracle::mainOf(argc, argv); }
