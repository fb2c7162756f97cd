// SPDX-License-Identifier: Apache-2.0
// One look at everything that can make the fast path wrong. The sentinel's thread does it every few milliseconds; no clock, no
// thread and no socket of its own, so that tests can drive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/ports/netlink.hpp"
#include "linuxfp/coherence/hold_book.hpp"
#include "linuxfp/coherence/invalidation.hpp"
#include "linuxfp/coherence/vitals_reader.hpp"

namespace fastlet::linuxfp {

/// What routes have said that the plan must know, for one family.
struct RouteSigns {
    bool multipath = false;
    bool realms = false;
    bool customLocal = false;
    std::uint32_t minMtu = 0;  ///< smallest RTAX_MTU metric; 0: none
};

struct RouteKnowledge {
    RouteSigns ipv4;
    RouteSigns ipv6;
    std::uint64_t events = 0;  ///< route messages since forgetRoutes()
};

/// Notification sockets; null where this kernel has no such protocol.
struct EventSources {
    std::unique_ptr<NetlinkEvents> configuration;  ///< links, addresses, rules, netconf, tc
    std::unique_ptr<NetlinkEvents> routes;         ///< routes and nexthop objects; apart, for they come in floods
    std::unique_ptr<NetlinkEvents> nftables;
    std::unique_ptr<NetlinkEvents> xfrm;
    std::unique_ptr<NetlinkEvents> netdev;  ///< XDP features
};

/// Opens a source again that was null: nf_tables may have been loaded since.
using ReopenSource = std::function<std::unique_ptr<NetlinkEvents>()>;

using PacketTableReader = std::function<Result<std::string>()>;

class Watch {
public:
    struct Ports {
        EventSources events;
        std::unique_ptr<VitalsReader> vitals;  ///< null: vitals are not available (observe mode without privileges)
        PacketTableReader packetTable;         ///< /proc/net/packet; null: captures are not watched
        ReopenSource reopenNftables;
    };

    /// `lifetimeJiffies`: for how long programs trust the configuration after one look.
    Watch(HoldBook& book, SharedMemory shared, Ports ports, std::uint64_t lifetimeJiffies);

    /// One look; `now` in milliseconds of any monotonic clock. True: the main loop has something to do. `notified` false: poll()
    /// has found nothing at descriptors(), which are left alone then: asking each of them again is half of the cost of an idle
    /// look.
    bool step(std::uint64_t now, bool notified = true);

    /// For poll(): the sources whose messages should be looked at at once. Not the routes': they come in floods and hold nothing,
    /// but for the first of a kind.
    [[nodiscard]] std::vector<int> descriptors() const;

    // Thread-safe, for the main loop:
    /// The newest reading; empty: there has been none.
    [[nodiscard]] std::optional<fl_vitals> vitals();
    /// Why the vitals cannot be read at this moment; empty: they can.
    [[nodiscard]] std::string vitalsError();
    /// Before a full dump of routes: what is learnt from now on is newer than the dump. Returns what was known until now.
    RouteKnowledge forgetRoutes();
    [[nodiscard]] RouteKnowledge routes();
    /// What the applied plan already takes into account: such routes need no hold.
    void setPlanned(const RouteKnowledge& planned);

private:
    bool drainNotifications();
    bool drain(NetlinkProtocol protocol, NetlinkEvents* events);
    bool drainRoutes();
    void noteNexthop(const Impact& one, Impact& impact);
    void noteRoute(const RouteFacts& facts, Impact& impact);
    bool readVitals();
    bool readPacketSockets(std::uint64_t now);

    HoldBook& book_;
    SharedMemory shared_;
    Ports ports_;
    std::uint64_t lifetimeJiffies_;
    std::uint64_t nextPacketLook_ = 0;
    std::string packetTable_;    // as it was read last
    std::string packetSockets_;  // what of it counts

    std::mutex mutex_;  // everything below
    std::optional<fl_vitals> vitals_;
    std::string vitalsError_;
    RouteKnowledge seen_;
    RouteKnowledge planned_;
};

/// What of /proc/net/packet decides about captures: protocol, interface and state of each socket, without its counters.
[[nodiscard]] std::string packetSocketSignature(const std::string& table);

}  // namespace fastlet::linuxfp
