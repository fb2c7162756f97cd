// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

namespace fastlet::oracle {

namespace {

// A change made by a command holds for packets that come this much later: the bound that docs/developers/decisions.md states
// for what nothing notifies, with room for a busy machine.
constexpr useconds_t kSettleMicroseconds = 80'000;
constexpr std::uint32_t kUnreachableBurst = 5;
constexpr std::uint16_t kVxlanPort = 4789;

Status exchangeAll(Sandbox& sandbox, Wire& wire, const Configuration& configuration, const std::vector<Step>& steps,
                   Outcome& outcome) {
    for (const auto& step : steps) {
        if (step.change != SIZE_MAX) {
            FASTLET_CHECK(sandbox.apply(configuration.changes[step.change]));
            wire.refreshPorts();
            ::usleep(kSettleMicroseconds);
        }
        FASTLET_TRY(received, wire.exchange(step.packets));
        outcome.steps.push_back(std::move(received));
    }
    return {};
}

/// Where the parts of a received packet stand.
struct View {
    bool v4 = false;
    std::uint8_t protocol = 0;
    std::size_t transport = 0;
    IpAddress source, destination;
};

std::optional<View> view(const Frame& frame) {
    View result;
    const std::span<const std::uint8_t> all(frame);
    const std::uint16_t type = frame.size() > kEthernet ? get16(frame, 12) : 0;
    if (type == kEtherIpv4 && frame.size() >= kEthernet + 20) {
        result = {true, frame[kEthernet + 9], kEthernet + static_cast<std::size_t>(frame[kEthernet] & 15) * 4,
                  *IpAddress::fromBytes(all.subspan(kEthernet + 12, 4)), *IpAddress::fromBytes(all.subspan(kEthernet + 16, 4))};
    } else if (type == kEtherIpv6 && frame.size() >= kEthernet + 40) {
        result = {false, frame[kEthernet + 6], kEthernet + 40, *IpAddress::fromBytes(all.subspan(kEthernet + 8, 16)),
                  *IpAddress::fromBytes(all.subspan(kEthernet + 24, 16))};
    } else {
        return std::nullopt;
    }
    if (result.transport + 8 > frame.size()) return std::nullopt;
    return result;
}

class Normaliser {
public:
    Normaliser(const Configuration& configuration, Outcome& outcome)
        : own_(configuration.own.begin(), configuration.own.end()), outcome_(outcome) {}

    void step(const Step& sent, std::vector<Received>& received) {
        std::erase_if(received, [&](Received& one) { return !keep(sent, one.frame); });
    }

private:
    bool keep(const Step& sent, Frame& frame) {
        const auto at = view(frame);
        if (!at || isForwarded(sent, frame, *at)) return true;
        return at->v4 ? keep4(sent, frame, *at) : keep6(frame, *at);
    }

    bool keep4(const Step& sent, Frame& frame, const View& at) {
        if (at.protocol == kIgmp) return false;
        set16(frame, kEthernet + 4, 0);
        set16(frame, kEthernet + 10, 0);
        if (at.protocol == kUdp && get16(frame, at.transport + 2) == kVxlanPort) return keepInner(sent, frame, at);
        if (at.protocol != kIcmp) return true;
        const std::uint8_t type = frame[at.transport];
        if (type == 5) return ++outcome_.redirects, false;
        if (type == 14) frame.resize(at.transport + 8), set16(frame, at.transport + 2, 0);  // times of day
        return type != 3 || ++unreachable_[at.destination] <= kUnreachableBurst;
    }

    /// What a tunnel carries is the router's own, too.
    bool keepInner(const Step& sent, Frame& frame, const View& at) {
        const auto begin = frame.begin() + static_cast<std::ptrdiff_t>(std::min(at.transport + 16, frame.size()));
        Frame inner(begin, frame.end());
        if (!keep(sent, inner)) return false;
        frame.erase(begin, frame.end());
        put(frame, inner);
        return true;
    }

    bool keep6(Frame& frame, const View& at) {
        const bool hopByHop = at.protocol == 0 && at.transport + 9 < frame.size();
        const std::uint8_t type = frame[at.transport + (hopByHop ? 8 : 0)];
        if ((hopByHop || at.protocol == kIcmpv6) && (type == 131 || type == 132 || type == 143)) return false;
        if (at.protocol == kIcmpv6 && type == 137) return ++outcome_.redirects, false;
        if (at.protocol == 44) set16(frame, at.transport + 4, 0), set16(frame, at.transport + 6, 0);
        return true;
    }

    /// Did we send it: same addresses, same protocol, and, where it could be the router's own, the same identification.
    [[nodiscard]] bool isForwarded(const Step& sent, const Frame& frame, const View& at) const {
        const bool mayBeOwn = at.v4 && own_.count(at.source) > 0;
        return std::any_of(sent.packets.begin(), sent.packets.end(), [&](const Packet& packet) {
            const auto other = view(packet.frame);
            return other && other->source == at.source && other->destination == at.destination &&
                   other->protocol == at.protocol &&
                   (!mayBeOwn || get16(packet.frame, kEthernet + 4) == get16(frame, kEthernet + 4));
        });
    }

    std::set<IpAddress> own_;
    Outcome& outcome_;
    std::map<IpAddress, std::uint32_t> unreachable_;
};

}  // namespace

Result<Outcome> runOnce(const Configuration& configuration, const std::vector<Step>& steps, const RunOptions& options) {
    Outcome outcome;
    FASTLET_TRY(sandbox, Sandbox::build(configuration, options.hostNapi));
    FASTLET_TRY(wire, Wire::open(*sandbox, configuration));
    sandbox->enterRouter();
    std::unique_ptr<Daemon> daemon;
    if (!options.fastlet.empty()) {
        FASTLET_TRY(started, Daemon::start(options.fastlet, options.hook));
        daemon = std::move(started);
    }
    const auto before = sandbox->counters();
    FASTLET_CHECK(exchangeAll(*sandbox, *wire, configuration, steps, outcome));
    outcome.counters = sandbox->counters();
    for (auto& [name, value] : outcome.counters) {
        const auto at = before.find(name);
        if (at != before.end()) value -= at->second;
    }
    if (getenv("ODBG"))
        for (auto& [n, v] : outcome.counters)
            if (v) fmt::print("DBG {} {}\n", n, v);
    outcome.neighbours = sandbox->neighbours();
    outcome.refused = sandbox->refused();
    outcome.refusedPackets = wire->refused();
    if (daemon) {
        FASTLET_TRY(fast, daemon->counters());
        outcome.fast = fast;
        FASTLET_CHECK(daemon->stop());
    }
    normalise(configuration, steps, outcome);
    return outcome;
}

void normalise(const Configuration& configuration, const std::vector<Step>& steps, Outcome& outcome) {
    Normaliser normaliser(configuration, outcome);
    for (std::size_t i = 0; i < outcome.steps.size(); ++i) normaliser.step(steps[i], outcome.steps[i]);
}

}  // namespace fastlet::oracle
