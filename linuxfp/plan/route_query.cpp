// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/plan/route_query.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/ports/netlink_message.hpp"

namespace fastlet::linuxfp {
namespace {

std::uint8_t numberOf(Family family) { return family == Family::ipv4 ? AF_INET : AF_INET6; }

std::uint8_t bits(const IpAddress& address) { return static_cast<std::uint8_t>(address.size() * 8); }

NetlinkRequest routeRequest(const PacketQuery& query, std::uint32_t ifindex) {
    const auto& destination = *query.destination;
    rtmsg header{};
    header.rtm_family = numberOf(destination.family);
    header.rtm_dst_len = bits(destination);
    if (query.source) header.rtm_src_len = bits(*query.source);
    NetlinkWriter payload(header);
    payload.attribute(RTA_DST, destination.view());
    if (query.source) payload.attribute(RTA_SRC, query.source->view());
    if (query.source || destination.family == Family::ipv6) payload.number<std::uint32_t>(RTA_IIF, ifindex);
    if (query.protocol) payload.number<std::uint8_t>(RTA_IP_PROTO, *query.protocol);
    if (query.sourcePort) payload.number<std::uint16_t>(RTA_SPORT, __builtin_bswap16(*query.sourcePort));
    if (query.destinationPort) payload.number<std::uint16_t>(RTA_DPORT, __builtin_bswap16(*query.destinationPort));
    return {NetlinkProtocol::route, RTM_GETROUTE, 0, payload.bytes()};
}

/// RTA_VIA: the family of an address, then the address.
std::optional<IpAddress> viaAddress(ByteView value) {
    constexpr std::size_t kFamilyBytes = sizeof(std::uint16_t);
    if (value.size() <= kFamilyBytes) return std::nullopt;
    return IpAddress::fromBytes(value.subspan(kFamilyBytes));
}

const nlmsghdr* messageIn(const Bytes& answer, std::uint16_t type, std::size_t headerSize) {
    if (answer.size() < NLMSG_HDRLEN + headerSize) return nullptr;
    const auto* message = reinterpret_cast<const nlmsghdr*>(answer.data());
    return message->nlmsg_type == type && message->nlmsg_len <= answer.size() ? message : nullptr;
}

}  // namespace

Result<RouteAnswer> askRoute(Netlink& netlink, const PacketQuery& query, std::uint32_t ifindex) {
    FASTLET_TRY(answer, netlink.query(routeRequest(query, ifindex)));
    const auto* message = messageIn(answer, RTM_NEWROUTE, sizeof(rtmsg));
    if (!message) return Error::make("an unexpected answer about a route", {}, EPROTO);
    RouteAnswer route;
    route.type = readStruct<rtmsg>(netlinkPayload(*message)).rtm_type;
    NetlinkAttributeReader reader(netlinkAttributes(*message, sizeof(rtmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == RTA_OIF) route.egress = attribute.u32();
        if (attribute.type == RTA_GATEWAY) route.gateway = IpAddress::fromBytes(attribute.value);
        if (attribute.type == RTA_VIA) route.gateway = viaAddress(attribute.value);
        if (attribute.type == RTA_ENCAP) route.encapsulates = true;
        if (attribute.type == RTA_MULTIPATH) route.several = true;
    }
    if (reader.malformed()) return Error::make("a malformed answer about a route", {}, EPROTO);
    return route;
}

Result<NeighbourAnswer> askNeighbour(Netlink& netlink, const IpAddress& address, std::uint32_t ifindex) {
    ndmsg header{};
    header.ndm_family = numberOf(address.family);
    header.ndm_ifindex = static_cast<int>(ifindex);
    NetlinkWriter payload(header);
    payload.attribute(NDA_DST, address.view());
    FASTLET_TRY(answer, netlink.query({NetlinkProtocol::route, RTM_GETNEIGH, 0, payload.bytes()}));
    const auto* message = messageIn(answer, RTM_NEWNEIGH, sizeof(ndmsg));
    if (!message) return Error::make("an unexpected answer about a neighbour", {}, EPROTO);
    NeighbourAnswer neighbour;
    neighbour.state = readStruct<ndmsg>(netlinkPayload(*message)).ndm_state;
    NetlinkAttributeReader reader(netlinkAttributes(*message, sizeof(ndmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute))
        if (attribute.type == NDA_LLADDR && attribute.value.size() == neighbour.mac.bytes.size())
            std::copy(attribute.value.begin(), attribute.value.end(), neighbour.mac.bytes.begin());
    return neighbour;
}

}  // namespace fastlet::linuxfp
