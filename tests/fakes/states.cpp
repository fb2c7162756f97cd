// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/states.hpp"

#include <linux/if.h>
#include <linux/if_arp.h>

namespace fastlet::linuxfp::fake {

Link link(std::uint32_t ifindex, const std::string& name, const std::string& kind) {
    Link link;
    link.ifindex = ifindex;
    link.name = name;
    link.kind = kind;
    link.mac.bytes = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(ifindex)};
    link.mtu = 1500;
    link.flags = IFF_UP | IFF_RUNNING;
    link.arphrd = ARPHRD_ETHER;
    link.xdpFeaturesKnown = true;
    link.xdpFeatures = 7;  // basic, redirect, ndo_xmit
    return link;
}

void addLink(NetState& state, const Link& link) {
    state.links[link.ifindex] = link;
    InterfaceConf conf;
    conf.known = conf.forwarding = true;
    state.conf4[static_cast<std::int32_t>(link.ifindex)] = conf;
    state.conf6[static_cast<std::int32_t>(link.ifindex)] = conf;
}

NetState router(const std::string& kind) {
    NetState state;
    state.number = 1;
    Link lo = link(1, "lo", "");
    lo.flags |= IFF_LOOPBACK;
    lo.arphrd = ARPHRD_LOOPBACK;
    addLink(state, lo);
    addLink(state, link(2, "in0", kind));
    addLink(state, link(3, "out0", kind));
    state.conf4[-1] = state.conf6[-1] = state.conf4[2];
    state.addresses = {{2, *IpPrefix::parse("10.0.1.1/24")}, {3, *IpPrefix::parse("10.0.2.1/24")}};
    state.vitals.available = true;
    state.vitals.forwarding6All = true;
    return state;
}

PlannerConfig onTc() {
    PlannerConfig config;
    config.virtualHook = Hook::tc;
    return config;
}

}  // namespace fastlet::linuxfp::fake
