// SPDX-License-Identifier: Apache-2.0
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/parsers.hpp"
#include "linuxfp/introspect/readers.hpp"

namespace fastlet::linuxfp {
namespace {

NetlinkRequest request(int message) {
    nfgenmsg header{};
    header.nfgen_family = NFPROTO_UNSPEC;  // all families
    header.version = NFNETLINK_V0;
    return {NetlinkProtocol::netfilter, static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message), 0,
            NetlinkWriter(header).bytes()};
}

Status dumpAll(Netlink& netlink, std::vector<NftChain>& chains) {
    FASTLET_CHECK(netlink.dump(request(NFT_MSG_GETCHAIN), [&](const nlmsghdr& message) {
        if (auto chain = parseChain(message)) chains.push_back(*std::move(chain));
    }));
    return netlink.dump(request(NFT_MSG_GETFLOWTABLE), [&](const nlmsghdr& message) {
        if (auto table = parseFlowtable(message)) chains.push_back(*std::move(table));
    });
}

/// This kernel has no nf_tables, or not yet. Should it have hooks all the same, the planner sees more of them than chains.
bool isAbsent(int code) { return code == EPROTONOSUPPORT || code == EINVAL || code == EOPNOTSUPP; }

}  // namespace

Status readNftables(Netlink& netlink, NetState& state) {
    std::vector<NftChain> chains;
    auto done = dumpAll(netlink, chains);
    if (!done && done.error().code == EINTR) return done;
    state.nftUnreadable = done || isAbsent(done.error().code) ? std::string() : done.error().message;
    state.nftChains = std::move(chains);
    return {};
}

void expandDevices(NetState& state) {
    for (auto& chain : state.nftChains) {
        std::vector<std::string> added;
        for (const auto& device : chain.devices) {
            if (!device.ends_with('*')) continue;
            const auto prefix = std::string_view(device).substr(0, device.size() - 1);
            for (const auto& [ifindex, link] : state.links)
                if (link.name.starts_with(prefix)) added.push_back(link.name);
        }
        for (auto& name : added)
            if (std::find(chain.devices.begin(), chain.devices.end(), name) == chain.devices.end())
                chain.devices.push_back(std::move(name));
    }
}

}  // namespace fastlet::linuxfp
