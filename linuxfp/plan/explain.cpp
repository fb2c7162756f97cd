// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/plan/explain.hpp"

#include <fmt/format.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "linuxfp/plan/packet_reasons.hpp"
#include "linuxfp/plan/route_query.hpp"

namespace fastlet::linuxfp {
namespace {

// What the lookup helper takes for resolved: NUD_VALID (include/net/neighbour.h).
constexpr unsigned kResolved = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;

bool isSpecial4(const IpAddress& address) {
    constexpr std::uint8_t kLoopback = 127;
    constexpr std::uint8_t kMulticast = 224;
    return address.bytes[0] == 0 || address.bytes[0] == kLoopback || address.bytes[0] >= kMulticast;
}

bool isSpecial6(const IpAddress& address) {
    const auto& bytes = address.bytes;
    const bool multicast = bytes[0] == 0xff;
    const bool linkLocal = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
    // ::, ::1 and the ranges that embed IPv4 addresses
    const bool low = std::all_of(bytes.begin(), bytes.begin() + 8, [](std::uint8_t byte) { return byte == 0; });
    return multicast || linkLocal || low;
}

bool isSpecial(const IpAddress& address) { return address.family == Family::ipv4 ? isSpecial4(address) : isSpecial6(address); }

class Walk {
public:
    Walk(const PacketQuery& query, const NetState& state, const FastPathPlan& plan, bool heldAll,
         const std::set<std::uint32_t>& held, Netlink& netlink)
        : query_(query), state_(state), plan_(plan), heldAll_(heldAll), held_(held), netlink_(netlink) {}

    Result<Explanation> run() {
        FASTLET_CHECK(start());
        checkInterface();
        checkHold();
        if (const auto family = familyOfQuery()) {
            checkFamily(*family);
            checkLength(*family);
        }
        checkSource();
        if (checkDestination()) FASTLET_CHECK(followRoute());
        conclude();
        return std::move(explanation_);
    }

private:
    Status start() {
        for (const auto& plan : plan_.interfaces)
            if (plan.name == query_.interface) in_ = &plan;
        if (!in_) return Error::make("there is no interface " + query_.interface, "`fastctl fp status` lists the interfaces");
        if (query_.source && query_.destination && query_.source->family != query_.destination->family)
            return Error::make("source and destination are of different address families");
        return {};
    }

    std::optional<Family> familyOfQuery() const {
        if (query_.destination) return query_.destination->family;
        if (query_.source) return query_.source->family;
        return std::nullopt;
    }

    void pass(std::string check, std::string detail) {
        explanation_.steps.push_back({std::move(check), true, std::move(detail)});
    }
    void fail(std::string check, std::string detail) {
        explanation_.steps.push_back({std::move(check), false, std::move(detail)});
    }
    /// Left to Linux for a reason that the programs count, under the same name.
    void fail(std::string check, fl_reason reason, const std::string& detail) {
        fail(std::move(check), fmt::format("{}: {}", kPacketReasons[reason].name, detail));
    }

    void checkInterface() {
        if (in_->hook != Hook::none)
            return pass("interface", fmt::format("{} is accelerated at {}", in_->name, toString(in_->hook)));
        std::string why = fmt::format("{} is not accelerated", in_->name);
        for (const auto& reason : in_->reasons) why += fmt::format("; {}: {}", reason.code, reason.text);
        fail("interface", why);
    }

    void checkHold() {
        if (heldAll_) return fail("hold", "everything is on hold until a change of the configuration has been read");
        if (held_.contains(in_->ifindex))
            return fail("hold", in_->name + " is on hold until a change of its configuration has been read");
        pass("hold", "not on hold");
    }

    void checkFamily(Family family) {
        const bool on = family == Family::ipv4 ? in_->shape.ipv4 : in_->shape.ipv6;
        const char* name = family == Family::ipv4 ? "IPv4" : "IPv6";
        if (on) return pass("family", fmt::format("{} is forwarded by the fast path", name));
        fail("family", FL_REASON_FAMILY_OFF, fmt::format("{} is left to Linux on {}", name, in_->name));
    }

    void checkLength(Family family) {
        const auto limit = family == Family::ipv4 ? plan_.maxLen4 : plan_.maxLen6;
        if (!query_.size) return pass("size", "no size given: not checked");
        if (*query_.size > limit)
            return fail("size", FL_REASON_TOO_BIG, fmt::format("{} bytes, and a route has an mtu of {}", *query_.size, limit));
        pass("size", fmt::format("{} bytes", *query_.size));
    }

    bool isOwn(const IpAddress& address) const {
        return std::any_of(state_.addresses.begin(), state_.addresses.end(),
                           [&](const InterfaceAddress& own) { return own.address.address == address; });
    }

    void checkSource() {
        if (!query_.source) return pass("source", "no source given: not checked");
        const auto text = query_.source->toString();
        if (isSpecial(*query_.source)) return fail("source", FL_REASON_SOURCE, text + " is a special address");
        const bool ipv4 = query_.source->family == Family::ipv4;
        if (ipv4 && !in_->shape.accept_local && isOwn(*query_.source))
            return fail("source", FL_REASON_SOURCE, text + " is an address of this host");
        pass("source", text);
    }

    /// True: there is a destination whose route is worth asking for.
    bool checkDestination() {
        if (!query_.destination) {
            pass("destination", "no destination given: route, next hop and egress are not checked");
            return false;
        }
        const auto text = query_.destination->toString();
        if (isSpecial(*query_.destination)) {
            fail("destination", FL_REASON_DESTINATION, text + " is a special address");
            return false;
        }
        pass("destination", text);
        return true;
    }

    Status followRoute() {
        auto route = askRoute(netlink_, query_, in_->ifindex);
        if (!route) return routeError(route.error());
        if (!checkRoute(*route)) return {};
        explanation_.nextHop = nextHop(*route).toString();
        const auto link = state_.links.find(route->egress);
        explanation_.egress = link == state_.links.end() ? fmt::format("ifindex {}", route->egress) : link->second.name;
        pass("route", fmt::format("to {} via {}{}{}", explanation_.nextHop, explanation_.egress,
                                  query_.source ? "" : " (no source given: asked without rules about the ingress)",
                                  route->several ? " (one of several next hops)" : ""));
        checkNeighbour(*route);
        if (link != state_.links.end()) checkMtu(link->second);
        checkEgress(*route);
        return {};
    }

    /// The kernel answers with an error where a packet would be refused; anything else is a failure of ours to ask.
    Status routeError(const Error& error) {
        switch (error.code) {
            case EXDEV:
                fail("route", FL_REASON_REVERSE_PATH, "Linux refuses the source at this interface (rp_filter)");
                return {};
            case EINVAL:
                if (sourceIsRefused())
                    fail("route", FL_REASON_REVERSE_PATH, "Linux refuses the source at this interface (martian, or rp_filter)");
                else
                    fail("route", FL_REASON_ROUTE_REJECT, "a blackhole route");
                return {};
            case EACCES:
                fail("route", FL_REASON_ROUTE_REJECT, "a prohibit route");
                return {};
            case EHOSTUNREACH:
                fail("route", FL_REASON_NO_FORWARD, "no route, an unreachable route, or forwarding is off");
                return {};
            case ENETUNREACH:
                fail("route", FL_REASON_NO_FORWARD, "no route");
                return {};
            default:
                return error;
        }
    }

    /// The kernel has one error for a blackhole and for a source that it refuses: without a source only the former remains.
    bool sourceIsRefused() {
        if (!query_.source) return false;
        PacketQuery without = query_;
        without.source.reset();
        const auto route = askRoute(netlink_, without, in_->ifindex);
        return route || route.error().code != EINVAL;
    }

    bool checkRoute(const RouteAnswer& route) {
        switch (route.type) {
            case RTN_UNICAST:
                break;
            case RTN_BLACKHOLE:
            case RTN_UNREACHABLE:
            case RTN_PROHIBIT:
                fail("route", FL_REASON_ROUTE_REJECT, "a blackhole, unreachable or prohibit route");
                return false;
            case RTN_LOCAL:
                fail("route", FL_REASON_NO_FORWARD, "the destination is this host");
                return false;
            default:
                fail("route", FL_REASON_NO_FORWARD, fmt::format("a broadcast, multicast or special route (type {})", route.type));
                return false;
        }
        if (!route.encapsulates) return true;
        fail("route", FL_REASON_LWTUNNEL, "the route encapsulates");
        return false;
    }

    const IpAddress& nextHop(const RouteAnswer& route) const { return route.gateway ? *route.gateway : *query_.destination; }

    void checkNeighbour(const RouteAnswer& route) {
        const auto neighbour = askNeighbour(netlink_, nextHop(route), route.egress);
        if (!neighbour)
            return fail("neighbour", FL_REASON_NO_NEIGHBOUR,
                        fmt::format("{}: {}", explanation_.nextHop, neighbour.error().message));
        if (!(neighbour->state & kResolved))
            return fail("neighbour", FL_REASON_NO_NEIGHBOUR,
                        explanation_.nextHop + " is not resolved (state INCOMPLETE or FAILED)");
        explanation_.nextHopMac = neighbour->mac.toString();
        pass("neighbour", fmt::format("{} is at {}", explanation_.nextHop, explanation_.nextHopMac));
    }

    void checkMtu(const Link& egress) {
        if (!query_.size) return;
        if (*query_.size > egress.mtu)
            return fail("mtu", FL_REASON_TOO_BIG,
                        fmt::format("{} bytes, and {} has an mtu of {}", *query_.size, egress.name, egress.mtu));
        pass("mtu", fmt::format("mtu {} of {}", egress.mtu, egress.name));
    }

    void checkEgress(const RouteAnswer& route) {
        if (route.egress == in_->ifindex) return fail("egress", FL_REASON_SAME_INTERFACE, "it would leave where it came in");
        if (held_.contains(route.egress)) return fail("egress", FL_REASON_EGRESS, explanation_.egress + " is on hold");
        const auto found = std::find_if(plan_.interfaces.begin(), plan_.interfaces.end(),
                                        [&](const InterfacePlan& plan) { return plan.ifindex == route.egress; });
        const bool open = found != plan_.interfaces.end() && (in_->hook == Hook::xdp ? found->egressXdp : found->egressTc);
        if (!open)
            return fail("egress", FL_REASON_EGRESS,
                        fmt::format("{} is not open to the fast path at {}", explanation_.egress, toString(in_->hook)));
        pass("egress", fmt::format("{} is open to the fast path", explanation_.egress));
    }

    void conclude() {
        const auto failed = std::find_if(explanation_.steps.begin(), explanation_.steps.end(),
                                         [](const ExplainStep& step) { return !step.passed; });
        if (failed != explanation_.steps.end()) {
            explanation_.verdict = "Linux: " + failed->detail;
        } else if (!query_.destination) {
            explanation_.verdict =
                "undecided: nothing stands in the way so far, but without a destination there is no route to check";
        } else {
            explanation_.fast = true;
            explanation_.verdict = fmt::format("fast: to {} via {}", explanation_.nextHop, explanation_.egress);
        }
    }

    const PacketQuery& query_;
    const NetState& state_;
    const FastPathPlan& plan_;
    bool heldAll_;
    const std::set<std::uint32_t>& held_;
    Netlink& netlink_;
    const InterfacePlan* in_ = nullptr;
    Explanation explanation_;
};

}  // namespace

Result<Explanation> explainPacket(const PacketQuery& query, const NetState& state, const FastPathPlan& plan, bool heldAll,
                                  const std::set<std::uint32_t>& heldInterfaces, Netlink& netlink) {
    return Walk(query, state, plan, heldAll, heldInterfaces, netlink).run();
}

}  // namespace fastlet::linuxfp
