// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/watch.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sstream>
#include <utility>

namespace fastlet::linuxfp {
namespace {

// Captures come with a human being behind them: this is soon enough, and not a read every look.
constexpr std::uint64_t kPacketLookMilliseconds = 20;

void merge(Impact& into, const Impact& from) {
    into.categories |= from.categories;
    into.holdAll |= from.holdAll;
}

bool sameReading(fl_vitals left, fl_vitals right) {
    left.jiffies = right.jiffies = 0;
    return std::memcmp(&left, &right, sizeof(left)) == 0;
}

}  // namespace

std::string packetSocketSignature(const std::string& table) {
    std::istringstream lines(table);
    std::string line;
    std::string signature;
    std::getline(lines, line);  // headings
    while (std::getline(lines, line)) {
        std::istringstream fields(line);
        std::string socket;
        std::string references;
        std::string type;
        std::string protocol;
        std::string interface;
        std::string running;
        fields >> socket >> references >> type >> protocol >> interface >> running;
        signature += protocol + ' ' + interface + ' ' + running + '\n';
    }
    return signature;
}

Watch::Watch(HoldBook& book, SharedMemory shared, Ports ports, std::uint64_t lifetimeJiffies)
    : book_(book), shared_(shared), ports_(std::move(ports)), lifetimeJiffies_(lifetimeJiffies) {}

std::vector<int> Watch::descriptors() const {
    std::vector<int> fds;
    const auto& events = ports_.events;
    for (const auto* source : {&events.configuration, &events.nftables, &events.xfrm, &events.netdev})
        if (*source) fds.push_back((*source)->fd());
    return fds;
}

bool Watch::step(std::uint64_t now, bool notified) {
    constexpr std::uint64_t kSecond = 1000;
    std::atomic_ref(shared_.control->tick).store(static_cast<std::uint32_t>(now / kSecond));
    bool work = notified && drainNotifications();
    work |= drainRoutes();
    work |= readPacketSockets(now);
    work |= readVitals();  // last: it moves the heartbeat, which vouches for all of the above
    return work;
}

bool Watch::drainNotifications() {
    auto& events = ports_.events;
    bool work = drain(NetlinkProtocol::route, events.configuration.get());
    work |= drain(NetlinkProtocol::netfilter, events.nftables.get());
    work |= drain(NetlinkProtocol::xfrm, events.xfrm.get());
    work |= drain(NetlinkProtocol::generic, events.netdev.get());
    return work;
}

bool Watch::drain(NetlinkProtocol protocol, NetlinkEvents* events) {
    if (!events) return false;
    bool work = false;
    const auto drained = events->drain([&](const nlmsghdr& message) { work |= book_.note(classify(protocol, message)); });
    if (!drained || drained->overflow) work |= book_.note({kEverything, true, 0});
    return work;
}

bool Watch::drainRoutes() {
    if (!ports_.events.routes) return false;
    Impact impact;
    const auto drained = ports_.events.routes->drain([&](const nlmsghdr& message) {
        if (message.nlmsg_type == RTM_NEWROUTE || message.nlmsg_type == RTM_DELROUTE)
            noteRoute(routeFacts(message), impact);
        else
            noteNexthop(classify(NetlinkProtocol::route, message), impact);
    });
    // Lost messages may have been about anything that a plan must know of routes.
    if (!drained || drained->overflow) merge(impact, {kRoutes, true, 0});
    return book_.note(impact);
}

// A group makes routes of either family multipath that were not; where the plan reckons with multipath, that is no news.
void Watch::noteNexthop(const Impact& one, Impact& impact) {
    if (one.categories != kRoutes) return merge(impact, one);
    for (const bool ipv4 : {true, false}) {
        RouteFacts facts;
        facts.ipv4 = ipv4;
        facts.multipath = true;
        noteRoute(facts, impact);
    }
}

void Watch::noteRoute(const RouteFacts& facts, Impact& impact) {
    const std::lock_guard lock(mutex_);
    ++seen_.events;
    auto& seen = facts.ipv4 ? seen_.ipv4 : seen_.ipv6;
    const auto& planned = facts.ipv4 ? planned_.ipv4 : planned_.ipv6;
    const bool news = (facts.multipath && !planned.multipath && !seen.multipath) ||
                      (facts.realms && !planned.realms && !seen.realms) ||
                      (facts.customLocal && !planned.customLocal && !seen.customLocal);
    seen.multipath |= facts.multipath;
    seen.realms |= facts.realms;
    seen.customLocal |= facts.customLocal;
    if (news) merge(impact, {kRoutes, true, 0});
    if (!facts.mtu) return;
    seen.minMtu = seen.minMtu ? std::min(seen.minMtu, facts.mtu) : facts.mtu;
    book_.lowerLimit(facts.ipv4, facts.mtu);
}

bool Watch::readVitals() {
    if (!ports_.vitals) return false;
    const auto reading = ports_.vitals->read();
    if (!reading) {
        // The heartbeat is not moved: after its lifetime, the programs leave everything to Linux.
        const std::lock_guard lock(mutex_);
        vitalsError_ = reading.error().message;
        return false;
    }
    bool changed = false;
    {
        const std::lock_guard lock(mutex_);
        changed = !vitals_ || !sameReading(*vitals_, *reading);
        vitals_ = *reading;
        vitalsError_.clear();
    }
    bool work = false;
    if (changed) {
        work = book_.note({kVitals | kNftables, true, 0});
        if (!ports_.events.nftables && ports_.reopenNftables) ports_.events.nftables = ports_.reopenNftables();
    }
    std::atomic_ref(shared_.control->deadline_jiffies).store(reading->jiffies + lifetimeJiffies_);
    return work;
}

bool Watch::readPacketSockets(std::uint64_t now) {
    if (now < nextPacketLook_ || !ports_.packetTable) return false;
    nextPacketLook_ = now + kPacketLookMilliseconds;
    const auto read = ports_.packetTable();
    std::string table = read ? *read : "unreadable";
    if (table == packetTable_) return false;
    packetTable_ = std::move(table);
    std::string signature = read ? packetSocketSignature(packetTable_) : packetTable_;
    if (signature == packetSockets_) return false;
    packetSockets_ = std::move(signature);
    return book_.note({kLinks, true, 0});
}

std::optional<fl_vitals> Watch::vitals() {
    const std::lock_guard lock(mutex_);
    return vitals_;
}

std::string Watch::vitalsError() {
    const std::lock_guard lock(mutex_);
    return vitalsError_;
}

RouteKnowledge Watch::forgetRoutes() {
    const std::lock_guard lock(mutex_);
    return std::exchange(seen_, {});
}

RouteKnowledge Watch::routes() {
    const std::lock_guard lock(mutex_);
    return seen_;
}

void Watch::setPlanned(const RouteKnowledge& planned) {
    const std::lock_guard lock(mutex_);
    planned_ = planned;
}

}  // namespace fastlet::linuxfp
