// SPDX-License-Identifier: Apache-2.0
// What the kernel is configured to do with packets, as far as it decides whether a fast path is right. Plain values, no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bpf/abi/vitals.h"
#include "core/types/ip_address.hpp"
#include "core/types/mac_address.hpp"

namespace fastlet::linuxfp {

/// A BPF program that somebody attached to an interface. `ours`: its name is one of ours (fastlet_*).
struct AttachedProgram {
    std::uint32_t id = 0;
    std::string name;  ///< as bpftool shows it; empty when it cannot be read
    bool ours = false;
};

enum class XdpMode : std::uint8_t { none, native, generic, offload, multiple };

/// One interface (RTM_NEWLINK), with its hooks.
struct Link {
    std::uint32_t ifindex = 0;
    std::string name;
    MacAddress mac;
    std::uint32_t mtu = 0;
    std::uint32_t flags = 0;   ///< IFF_* (linux/if.h)
    std::uint16_t arphrd = 0;  ///< ARPHRD_* (linux/if_arp.h)
    std::string kind;          ///< IFLA_INFO_KIND; empty for hardware
    std::uint32_t master = 0;  ///< ifindex of the bridge, bond, VRF, ... it belongs to; 0: none
    std::string slaveKind;     ///< IFLA_INFO_SLAVE_KIND
    std::uint32_t promiscuity = 0;
    XdpMode xdpMode = XdpMode::none;
    AttachedProgram xdp;                 ///< the program that runs first when several are attached
    std::uint64_t xdpFeatures = 0;       ///< NETDEV_XDP_ACT_* (netdev generic netlink)
    bool xdpFeaturesKnown = false;       ///< false: this kernel (before 6.3) cannot tell
    std::vector<std::string> qdiscs;     ///< kinds, all handles; empty or "noqueue": none
    std::vector<std::string> tcIngress;  ///< foreign filters and TCX programs at ingress, in words: "filter u32", "tcx foo"
    std::vector<std::string> tcEgress;
    bool packetSocket = false;      ///< a packet socket sees all IPv4/IPv6 frames of this interface (capture)
    bool rxHandler = false;         ///< somebody takes its frames before IP: bridge, bond, macvlan, ipvlan, ... (any namespace)
    std::uint32_t hookUnknown = 0;  ///< != 0: filters or programs could not be listed (errno)
};

struct InterfaceAddress {
    std::uint32_t ifindex = 0;
    IpPrefix address;
    bool operator==(const InterfaceAddress&) const = default;
};

/// One policy rule (RTM_NEWRULE); only what decides whether the lookup helper honours it.
struct PolicyRule {
    Family family = Family::ipv4;
    std::uint32_t priority = 0;
    std::uint32_t table = 0;
    std::string unsupported;  ///< the first selector that bpf_fib_lookup does not honour ("fwmark", "ipproto", ...); else empty
    bool standard = false;    ///< one of the three (IPv6: two) that a fresh namespace has
};

/// RTM_NEWNETCONF and sysctl files, one family of one interface; ifindex -1 (all) and -2 (default) are the kernel's own codes.
struct InterfaceConf {
    bool forwarding = false;
    int rpFilter = 0;          ///< IPv4: the interface's own value; max(all, own) applies
    bool acceptLocal = false;  ///< IPv4, own value; all || own applies
    bool proxyNdp = false;     ///< IPv6
    bool known = false;
};

/// All routes of one family, boiled down while streaming the dump. Flags are sticky until the next full dump.
struct RouteSummary {
    std::uint64_t count = 0;
    bool multipath = false;    ///< RTA_MULTIPATH, or a nexthop object that is a group
    bool realms = false;       ///< RTA_FLOW
    bool customLocal = false;  ///< a local route in another table than local, or added by hand
    std::uint32_t minMtu = 0;  ///< smallest RTAX_MTU metric; 0: none
};

/// A base chain of nf_tables where forwarded packets pass, or a flowtable.
struct NftChain {
    std::string family;  ///< "ip", "ip6", "inet", "netdev"
    std::string table;
    std::string name;
    std::string hook;  ///< "prerouting", "forward", "postrouting", "ingress", "egress", "flowtable"
    std::int32_t priority = 0;
    std::uint32_t rules = 0;
    bool drops = false;                ///< policy drop
    std::vector<std::string> devices;  ///< netdev family and flowtables
};

/// One registered netfilter hook, resolved to a name.
struct NetfilterHook {
    std::string function;  ///< kernel symbol; empty: unknown
    bool legacyTable = false;
    bool legacyEmpty = false;  ///< iptables-legacy: no rule, every built-in chain accepts
};

enum class HookPoint : std::uint8_t { prerouting = 0, forward = 1, postrouting = 2 };

/// What struct fl_vitals says, in words.
struct Vitals {
    bool available = false;  ///< false: nothing could be read (no BTF, no privilege): all goes to Linux
    std::string whyNot;
    std::uint32_t unknown = 0;  ///< FL_UNKNOWN_*
    std::vector<NetfilterHook> hooks[FL_NF_FAMILIES][FL_NF_POINTS];
    std::uint32_t xfrmPolicies = 0;
    bool xfrmDefaultBlock = false;
    bool customLocalRoutes4 = false;
    bool customRules4 = false;
    bool customRules6 = false;
    int multipathPolicy4 = 0;
    int multipathPolicy6 = 0;
    bool forwardUsePmtu4 = false;
    bool forwardUpdatePriority4 = true;
    bool proxyNdpAll = false;
    bool forwarding6All = false;
    std::uint32_t tclassidUsers4 = 0;
};

/// Immutable once built; `number` grows with every new state of one daemon.
struct NetState {
    std::uint64_t number = 0;
    std::map<std::uint32_t, Link> links;  ///< by ifindex
    std::string rxHandlersUnreadable;     ///< why Link::rxHandler is not known; empty: it is
    std::vector<InterfaceAddress> addresses;
    std::vector<PolicyRule> rules;
    std::map<std::int32_t, InterfaceConf> conf4;  ///< by ifindex; NETCONFA_IFINDEX_ALL is -1
    std::map<std::int32_t, InterfaceConf> conf6;
    RouteSummary routes4;
    RouteSummary routes6;
    std::uint64_t neighbours = 0;
    std::vector<NftChain> nftChains;
    std::string nftUnreadable;     ///< why nf_tables could not be listed; empty: it was, or this kernel has none
    bool packetSocketAll = false;  ///< a packet socket that is bound to no interface sees all frames
    Vitals vitals;
};

using NetStatePtr = std::shared_ptr<const NetState>;

}  // namespace fastlet::linuxfp
