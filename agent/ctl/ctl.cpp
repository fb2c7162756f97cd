// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/ctl.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>

#include "agent/ctl/arguments.hpp"
#include "agent/ctl/commands.hpp"
#include "agent/ctl/doctor.hpp"
#include "agent/paths.hpp"
#include "core/text.hpp"

namespace fastlet::agent {
namespace {

// The words as they were given; they are looked at after all of them have been read.
struct Words {
    std::string socket = kDefaultSocket;
    std::string stateDir = kDefaultStateDir;
    bool json = false;
    // Given but empty is not the same as not given: `fastctl fp off "$UNSET"` must not mean all interfaces.
    std::optional<std::string> interface;
    std::optional<std::string> source, destination, protocol, sourcePort, destinationPort, size;
    bool watch = false;
    bool dryRun = false;
    std::optional<std::string> count, periodMilliseconds;
};

struct Outcome {
    int code = kDone;
    Error error;
};

Outcome usage(Error error) { return {kUsage, std::move(error)}; }
Outcome outcome(Status status) {
    if (status) return {};
    return {kFailed, std::move(status).error()};
}

class Ctl {
public:
    Ctl(std::string version, std::ostream& out) : out_(out), version_(std::move(version)) { describe(); }

    Outcome run(std::vector<std::string> arguments) {
        std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
        try {
            app_.parse(std::move(arguments));
        } catch (const CLI::Success&) {
            out_ << helped()->help();
            return {};
        } catch (const CLI::ParseError& error) {
            return usage(Error::make(firstLine(error.what()), suggest()));
        }
        return action_ ? action_() : usage(Error::make("no command", "`fastctl --help` lists them"));
    }

private:
    using Action = std::function<Outcome()>;

    CLI::App* command(CLI::App& parent, const char* name, const char* text, Action action) {
        auto* sub = parent.add_subcommand(name, text);
        sub->fallthrough();
        sub->callback([this, action = std::move(action)] { action_ = action; });
        return sub;
    }

    void describe() {
        app_.require_subcommand(1);
        app_.add_option("--socket", words_.socket, "The daemon's control socket")->take_last()->capture_default_str();
        app_.add_flag("-j,--json", words_.json, "Print JSON");
        command(app_, "status", "Is the daemon running, what is accelerated, how much",
                [this] { return outcome(showStatus(words_.socket, output())); });
        command(app_, "doctor", "Can this kernel and this user run the fast path", [this] { return doctor(); });
        auto* cleanup = command(app_, "cleanup", "Remove what a killed daemon left; needs no daemon",
                                [this] { return outcome(cleanUp(words_.dryRun, words_.stateDir, output())); });
        cleanup->add_flag("--dry-run", words_.dryRun, "Only list");
        cleanup->add_option("--state-dir", words_.stateDir, "Where the daemon keeps its ledger")
            ->take_last()
            ->capture_default_str();
        command(app_, "version", "Print the version", [this] {
            showVersion(version_, output());
            return Outcome{};
        });
        describeFastPath();
    }

    void describeFastPath() {
        auto* fp = app_.add_subcommand("fp", "The fast path of packets");
        fp->require_subcommand(1);
        fp->fallthrough();
        auto* plan = command(*fp, "plan", "Hook, families and reasons of each interface", [this] { return showPlanOf(); });
        plan->add_option("IFACE", words_.interface, "Only this interface");
        auto* explain = command(*fp, "explain", "What would happen to a packet, and why", [this] { return explainPacket(); });
        explain->add_option("IFACE", words_.interface, "Where it comes in")->required();
        explain->add_option("--src", words_.source, "Source address");
        explain->add_option("--dst", words_.destination, "Destination address");
        explain->add_option("--proto", words_.protocol, "tcp, udp, icmp, icmpv6, sctp or a number");
        explain->add_option("--sport", words_.sourcePort, "Source port");
        explain->add_option("--dport", words_.destinationPort, "Destination port");
        explain->add_option("--size", words_.size, "Length of the IP packet in bytes");
        auto* stats =
            command(*fp, "stats", "Packets by interface and by the reason they went to Linux", [this] { return showCounters(); });
        stats->add_flag("--watch", words_.watch, "Every second, until SIGINT");
        stats->add_option("--count", words_.count)->group("");
        stats->add_option("--period-ms", words_.periodMilliseconds)->group("");
        for (const bool enabled : {false, true}) {
            auto* toggle =
                command(*fp, enabled ? "on" : "off", enabled ? "Allow the fast path again" : "Leave all packets to Linux",
                        [this, enabled] { return toggleFastPath(enabled); });
            toggle->add_option("IFACE", words_.interface, "Only this interface");
        }
    }

    [[nodiscard]] Output output() const { return {out_, words_.json}; }

    static std::string firstLine(std::string text) { return text.substr(0, text.find('\n')); }

    // The command whose help was asked for.
    CLI::App* helped() {
        CLI::App* app = &app_;
        while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
        return app;
    }

    std::string suggest() {
        CLI::App* app = helped();
        std::vector<std::string> known;
        for (const auto* sub : app->get_subcommands(nullptr)) known.push_back(sub->get_name());
        for (const auto& word : app_.remaining(true))
            if (const auto near = nearest(word, known)) return "did you mean \"" + *near + "\"?";
        std::string name = "fastctl";
        for (CLI::App* sub = &app_; !sub->get_subcommands().empty();) {
            sub = sub->get_subcommands().front();
            name += " " + sub->get_name();
        }
        return "`" + name + " --help` says what is possible";
    }

    Outcome showPlanOf() {
        if (auto outcome = checkInterface(); outcome.code != kDone) return outcome;
        return outcome(showPlan(words_.socket, words_.interface.value_or(""), output()));
    }

    Outcome toggleFastPath(bool enabled) {
        if (auto outcome = checkInterface(); outcome.code != kDone) return outcome;
        return outcome(switchFastPath(words_.socket, words_.interface.value_or(""), enabled, output()));
    }

    Outcome checkInterface() {
        if (!words_.interface) return {};
        if (auto checked = checkInterfaceName(*words_.interface); !checked) return usage(std::move(checked).error());
        return {};
    }

    Result<Json> packet() {
        constexpr std::uint64_t kMaxPort = std::numeric_limits<std::uint16_t>::max();
        const std::string interface = words_.interface.value_or("");
        FASTLET_CHECK(checkInterfaceName(interface));
        Json query = Json::object({{"interface", interface}});
        const auto address = [&](const char* option, const std::optional<std::string>& text, const char* key) -> Status {
            if (!text) return {};
            FASTLET_TRY(parsed, parseAddress(option, *text));
            query[key] = parsed.toString();
            return {};
        };
        const auto number = [&](const char* option, const std::optional<std::string>& text, const char* key,
                                std::uint64_t maximum) -> Status {
            if (!text) return {};
            FASTLET_TRY(parsed, parseNumber(option, *text, 0, maximum));
            query[key] = parsed;
            return {};
        };
        FASTLET_CHECK(address("--src", words_.source, "source"));
        FASTLET_CHECK(address("--dst", words_.destination, "destination"));
        FASTLET_CHECK(number("--sport", words_.sourcePort, "source_port", kMaxPort));
        FASTLET_CHECK(number("--dport", words_.destinationPort, "destination_port", kMaxPort));
        FASTLET_CHECK(number("--size", words_.size, "size", std::numeric_limits<std::uint32_t>::max()));
        if (words_.protocol) {
            FASTLET_TRY(protocol, parseProtocol("--proto", *words_.protocol));
            query["protocol"] = protocol;
        }
        if (words_.source && words_.destination &&
            IpAddress::parse(*words_.source)->family != IpAddress::parse(*words_.destination)->family)
            return Error::make("--src and --dst are not of one address family");
        return query;
    }

    Outcome explainPacket() {
        auto query = packet();
        if (!query) return usage(std::move(query).error());
        return outcome(showExplanation(words_.socket, *query, output()));
    }

    Outcome showCounters() {
        WatchOptions watch;
        watch.on = words_.watch;
        if (words_.count) {
            auto count = parseNumber("--count", *words_.count, 1, std::numeric_limits<std::uint32_t>::max());
            if (!count) return usage(std::move(count).error());
            watch.count = *count;
        }
        if (words_.periodMilliseconds) {
            auto period = parseNumber("--period-ms", *words_.periodMilliseconds, 1, 60000);
            if (!period) return usage(std::move(period).error());
            watch.period = std::chrono::milliseconds(*period);
        }
        return outcome(showStats(words_.socket, watch, output()));
    }

    Outcome doctor() {
        const auto findings = examine(thisHost(words_.socket));
        out_ << (words_.json ? dump(toJson(findings), 2) + '\n' : toText(findings));
        if (healthy(findings)) return {};
        return {kFailed, Error::make("something that is needed is missing", "see the lines that say fail")};
    }

    std::ostream& out_;
    std::string version_;
    CLI::App app_{"Asks and steers the Fastlet daemon.", "fastctl"};
    Words words_;
    Action action_;
};

}  // namespace

int runCtl(const std::vector<std::string>& arguments, const std::string& version, std::ostream& out, std::ostream& err) {
    const auto result = Ctl(version, out).run(arguments);
    out.flush();
    if (result.code != kDone) {
        err << "error: " << result.error.message << '\n';
        if (!result.error.hint.empty()) err << "HINT: " << result.error.hint << '\n';
    }
    return result.code;
}

}  // namespace fastlet::agent
