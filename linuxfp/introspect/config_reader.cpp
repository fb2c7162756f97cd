// SPDX-License-Identifier: Apache-2.0
// Addresses, policy rules and per-interface settings.
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/parsers.hpp"
#include "linuxfp/introspect/readers.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr std::int32_t kAll = NETCONFA_IFINDEX_ALL;

using Conf = std::map<std::int32_t, InterfaceConf>;

Status dumpConf(Netlink& netlink, std::uint8_t family, Conf& into) {
    netconfmsg header{};
    header.ncm_family = family;
    return dumpFamily(netlink, RTM_GETNETCONF, NetlinkWriter(header).bytes(), [&](const nlmsghdr& message) {
        if (const auto entry = parseNetconf(message)) into.insert_or_assign(entry->ifindex, entry->conf);
    });
}

/// Empty: the interface has gone, or has no such setting.
std::optional<bool> readSwitch(const ProcReader& proc, const std::string& family, const std::string& name,
                               const std::string& setting) {
    const auto text = proc("sys/net/" + family + "/conf/" + name + "/" + setting);
    if (!text || text->empty()) return std::nullopt;
    return text->front() != '0';
}

std::string nameOf(std::int32_t ifindex, const NetState& state) {
    if (ifindex == kAll) return "all";
    const auto found = state.links.find(static_cast<std::uint32_t>(ifindex));
    return found == state.links.end() ? std::string() : found->second.name;
}

void addSwitches(const ProcReader& proc, const NetState& state, Conf& conf4, Conf& conf6) {
    for (auto& [ifindex, conf] : conf4) {
        const auto name = nameOf(ifindex, state);
        // Not readable: own addresses as source are left to Linux, which is right either way.
        if (!name.empty()) conf.acceptLocal = readSwitch(proc, "ipv4", name, "accept_local").value_or(false);
    }
    for (auto& [ifindex, conf] : conf6) {
        const auto name = nameOf(ifindex, state);
        // Linux drops what comes in while disable_ipv6 is set; the lookup helper only looks at forwarding.
        if (ifindex != kAll && !name.empty() && readSwitch(proc, "ipv6", name, "disable_ipv6").value_or(true))
            conf.forwarding = false;
    }
}

}  // namespace

Status dumpFamily(Netlink& netlink, std::uint16_t type, Bytes payload, const NetlinkVisitor& visit) {
    const std::uint8_t family = payload.empty() ? 0 : payload.front();
    auto done = netlink.dump({NetlinkProtocol::route, type, 0, std::move(payload)}, [&](const nlmsghdr& message) {
        const auto body = netlinkPayload(message);
        if (!body.empty() && body.front() == family) visit(message);
    });
    if (!done && (done.error().code == EAFNOSUPPORT || done.error().code == EOPNOTSUPP)) return {};
    return done;
}

Status readAddresses(Netlink& netlink, NetState& state) {
    std::vector<InterfaceAddress> addresses;
    for (const std::uint8_t family : {AF_INET, AF_INET6}) {
        ifaddrmsg header{};
        header.ifa_family = family;
        // A message without an address is possible (0.0.0.0) and says nothing.
        FASTLET_CHECK(dumpFamily(netlink, RTM_GETADDR, NetlinkWriter(header).bytes(), [&](const nlmsghdr& message) {
            if (auto address = parseAddress(message)) addresses.push_back(*address);
        }));
    }
    state.addresses = std::move(addresses);
    return {};
}

Status readRules(Netlink& netlink, NetState& state) {
    std::vector<PolicyRule> rules;
    bool whole = true;
    for (const std::uint8_t family : {AF_INET, AF_INET6}) {
        fib_rule_hdr header{};
        header.family = family;
        FASTLET_CHECK(dumpFamily(netlink, RTM_GETRULE, NetlinkWriter(header).bytes(), [&](const nlmsghdr& message) {
            auto rule = parseRule(message);
            whole = whole && rule;
            if (rule) rules.push_back(*std::move(rule));
        }));
    }
    if (!whole) return Error::make("a policy rule in a form that this program does not understand", {}, EPROTO);
    state.rules = std::move(rules);
    return {};
}

Status readConf(Netlink& netlink, const ProcReader& proc, NetState& state) {
    Conf conf4;
    Conf conf6;
    FASTLET_CHECK(dumpConf(netlink, AF_INET, conf4));
    FASTLET_CHECK(dumpConf(netlink, AF_INET6, conf6));
    addSwitches(proc, state, conf4, conf6);
    state.conf4 = std::move(conf4);
    state.conf6 = std::move(conf6);
    return {};
}

}  // namespace fastlet::linuxfp
