// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/invalidation.hpp"

#include <linux/if_addr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <sys/socket.h>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/netdev_family.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr Impact kNothing{};
constexpr Impact kUnreadable{kEverything, true, 0};
// Newer than our headers.
constexpr std::uint16_t kNftNewDevice = 34;     // NFT_MSG_NEWDEV
constexpr std::uint16_t kNftDeleteDevice = 35;  // NFT_MSG_DELDEV

Impact holdOne(std::uint32_t categories, std::int32_t ifindex) {
    // No interface, or the stand-in of a block that several share.
    if (ifindex <= 0) return {categories, true, 0};
    return {categories, false, static_cast<std::uint32_t>(ifindex)};
}

Impact classifyLink(ByteView payload) {
    if (payload.size() < sizeof(ifinfomsg)) return kUnreadable;
    // Settings of an interface come and go with it; so do the devices of nftables chains.
    return holdOne(kLinks | kConf, readStruct<ifinfomsg>(payload).ifi_index);
}

Impact classifyTc(ByteView payload) {
    if (payload.size() < sizeof(tcmsg)) return kUnreadable;
    return holdOne(kLinks, readStruct<tcmsg>(payload).tcm_ifindex);
}

Impact classifyAddress(ByteView payload) {
    if (payload.size() < sizeof(ifaddrmsg)) return kUnreadable;
    // IPv6 addresses are found by the route lookup itself. Their coming and going tells that disable_ipv6 may have changed.
    if (readStruct<ifaddrmsg>(payload).ifa_family == AF_INET6) return {kAddresses | kConf, false, 0};
    return {kAddresses, true, 0};
}

Impact classifyNexthop(const nlmsghdr& message) {
    if (netlinkPayload(message).size() < sizeof(nhmsg)) return kUnreadable;
    bool group = false;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(nhmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) group = group || attribute.type == NHA_GROUP;
    if (reader.malformed()) return kUnreadable;
    // A single next hop is looked up live. A group makes routes multipath that were not, without a message about the routes.
    return group ? Impact{kRoutes, true, 0} : kNothing;
}

Impact classifyRoute(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    switch (message.nlmsg_type) {
        case RTM_NEWLINK:
        case RTM_DELLINK:
        case RTM_SETLINK:
            return classifyLink(payload);
        case RTM_NEWADDR:
        case RTM_DELADDR:
            return classifyAddress(payload);
        case RTM_NEWRULE:
        case RTM_DELRULE:
            return {kRules, true, 0};
        case RTM_NEWNETCONF:
        case RTM_DELNETCONF:
            return {kConf, true, 0};
        case RTM_NEWQDISC:
        case RTM_DELQDISC:
        case RTM_NEWTCLASS:
        case RTM_DELTCLASS:
        case RTM_NEWTFILTER:
        case RTM_DELTFILTER:
        case RTM_NEWCHAIN:
        case RTM_DELCHAIN:
            return classifyTc(payload);
        case RTM_NEWNEXTHOP:
            return classifyNexthop(message);
        case RTM_NEWROUTE:
        case RTM_DELROUTE:
        case RTM_DELNEXTHOP:
        case RTM_NEWNEIGH:
        case RTM_DELNEIGH:
        default:
            return kNothing;
    }
}

Impact classifyNftables(const nlmsghdr& message) {
    if (message.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) return kNothing;
    switch (message.nlmsg_type & 0xff) {
        case NFT_MSG_NEWTABLE:
        case NFT_MSG_DELTABLE:
        case NFT_MSG_NEWCHAIN:
        case NFT_MSG_DELCHAIN:
        case NFT_MSG_NEWRULE:
        case NFT_MSG_DELRULE:
        case NFT_MSG_NEWFLOWTABLE:
        case NFT_MSG_DELFLOWTABLE:
        case kNftNewDevice:
        case kNftDeleteDevice:
            return {kNftables, true, 0};
        default:
            // Sets, objects and their elements decide nothing without a rule. NEWGEN closes every transaction, also theirs; what
            // matters in a transaction has a message of its own.
            return kNothing;
    }
}

Impact classifyXfrm(const nlmsghdr& message) {
    switch (message.nlmsg_type) {
        case XFRM_MSG_NEWPOLICY:
        case XFRM_MSG_DELPOLICY:
        case XFRM_MSG_UPDPOLICY:
        case XFRM_MSG_FLUSHPOLICY:
        case XFRM_MSG_POLEXPIRE:
        case XFRM_MSG_MIGRATE:
        case XFRM_MSG_SETDEFAULT:
            return {kVitals, true, 0};
        default:
            return kNothing;  // without a policy, security associations touch no forwarded packet
    }
}

Impact classifyNetdev(const nlmsghdr& message) {
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(std::uint32_t)));  // genlmsghdr
    NetlinkAttribute attribute;
    std::int32_t ifindex = 0;
    while (reader.next(attribute))
        if (attribute.type == kNetdevIfindex) ifindex = static_cast<std::int32_t>(attribute.u32());
    if (reader.malformed()) return kUnreadable;
    return holdOne(kLinks, ifindex);
}

}  // namespace

Impact classify(NetlinkProtocol protocol, const nlmsghdr& message) {
    if (message.nlmsg_len < NLMSG_HDRLEN) return kUnreadable;
    switch (protocol) {
        case NetlinkProtocol::route:
            return classifyRoute(message);
        case NetlinkProtocol::netfilter:
            return classifyNftables(message);
        case NetlinkProtocol::xfrm:
            return classifyXfrm(message);
        case NetlinkProtocol::generic:
            return classifyNetdev(message);
    }
    return kUnreadable;
}

}  // namespace fastlet::linuxfp
