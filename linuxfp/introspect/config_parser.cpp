// SPDX-License-Identifier: Apache-2.0
// Addresses, policy rules, netconf and nexthop objects.
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/parsers.hpp"

namespace fastlet::linuxfp {
namespace {

// include/uapi/linux/fib_rules.h of newer kernels.
constexpr std::uint16_t kRuleDscp = FRA_DPORT_RANGE + 1;
constexpr std::uint16_t kRuleFlowlabel = kRuleDscp + 1;
constexpr std::uint16_t kRuleFlowlabelMask = kRuleDscp + 2;
constexpr std::uint16_t kRuleSportMask = kRuleDscp + 3;
constexpr std::uint16_t kRuleDportMask = kRuleDscp + 4;
constexpr std::uint16_t kRuleDscpMask = kRuleDscp + 5;

std::optional<Family> familyOf(std::uint8_t family) {
    if (family == AF_INET) return Family::ipv4;
    if (family == AF_INET6) return Family::ipv6;
    return std::nullopt;
}

/// What a rule's attribute means to bpf_fib_lookup (net/core/fib_rules.c, fib_rule_match): nullptr: it is honoured; else its
/// name. The helper's flow has no mark, protocol, ports, user, tunnel or egress interface, so such selectors would not match as
/// in Linux.
const char* unsupportedSelector(const NetlinkAttribute& attribute) {
    switch (attribute.type) {
        case FRA_FWMARK:
        case FRA_FWMASK:
            return "fwmark";
        case FRA_FLOW:
            return "realms";
        case FRA_TUN_ID:
            return "tun_id";
        case FRA_OIFNAME:
            return "oif";
        case FRA_L3MDEV:
            return attribute.u8() ? "l3mdev" : nullptr;
        case FRA_UID_RANGE:
            return "uidrange";
        case FRA_IP_PROTO:
            return "ipproto";
        case FRA_SPORT_RANGE:
        case kRuleSportMask:
            return "sport";
        case FRA_DPORT_RANGE:
        case kRuleDportMask:
            return "dport";
        case kRuleFlowlabel:
        case kRuleFlowlabelMask:
            return "flowlabel";
        default:
            return attribute.type > kRuleDscpMask ? "a selector that is newer than this program" : nullptr;
    }
}

bool selects(const NetlinkAttribute& attribute) {
    switch (attribute.type) {
        case FRA_PRIORITY:
        case FRA_TABLE:
        case FRA_PROTOCOL:
        case FRA_PAD:
            return false;
        case FRA_SUPPRESS_PREFIXLEN:
        case FRA_SUPPRESS_IFGROUP:
            return attribute.u32() != UINT32_MAX;
        case FRA_L3MDEV:
            return attribute.u8() != 0;
        default:
            return true;
    }
}

bool isFresh(const PolicyRule& rule) {
    constexpr std::uint32_t kMain = 32766;
    constexpr std::uint32_t kDefault = 32767;
    return (rule.priority == 0 && rule.table == RT_TABLE_LOCAL) || (rule.priority == kMain && rule.table == RT_TABLE_MAIN) ||
           (rule.family == Family::ipv4 && rule.priority == kDefault && rule.table == RT_TABLE_DEFAULT);
}

bool modelledAction(std::uint8_t action) {
    return action == FR_ACT_TO_TBL || action == FR_ACT_GOTO || action == FR_ACT_NOP || action == FR_ACT_BLACKHOLE ||
           action == FR_ACT_UNREACHABLE || action == FR_ACT_PROHIBIT;
}

}  // namespace

std::optional<InterfaceAddress> parseAddress(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    if (message.nlmsg_type != RTM_NEWADDR || payload.size() < sizeof(ifaddrmsg)) return std::nullopt;
    const auto header = readStruct<ifaddrmsg>(payload);
    const auto family = familyOf(header.ifa_family);
    ByteView local;
    ByteView peer;  // the same as local, but on point-to-point links
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(ifaddrmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == IFA_LOCAL) local = attribute.value;
        if (attribute.type == IFA_ADDRESS) peer = attribute.value;
    }
    const auto address = IpAddress::fromBytes(local.empty() ? peer : local);
    if (reader.malformed() || !family || !address || address->family != *family) return std::nullopt;
    return InterfaceAddress{header.ifa_index, IpPrefix{*address, header.ifa_prefixlen}};
}

std::optional<PolicyRule> parseRule(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    if (message.nlmsg_type != RTM_NEWRULE || payload.size() < sizeof(fib_rule_hdr)) return std::nullopt;
    const auto header = readStruct<fib_rule_hdr>(payload);
    const auto family = familyOf(header.family);
    if (!family) return std::nullopt;
    PolicyRule rule{.family = *family, .priority = 0, .table = header.table, .unsupported = {}, .standard = false};
    bool selective = header.src_len || header.dst_len || header.tos || (header.flags & FIB_RULE_INVERT);
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(fib_rule_hdr)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == FRA_PRIORITY) rule.priority = attribute.u32();
        if (attribute.type == FRA_TABLE) rule.table = attribute.u32();
        selective = selective || selects(attribute);
        const char* unsupported = unsupportedSelector(attribute);
        if (unsupported && rule.unsupported.empty()) rule.unsupported = unsupported;
    }
    if (reader.malformed()) return std::nullopt;
    if (!modelledAction(header.action) && rule.unsupported.empty()) rule.unsupported = "action " + std::to_string(header.action);
    rule.standard = !selective && header.action == FR_ACT_TO_TBL && isFresh(rule);
    return rule;
}

std::optional<NetconfEntry> parseNetconf(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    if (message.nlmsg_type != RTM_NEWNETCONF || payload.empty()) return std::nullopt;
    const auto family = familyOf(readStruct<netconfmsg>(payload).ncm_family);
    if (!family) return std::nullopt;
    NetconfEntry entry{.family = *family, .ifindex = 0, .conf = {}};
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(netconfmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        const auto value = static_cast<std::int32_t>(attribute.u32());
        if (attribute.type == NETCONFA_IFINDEX) entry.ifindex = value;
        if (attribute.type == NETCONFA_FORWARDING) entry.conf.forwarding = value != 0;
        if (attribute.type == NETCONFA_RP_FILTER) entry.conf.rpFilter = value;
        if (attribute.type == NETCONFA_PROXY_NEIGH && *family == Family::ipv6) entry.conf.proxyNdp = value != 0;
    }
    if (reader.malformed() || entry.ifindex == 0) return std::nullopt;
    entry.conf.known = true;
    return entry;
}

std::optional<std::uint32_t> parseNexthopGroup(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    if (message.nlmsg_type != RTM_NEWNEXTHOP || payload.size() < sizeof(nhmsg)) return std::nullopt;
    std::uint32_t id = 0;
    bool group = false;
    bool bridge = false;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(nhmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == NHA_ID) id = attribute.u32();
        if (attribute.type == NHA_GROUP) group = true;
        if (attribute.type == NHA_FDB) bridge = true;
    }
    if (!id || !group || bridge) return std::nullopt;
    return id;
}

}  // namespace fastlet::linuxfp
