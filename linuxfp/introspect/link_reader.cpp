// SPDX-License-Identifier: Apache-2.0
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/ports/generic_family.hpp"
#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/netdev_family.hpp"
#include "linuxfp/introspect/parsers.hpp"
#include "linuxfp/introspect/readers.hpp"

namespace fastlet::linuxfp {
namespace {

using Links = std::map<std::uint32_t, Link>;

constexpr std::uint32_t kIngressParent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
constexpr std::uint32_t kEgressParent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);
// Qdiscs that take no filters: no need to ask for them.
constexpr std::array<std::string_view, 7> kWithoutFilters = {"noqueue", "mq", "pfifo_fast", "pfifo", "bfifo", "fq", "noop"};

Result<Links> dumpLinks(Netlink& netlink) {
    NetlinkWriter payload(ifinfomsg{});
    payload.number<std::uint32_t>(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    Links links;
    bool whole = true;
    FASTLET_CHECK(netlink.dump({NetlinkProtocol::route, RTM_GETLINK, 0, payload.bytes()}, [&](const nlmsghdr& message) {
        auto link = parseLink(message);
        whole = whole && link;
        if (!link) return;
        const auto ifindex = link->ifindex;
        links.insert_or_assign(ifindex, *std::move(link));
    }));
    if (!whole) return Error::make("a link in a form that this program does not understand", {}, EPROTO);
    return links;
}

Result<std::vector<Qdisc>> dumpQdiscs(Netlink& netlink) {
    // Without this flag the kernel hides the default qdiscs of multi-queue devices.
    NetlinkWriter payload(tcmsg{});
    payload.attribute(TCA_DUMP_INVISIBLE, {});
    std::vector<Qdisc> qdiscs;
    bool whole = true;
    FASTLET_CHECK(netlink.dump({NetlinkProtocol::route, RTM_GETQDISC, 0, payload.bytes()}, [&](const nlmsghdr& message) {
        auto qdisc = parseQdisc(message);
        whole = whole && qdisc;
        if (qdisc) qdiscs.push_back(*std::move(qdisc));
    }));
    if (!whole) return Error::make("a qdisc in a form that this program does not understand", {}, EPROTO);
    return qdiscs;
}

/// In words, or nothing when it is ours.
std::string describeFilter(const TcFilter& filter, HookInspector& hooks) {
    if (filter.kind != "bpf") return "filter " + filter.kind;
    if (!filter.handle) return {};  // the filters of this classifier follow
    const auto program = filter.program ? hooks.program(filter.program) : Result<AttachedProgram>(AttachedProgram{});
    if (program && program->ours) return {};
    return "filter bpf " + (program && !program->name.empty() ? program->name : filter.programName);
}

/// Filters below one parent. An interface that has gone has none.
Status listFilters(Netlink& netlink, HookInspector& hooks, std::uint32_t ifindex, std::uint32_t parent,
                   std::vector<std::string>& into) {
    tcmsg header{};
    header.tcm_ifindex = static_cast<int>(ifindex);
    header.tcm_parent = parent;
    std::vector<TcFilter> filters;
    auto done =
        netlink.dump({NetlinkProtocol::route, RTM_GETTFILTER, 0, NetlinkWriter(header).bytes()}, [&](const nlmsghdr& message) {
            if (message.nlmsg_type != RTM_NEWTFILTER) return;  // chains are told here, too
            auto filter = parseFilter(message);
            filters.push_back(filter ? *std::move(filter) : TcFilter{1, "unreadable", 0, {}});
        });
    if (!done && (done.error().code == ENODEV || done.error().code == EINVAL)) return {};
    FASTLET_CHECK(std::move(done));
    for (const auto& filter : filters) {
        auto text = describeFilter(filter, hooks);
        if (!text.empty() && std::find(into.begin(), into.end(), text) == into.end()) into.push_back(std::move(text));
    }
    return {};
}

Status listFiltersOf(Netlink& netlink, HookInspector& hooks, const Qdisc& qdisc, Link& link) {
    if (qdisc.kind == "clsact") {
        FASTLET_CHECK(listFilters(netlink, hooks, qdisc.ifindex, kIngressParent, link.tcIngress));
        return listFilters(netlink, hooks, qdisc.ifindex, kEgressParent, link.tcEgress);
    }
    if (qdisc.kind == "ingress") return listFilters(netlink, hooks, qdisc.ifindex, qdisc.handle, link.tcIngress);
    const bool takes = std::find(kWithoutFilters.begin(), kWithoutFilters.end(), qdisc.kind) == kWithoutFilters.end();
    // A default qdisc has no handle; as the root it is addressed by 0, elsewhere nobody can address it.
    const bool addressable = qdisc.handle || qdisc.parent == TC_H_ROOT;
    if (!takes || !addressable) return {};
    return listFilters(netlink, hooks, qdisc.ifindex, qdisc.handle, link.tcEgress);
}

Status addQdiscs(Netlink& netlink, HookInspector& hooks, Links& links) {
    FASTLET_TRY(qdiscs, dumpQdiscs(netlink));
    for (const auto& qdisc : qdiscs) {
        const auto found = links.find(qdisc.ifindex);
        if (found == links.end()) continue;
        auto& kinds = found->second.qdiscs;
        if (std::find(kinds.begin(), kinds.end(), qdisc.kind) == kinds.end()) kinds.push_back(qdisc.kind);
        auto done = listFiltersOf(netlink, hooks, qdisc, found->second);
        if (done) continue;
        if (done.error().code == EINTR) return done;
        found->second.hookUnknown = done.error().code ? static_cast<std::uint32_t>(done.error().code) : EPROTO;
    }
    return {};
}

void listTcx(HookInspector& hooks, Link& link, bool ingress) {
    const auto programs = hooks.tcx(link.ifindex, ingress);
    if (!programs) {
        if (programs.error().code != ENODEV) link.hookUnknown = programs.error().code ? programs.error().code : EPROTO;
        return;
    }
    auto& into = ingress ? link.tcIngress : link.tcEgress;
    for (const auto& program : *programs)
        if (!program.ours) into.push_back("tcx " + (program.name.empty() ? std::to_string(program.id) : program.name));
}

void addPrograms(HookInspector& hooks, Links& links) {
    for (auto& [ifindex, link] : links) {
        listTcx(hooks, link, true);
        listTcx(hooks, link, false);
        if (!link.xdp.id) continue;
        if (auto program = hooks.program(link.xdp.id)) link.xdp = *std::move(program);
    }
}

Status addXdpFeatures(Netlink& netlink, Links& links) {
    auto family = findGenericFamily(netlink, kNetdevFamily);
    if (!family) return {};  // a kernel that cannot tell
    genlmsghdr header{};
    header.cmd = kNetdevGet;
    header.version = 1;
    return netlink.dump({NetlinkProtocol::generic, family->id, 0, NetlinkWriter(header).bytes()}, [&](const nlmsghdr& message) {
        const auto features = parseXdpFeatures(message);
        if (!features) return;
        const auto found = links.find(features->first);
        if (found == links.end()) return;
        found->second.xdpFeatures = features->second;
        found->second.xdpFeaturesKnown = true;
    });
}

PacketSockets readPacketSockets(const ProcReader& proc) {
    const auto table = proc("net/packet");
    if (table) return parsePacketSockets(*table);
    PacketSockets sockets;
    sockets.all = table.error().code != ENOENT;  // no such file: this kernel has no packet sockets
    return sockets;
}

}  // namespace

Status readLinks(Netlink& netlink, HookInspector& hooks, const ProcReader& proc, NetState& state) {
    FASTLET_TRY(links, dumpLinks(netlink));
    FASTLET_CHECK(addQdiscs(netlink, hooks, links));
    addPrograms(hooks, links);
    FASTLET_CHECK(addXdpFeatures(netlink, links));
    const auto sockets = readPacketSockets(proc);
    for (const auto ifindex : sockets.interfaces)
        if (const auto found = links.find(ifindex); found != links.end()) found->second.packetSocket = true;
    state.packetSocketAll = sockets.all;
    state.links = std::move(links);
    return {};
}

void readRxHandlers(HookInspector& hooks, NetState& state) {
    const auto handlers = hooks.rxHandlers();
    state.rxHandlersUnreadable = handlers ? "" : handlers.error().message;
    for (auto& [ifindex, link] : state.links) link.rxHandler = handlers && handlers->contains(ifindex);
}

}  // namespace fastlet::linuxfp
