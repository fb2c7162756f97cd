// SPDX-License-Identifier: Apache-2.0
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/parsers.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr std::uint16_t kDevicePrefix = NFTA_DEVICE_NAME + 1;  // NFTA_DEVICE_PREFIX, newer than our headers

bool isMessage(const nlmsghdr& message, int type) {
    return message.nlmsg_type == ((NFNL_SUBSYS_NFTABLES << 8) | type) && netlinkPayload(message).size() >= sizeof(nfgenmsg);
}

const char* familyName(std::uint8_t family) {
    switch (family) {
        case NFPROTO_IPV4:
            return "ip";
        case NFPROTO_IPV6:
            return "ip6";
        case NFPROTO_INET:
            return "inet";
        case NFPROTO_NETDEV:
            return "netdev";
        default:
            return nullptr;  // arp and bridge: no forwarded IP packet passes there
    }
}

/// nullptr: a hook that forwarded packets do not pass.
const char* hookName(std::uint8_t family, std::uint32_t number) {
    constexpr std::uint32_t kInetIngress = 5;    // NF_INET_INGRESS
    constexpr std::uint32_t kNetdevIngress = 0;  // NF_NETDEV_INGRESS
    if (family == NFPROTO_NETDEV) return number == kNetdevIngress ? "ingress" : "egress";
    switch (number) {
        case NF_INET_PRE_ROUTING:
            return "prerouting";
        case NF_INET_FORWARD:
            return "forward";
        case NF_INET_POST_ROUTING:
            return "postrouting";
        case kInetIngress:
            return "ingress";
        default:
            return nullptr;
    }
}

/// From Linux 6.16 on a name without its terminating zero stands for all that begin so. A single device is told twice.
void addDevice(const NetlinkAttribute& attribute, bool prefix, NftChain& chain) {
    std::string name(attribute.text());
    if (prefix || attribute.value.empty() || attribute.value.back() != 0) name += '*';
    if (std::find(chain.devices.begin(), chain.devices.end(), name) == chain.devices.end())
        chain.devices.push_back(std::move(name));
}

bool parseDevices(ByteView bytes, NftChain& chain) {
    NetlinkAttributeReader reader(bytes);
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == NFTA_DEVICE_NAME || attribute.type == kDevicePrefix)
            addDevice(attribute, attribute.type == kDevicePrefix, chain);
    }
    return !reader.malformed();
}

struct Hook {
    std::uint32_t number = 0;
    bool whole = true;
};

Hook parseHook(ByteView bytes, NftChain& chain) {
    Hook hook;
    NetlinkAttributeReader reader(bytes);
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == NFTA_HOOK_HOOKNUM) hook.number = attribute.be32();
        if (attribute.type == NFTA_HOOK_PRIORITY) chain.priority = static_cast<std::int32_t>(attribute.be32());
        if (attribute.type == NFTA_HOOK_DEV) addDevice(attribute, false, chain);
        if (attribute.type == NFTA_HOOK_DEVS) hook.whole = parseDevices(attribute.value, chain) && hook.whole;
    }
    hook.whole = hook.whole && !reader.malformed();
    return hook;
}

bool parseFlowtableHook(ByteView bytes, NftChain& chain) {
    bool whole = true;
    NetlinkAttributeReader reader(bytes);
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == NFTA_FLOWTABLE_HOOK_PRIORITY) chain.priority = static_cast<std::int32_t>(attribute.be32());
        if (attribute.type == NFTA_FLOWTABLE_HOOK_DEVS) whole = parseDevices(attribute.value, chain) && whole;
    }
    return whole && !reader.malformed();
}

/// Stands for what could not be read: the planner takes it as a reason to leave everything to Linux.
NftChain unreadable() {
    NftChain chain;
    chain.family = "inet";
    chain.name = "unreadable";
    chain.hook = "prerouting";
    chain.drops = true;
    return chain;
}

}  // namespace

std::optional<NftChain> parseChain(const nlmsghdr& message) {
    if (!isMessage(message, NFT_MSG_NEWCHAIN)) return std::nullopt;
    const auto family = readStruct<nfgenmsg>(netlinkPayload(message)).nfgen_family;
    const char* name = familyName(family);
    NftChain chain;
    std::optional<Hook> hook;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(nfgenmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == NFTA_CHAIN_TABLE) chain.table = attribute.text();
        if (attribute.type == NFTA_CHAIN_NAME) chain.name = attribute.text();
        if (attribute.type == NFTA_CHAIN_HOOK) hook = parseHook(attribute.value, chain);
        if (attribute.type == NFTA_CHAIN_POLICY) chain.drops = attribute.be32() == NF_DROP;
        if (attribute.type == NFTA_CHAIN_USE) chain.rules = attribute.be32();
    }
    if (reader.malformed() || (hook && !hook->whole)) return unreadable();
    if (!name || !hook) return std::nullopt;
    const char* point = hookName(family, hook->number);
    if (!point) return std::nullopt;
    chain.family = name;
    chain.hook = point;
    return chain;
}

std::optional<NftChain> parseFlowtable(const nlmsghdr& message) {
    if (!isMessage(message, NFT_MSG_NEWFLOWTABLE)) return std::nullopt;
    const char* family = familyName(readStruct<nfgenmsg>(netlinkPayload(message)).nfgen_family);
    NftChain chain;
    bool whole = true;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(nfgenmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == NFTA_FLOWTABLE_TABLE) chain.table = attribute.text();
        if (attribute.type == NFTA_FLOWTABLE_NAME) chain.name = attribute.text();
        if (attribute.type == NFTA_FLOWTABLE_HOOK) whole = parseFlowtableHook(attribute.value, chain) && whole;
    }
    if (reader.malformed() || !whole) return unreadable();
    if (!family) return std::nullopt;
    chain.family = family;
    chain.hook = "flowtable";
    return chain;
}

}  // namespace fastlet::linuxfp
