// SPDX-License-Identifier: Apache-2.0
// One function per category: asks the kernel and replaces that part of the state. On an Error the state is unchanged.
// An Error with code EINTR: the kernel's tables changed meanwhile, ask again.
#pragma once

#include "linuxfp/introspect/introspector.hpp"

namespace fastlet::linuxfp {

/// Links with their hooks, qdiscs, filters, XDP features and packet sockets.
[[nodiscard]] Status readLinks(Netlink& netlink, HookInspector& hooks, const ProcReader& proc, NetState& state);
[[nodiscard]] Status readAddresses(Netlink& netlink, NetState& state);
[[nodiscard]] Status readRules(Netlink& netlink, NetState& state);
/// Needs the names of the links: read them before.
[[nodiscard]] Status readConf(Netlink& netlink, const ProcReader& proc, NetState& state);
/// Needs the links: read them before. What cannot be read is said in NetState::rxHandlersUnreadable, and is no Error.
void readRxHandlers(HookInspector& hooks, NetState& state);
/// Routes, nexthop groups and the number of neighbours.
[[nodiscard]] Status readRoutes(Netlink& netlink, NetState& state);
/// What cannot be listed is said in NetState::nftUnreadable, and is no Error.
[[nodiscard]] Status readNftables(Netlink& netlink, NetState& state);

/// Names for the "eth*" among the chains' devices, from the links that are there now.
void expandDevices(NetState& state);

/// Dumps of two families in one go: visits only messages of that family (where the kernel has no such family, it answers with all
/// the others). A family that the kernel does not know is an empty dump.
[[nodiscard]] Status dumpFamily(Netlink& netlink, std::uint16_t type, Bytes payload, const NetlinkVisitor& visit);

}  // namespace fastlet::linuxfp
