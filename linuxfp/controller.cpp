// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/log.hpp"
#include "linuxfp/plan/explain.hpp"
#include "linuxfp/plan/packet_reasons.hpp"

namespace fastlet::linuxfp {
namespace {

// Signs of routes that have gone are dropped at the next full dump; that is the only use of it, so it can wait.
constexpr std::uint64_t kRouteDumpSeconds = 60;
constexpr std::uint64_t kSmallRouteDumpSeconds = 3;
constexpr std::uint64_t kSmallRouteTable = 10'000;
// The kernel may refuse an interface's first hook and then its second.
constexpr int kMaxAttempts = 4;

bool sameInterface(const InterfacePlan& left, const InterfacePlan& right) {
    return left.ifindex == right.ifindex && left.mac == right.mac && left.hook == right.hook &&
           std::memcmp(&left.shape, &right.shape, sizeof(left.shape)) == 0 && left.egressXdp == right.egressXdp &&
           left.egressTc == right.egressTc;
}

void mergeSigns(const RouteSigns& signs, RouteSummary& routes) {
    routes.multipath |= signs.multipath;
    routes.realms |= signs.realms;
    routes.customLocal |= signs.customLocal;
    if (signs.minMtu) routes.minMtu = routes.minMtu ? std::min(routes.minMtu, signs.minMtu) : signs.minMtu;
}

void merge(const RouteKnowledge& knowledge, NetState& state) {
    mergeSigns(knowledge.ipv4, state.routes4);
    mergeSigns(knowledge.ipv6, state.routes6);
}

RouteSigns signsOf(const RouteSummary& routes) { return {routes.multipath, routes.realms, routes.customLocal, routes.minMtu}; }

bool hasSigns(const RouteSummary& routes) { return routes.multipath || routes.realms || routes.customLocal || routes.minMtu; }

InterfaceCounters countersOf(const InterfacePlan& plan, const fl_port_stats& stats) {
    InterfaceCounters counters{plan.ifindex,       plan.name, stats.fast4_packets, stats.fast6_packets, stats.fast_bytes,
                               stats.held_packets, {}};
    for (std::size_t i = 0; i < std::size(kPacketReasons); ++i)
        if (stats.slow[i]) counters.slow.emplace_back(kPacketReasons[i].name, stats.slow[i]);
    return counters;
}

}  // namespace

bool sameDeployment(const FastPathPlan& left, const FastPathPlan& right) {
    return left.maxLen4 == right.maxLen4 && left.maxLen6 == right.maxLen6 && left.local4 == right.local4 &&
           std::equal(left.interfaces.begin(), left.interfaces.end(), right.interfaces.begin(), right.interfaces.end(),
                      sameInterface);
}

Controller::Controller(Ports ports, PlannerConfig config) : ports_(std::move(ports)), config_(std::move(config)) {}

void Controller::cycle() {
    const Pending pending = ports_.book.take();
    NetState next = state_;
    if (auto done = refresh(pending.categories, next); !done) {
        // What is on hold stays so; the next second tries again.
        ports_.book.giveBack(pending);
        complain(done.error());
        return;
    }
    state_ = std::move(next);
    replan(pending.stamp, redo_ || unfinished_ || (pending.categories & kLinks));
}

void Controller::everySecond() {
    ++secondsSinceRouteDump_;
    const bool signs = hasSigns(state_.routes4) || hasSigns(state_.routes6);
    const bool small = state_.routes4.count + state_.routes6.count < kSmallRouteTable;
    const std::uint64_t due = small ? kSmallRouteDumpSeconds : kRouteDumpSeconds;
    if (secondsSinceRouteDump_ >= due && signs && ports_.watch.routes().events) ports_.book.note({kRoutes, false, 0});
    ports_.book.note({kConf, false, 0});
    cycle();
}

Status Controller::refresh(std::uint32_t categories, NetState& next) {
    if (categories & kRoutes) {
        merge(ports_.watch.forgetRoutes(), state_);
        secondsSinceRouteDump_ = 0;
    }
    if (categories & ~kVitals) FASTLET_CHECK(ports_.introspect(categories & ~kVitals, next));
    merge(ports_.watch.routes(), next);
    describeVitals(categories & kVitals, next);
    next.number = state_.number + 1;
    return {};
}

void Controller::describeVitals(bool always, NetState& next) {
    const auto reading = ports_.watch.vitals();
    if (!reading || !ports_.watch.vitalsError().empty()) {
        next.vitals = {};
        next.vitals.whyNot = reading ? ports_.watch.vitalsError() : "the kernel has not been read yet";
        described_ = {};
        return;
    }
    fl_vitals comparable = *reading;
    comparable.jiffies = 0;
    if (!always && std::memcmp(&comparable, &described_, sizeof(comparable)) == 0) return;
    next.vitals = ports_.describe(*reading);
    described_ = comparable;
}

void Controller::replan(std::uint64_t stamp, bool always) {
    forgetRefusals();
    FastPathPlan plan = makePlan(state_, config_, refusals_);
    const bool changed = !ready_ || redo_ || !sameDeployment(plan, plan_);
    if (changed || always) {
        if (auto done = deploy(plan, changed); !done) {
            redo_ = true;
            complain(done.error());
            return;  // on hold, until it succeeds
        }
    }
    redo_ = false;
    ready_ = true;
    plan_ = std::move(plan);
    ports_.watch.setPlanned({signsOf(state_.routes4), signsOf(state_.routes6), 0});
    ports_.book.setLimits(plan_.maxLen4, plan_.maxLen6, stamp);
    ports_.book.release(stamp);
    stamp_ = stamp;
    lastComplaint_.clear();
}

Status Controller::deploy(FastPathPlan& plan, bool changed) {
    if (changed) ++generation_;
    if (!ports_.deployer) return {};
    // An unchanged plan rewrites what is there already; whatever has changed below it is on hold by its own event.
    if (changed) ports_.book.beginApply();
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
        FASTLET_TRY(outcome, ports_.deployer->apply(plan));
        attached_ = outcome.attached;
        unfinished_ = outcome.pending;
        if (outcome.refusals.empty()) return {};
        remember(outcome.refusals);
        plan = makePlan(state_, config_, refusals_);
        ports_.book.beginApply();
    }
    return Error::make("the kernel keeps refusing the fast path", "see `fastctl fp plan` for its reasons");
}

void Controller::remember(const Refusals& refusals) {
    for (const auto& [key, why] : refusals) {
        refusals_[key] = why;
        if (const auto link = state_.links.find(key.first); link != state_.links.end())
            refusedAt_[key.first] = {link->second.name, link->second.mtu};
        log::warning("interface {}, {}: {}", key.first, toString(key.second), why);
    }
}

// A refusal holds for the interface as it was.
void Controller::forgetRefusals() {
    std::erase_if(refusals_, [&](const auto& refusal) {
        const auto link = state_.links.find(refusal.first.first);
        const auto then = refusedAt_.find(refusal.first.first);
        return link == state_.links.end() || then == refusedAt_.end() || link->second.name != then->second.name ||
               link->second.mtu != then->second.mtu;
    });
}

// The same trouble every second is one line in the log.
void Controller::complain(const Error& error) {
    if (error.message == lastComplaint_) return;
    lastComplaint_ = error.message;
    log::report(log::Level::error, error);
}

EngineReport Controller::report() {
    EngineReport report;
    report.ready = ready_ && !redo_;
    report.observe = !ports_.deployer;
    report.generation = generation_;
    report.heldAll = ports_.book.heldAll();
    report.routes4 = state_.routes4.count;
    report.routes6 = state_.routes6.count;
    for (const auto& plan : plan_.interfaces)
        report.interfaces.push_back({plan, report.heldAll || ports_.book.held(plan.ifindex), attached_.contains(plan.ifindex)});
    for (const auto& one : counters()) {
        report.counters.fastPackets += one.fast4Packets + one.fast6Packets;
        report.counters.heldPackets += one.heldPackets;
        for (const auto& [name, packets] : one.slow) report.counters.slowPackets += packets;
    }
    return report;
}

std::vector<InterfaceCounters> Controller::counters() {
    std::vector<InterfaceCounters> all;
    if (!ports_.kernel) return all;
    for (const auto& plan : plan_.interfaces) {
        const std::uint32_t slot = plan.ifindex & (FL_PORTS - 1);
        if (ports_.kernel->shared().ports[slot].ifindex != plan.ifindex) continue;
        if (auto stats = ports_.kernel->stats(slot); stats)
            all.push_back(countersOf(plan, *stats));
        else
            complain(stats.error());
    }
    return all;
}

Result<Explanation> Controller::explain(const PacketQuery& query) {
    std::set<std::uint32_t> held;
    for (const auto& plan : plan_.interfaces)
        if (ports_.book.held(plan.ifindex)) held.insert(plan.ifindex);
    return explainPacket(query, state_, plan_, ports_.book.heldAll(), held, ports_.netlink);
}

Status Controller::setEnabled(const std::optional<std::string>& interface, bool enabled) {
    if (interface) {
        const bool known = std::any_of(state_.links.begin(), state_.links.end(),
                                       [&](const auto& entry) { return entry.second.name == *interface; });
        if (!known)
            return Error::make(fmt::format("there is no interface {}", *interface), "`fastctl fp plan` lists the interfaces");
        if (enabled)
            config_.off.erase(*interface);
        else
            config_.off.insert(*interface);
    } else {
        config_.offAll = !enabled;
        if (enabled) config_.off.clear();
    }
    if (enabled) refusals_.clear();
    return replanAsAsked();
}

Status Controller::configure(const PlannerConfig& config) {
    PlannerConfig next = config;
    next.offAll = config_.offAll;
    next.off = std::move(config_.off);
    config_ = std::move(next);
    refusals_.clear();
    return replanAsAsked();
}

Status Controller::replanAsAsked() {
    replan(stamp_, false);
    if (redo_) return Error::make("the change could not be deployed: " + lastComplaint_);
    return {};
}

}  // namespace fastlet::linuxfp
