// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/service.hpp"

#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/ledger.hpp"
#include "core/log.hpp"
#include "core/ports/generic_family.hpp"
#include "core/read_file.hpp"
#include "linuxfp/coherence/sentinel.hpp"
#include "linuxfp/controller.hpp"
#include "linuxfp/deploy/instance_lock.hpp"
#include "linuxfp/deploy/tc_hook.hpp"
#include "linuxfp/introspect/hook_inspector.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr int kMebibyte = 1 << 20;
// How long programs trust one look at the configuration (docs/developers/decisions.md).
constexpr std::uint64_t kLifetimeMilliseconds = 40;

using Source = std::unique_ptr<NetlinkEvents>;

// A protocol that this kernel does not have, or a group that it does not know, is no error: what it would tell about cannot
// happen.
Source optionalEvents(NetlinkProtocol protocol, int group) {
    const std::array groups{group};
    auto events = openNetlinkEvents(protocol, groups, kMebibyte);
    if (events) return std::move(*events);
    log::debug("no notifications of netlink protocol {}: {}", static_cast<int>(protocol), events.error().message);
    return nullptr;
}

Source netdevEvents(Netlink& netlink) {
    const auto family = findGenericFamily(netlink, "netdev");
    if (!family) return nullptr;
    const auto group = family->groups.find("mgmt");
    return group == family->groups.end() ? nullptr : optionalEvents(NetlinkProtocol::generic, group->second);
}

Source nftablesEvents() { return optionalEvents(NetlinkProtocol::netfilter, NFNLGRP_NFTABLES); }

PacketTableReader packetTableReader() {
    // The thread's own network namespace: /proc/net would be the process's.
    return [file = std::make_shared<RereadFile>("/proc/thread-self/net/packet")] { return file->read(); };
}

Result<EventSources> subscribe(Netlink& netlink) {
    constexpr std::array kConfiguration{RTNLGRP_LINK,      RTNLGRP_TC,        RTNLGRP_IPV4_IFADDR,  RTNLGRP_IPV6_IFADDR,
                                        RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF};
    constexpr std::array kRouteGroups{RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP};
    const std::vector<int> configurationGroups(kConfiguration.begin(), kConfiguration.end());
    const std::vector<int> routeGroups(kRouteGroups.begin(), kRouteGroups.end());
    EventSources sources;
    FASTLET_TRY(configuration, openNetlinkEvents(NetlinkProtocol::route, configurationGroups, 4 * kMebibyte));
    FASTLET_TRY(routes, openNetlinkEvents(NetlinkProtocol::route, routeGroups, 16 * kMebibyte));
    sources.configuration = std::move(configuration);
    sources.routes = std::move(routes);
    sources.nftables = nftablesEvents();
    sources.xfrm = optionalEvents(NetlinkProtocol::xfrm, XFRMNLGRP_POLICY);
    sources.netdev = netdevEvents(netlink);
    return sources;
}

// Stands in for the programs' memory when nothing is attached.
struct ObservedMemory {
    fl_control control{};
    std::array<fl_port, FL_PORTS> ports{};
    fl_local_filter local{};
};

// Members in the order in which they are needed; destroyed in the reverse.
class RealService final : public Service {
public:
    RealService(EventLoop& loop, const ServiceOptions& options, Fd lock, Ledger ledger)
        : loop_(loop), options_(options), lock_(std::move(lock)), ledger_(std::move(ledger)) {}

    ~RealService() override {
        if (auto stopped = stop(); !stopped) log::report(log::Level::error, stopped.error());
    }

    Status start() {
        FASTLET_TRY(netlink, openNetlink());
        netlink_ = std::move(netlink);
        FASTLET_CHECK(openKernel());
        book_.emplace(shared_);
        book_->note({kEverything, true, 0});
        FASTLET_CHECK(openWatch());
        hooks_ = realHookInspector();
        introspector_.emplace(*netlink_, *hooks_, realProcReader());
        controller_.emplace(
            Controller::Ports{*netlink_,
                              [this](auto categories, auto& state) { return introspector_->refresh(categories, state); }, *watch_,
                              *book_, kernel_.get(), deployer_ ? &*deployer_ : nullptr, linuxfp::describeVitals},
            options_.planner);
        watch_->step(0);
        // From here on the heartbeat beats: the first dump may take longer than its lifetime.
        FASTLET_TRY(sentinel, Sentinel::start(*watch_));
        sentinel_ = std::move(sentinel);
        controller_->cycle();
        goOn();
        FASTLET_CHECK(loop_.watchReadable(
            sentinel_->wakeFd(), [this] { wake(); }, EventLoop::Priority::background));
        return loop_.every(std::chrono::seconds(1), [this] {
            if (!sentinel_) return;
            controller_->everySecond();
            goOn();
        });
    }

    Engine& engine() override { return *controller_; }

    Status configure(const PlannerConfig& config) override { return controller_->configure(config); }

    Status stop() override {
        if (sentinel_) loop_.unwatch(sentinel_->wakeFd());
        if (shared_.control) std::atomic_ref(shared_.control->hold_all).store(1);
        sentinel_.reset();
        return deployer_ ? deployer_->detachAll() : Status{};
    }

private:
    Status openKernel() {
        if (options_.observe) {
            observed_.emplace();
            shared_ = {&observed_->control, observed_->ports.data(), &observed_->local};
            return {};
        }
        FASTLET_TRY(kernel, openBpfKernel({true, &ledger_}));
        kernel_ = std::move(kernel);
        shared_ = kernel_->shared();
        deployer_.emplace(*kernel_, ledger_);
        return removeLeftovers();
    }

    // Of a daemon that was killed: its heartbeat is stale, so what it left passes everything to Linux already.
    Status removeLeftovers() {
        FASTLET_TRY(leftovers, kernel_->leftovers());
        for (const std::uint32_t ifindex : leftovers) {
            log::info("removing what an earlier daemon left on interface {}", ifindex);
            FASTLET_CHECK(detachXdpLeftover(ifindex));
        }
        for (const auto& entry : std::vector<LedgerEntry>(ledger_.entries())) {
            if (entry.kind == "clsact") FASTLET_CHECK(removeClsact(entry.ifindex, true));
            FASTLET_CHECK(ledger_.remove(entry.kind, entry.ifindex));
        }
        return {};
    }

    Status detachXdpLeftover(std::uint32_t ifindex) {
        FASTLET_CHECK(kernel_->detachXdp(ifindex));
        return removeClsact(ifindex, false);
    }

    Status openWatch() {
        FASTLET_TRY(sources, subscribe(*netlink_));
        auto vitals = openVitalsReader();
        if (!vitals && !options_.observe) return vitals.error();
        if (!vitals) log::report(log::Level::warning, vitals.error());
        Watch::Ports ports{std::move(sources), vitals ? std::move(*vitals) : nullptr, packetTableReader(), nftablesEvents};
        constexpr std::uint64_t kThousand = 1000;
        const std::uint64_t lifetime = std::max<std::uint64_t>(2, kLifetimeMilliseconds * kernelTicksPerSecond() / kThousand);
        watch_.emplace(*book_, shared_, std::move(ports), lifetime);
        return {};
    }

    void wake() {
        sentinel_->acknowledge();
        controller_->cycle();
        goOn();
    }

    // By way of the event loop: whoever else has a question is answered in between.
    void goOn() {
        if (controller_->unfinished()) sentinel_->wakeMainLoop();
    }

    EventLoop& loop_;
    ServiceOptions options_;
    Fd lock_;
    Ledger ledger_;
    std::unique_ptr<Netlink> netlink_;
    std::unique_ptr<BpfKernel> kernel_;
    std::optional<ObservedMemory> observed_;
    SharedMemory shared_;
    std::optional<Deployer> deployer_;
    std::optional<HoldBook> book_;
    std::optional<Watch> watch_;
    std::unique_ptr<HookInspector> hooks_;
    std::optional<Introspector> introspector_;
    std::optional<Controller> controller_;
    std::unique_ptr<Sentinel> sentinel_;
};

}  // namespace

Result<std::unique_ptr<Service>> startService(EventLoop& loop, const ServiceOptions& options) {
    Fd lock;
    if (!options.observe) {
        FASTLET_TRY(taken, takeInstanceLock());
        lock = std::move(taken);
    }
    Ledger ledger;
    if (!options.observe) {
        FASTLET_TRY(opened, Ledger::open(options.stateDir));
        ledger = std::move(opened);
    }
    if (!ledger.corrupt().empty()) log::warning("the ledger could not be understood and is now {}", ledger.corrupt());
    auto service = std::make_unique<RealService>(loop, options, std::move(lock), std::move(ledger));
    FASTLET_CHECK(service->start());
    return std::unique_ptr<Service>(std::move(service));
}

}  // namespace fastlet::linuxfp
