// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace fastlet {

using Bytes = std::vector<std::uint8_t>;

/// AF_NETLINK protocol numbers (include/uapi/linux/netlink.h).
enum class NetlinkProtocol : int {
    route = NETLINK_ROUTE,
    xfrm = NETLINK_XFRM,
    netfilter = NETLINK_NETFILTER,
    generic = NETLINK_GENERIC
};

/// One request. `payload` is what follows the nlmsghdr: the family's own header, then attributes.
struct NetlinkRequest {
    NetlinkProtocol protocol = NetlinkProtocol::route;
    std::uint16_t type = 0;
    std::uint16_t flags = 0;  ///< besides NLM_F_REQUEST, which the port adds itself
    Bytes payload;
};

/// Is called once per message; the message lives only during the call. Lengths have been checked against the datagram.
using NetlinkVisitor = std::function<void(const nlmsghdr&)>;

/// Questions to the kernel. Threading: one thread at a time per object.
class Netlink {
public:
    virtual ~Netlink() = default;

    /// A dump (NLM_F_DUMP is added). A dump that the kernel marks as interrupted (NLM_F_DUMP_INTR) is an Error with code EINTR:
    /// the caller has seen an inconsistent set and asks again.
    virtual Status dump(const NetlinkRequest& request, const NetlinkVisitor& visit) = 0;

    /// One question, one answer (for example RTM_GETROUTE for one destination). The answer is the whole message with its header.
    virtual Result<Bytes> query(const NetlinkRequest& request) = 0;
};

/// Multicast notifications of one protocol. The file descriptor is non-blocking and can be polled.
class NetlinkEvents {
public:
    struct Drained {
        std::size_t messages = 0;
        bool overflow = false;  ///< ENOBUFS: messages were lost, the model has diverged
    };

    virtual ~NetlinkEvents() = default;
    [[nodiscard]] virtual int fd() const = 0;
    /// Everything that is queued now; returns at once when nothing is.
    virtual Result<Drained> drain(const NetlinkVisitor& visit) = 0;
};

/// The real ports, in the network namespace of the calling thread.
[[nodiscard]] Result<std::unique_ptr<Netlink>> openNetlink();
/// `groups`: multicast group numbers (RTNLGRP_*, NFNLGRP_*, ...). `receiveBufferBytes`: SO_RCVBUFFORCE, falls back to SO_RCVBUF.
[[nodiscard]] Result<std::unique_ptr<NetlinkEvents>> openNetlinkEvents(NetlinkProtocol protocol, std::span<const int> groups,
                                                                       int receiveBufferBytes);

}  // namespace fastlet
