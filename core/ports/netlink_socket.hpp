// SPDX-License-Identifier: Apache-2.0
// One libnl socket of one protocol. libnl walks through the datagrams; what it finds goes to a listener.
#pragma once

#include <cstdint>
#include <memory>

#include "core/ports/netlink.hpp"
#include "core/ports/netlink_message.hpp"

struct nl_sock;

namespace fastlet {

/// What a socket hears from the kernel. Messages live only during the call. What a listener throws comes out of receive().
class NetlinkListener {
public:
    virtual ~NetlinkListener() = default;
    /// False: the message is for somebody else and goes nowhere.
    virtual bool expects(const nlmsghdr& message) = 0;
    virtual void onMessage(const nlmsghdr& message) = 0;
    /// NLMSG_ERROR, also with code 0: an acknowledgement.
    virtual void onVerdict(const nlmsghdr& message) { (void)message; }
    /// NLMSG_DONE.
    virtual void onDone(const nlmsghdr& message) { (void)message; }
    /// NLM_F_DUMP_INTR: what has been told is of different moments.
    virtual void onInterrupted() {}
};

class NetlinkSocket {
public:
    /// A bound socket in the network namespace of the calling thread.
    [[nodiscard]] static Result<NetlinkSocket> open(NetlinkProtocol protocol);

    [[nodiscard]] int fd() const;
    [[nodiscard]] std::uint32_t port() const;
    /// SOL_NETLINK. False: this kernel does not know the option.
    bool setOption(int option, int value);
    Status joinGroup(int group);
    Status setNonBlocking();
    void setReceiveBuffer(int bytes);
    void setReceiveTimeout(int seconds);

    /// Returns the sequence number that the answers will carry. NLM_F_REQUEST is added.
    Result<std::uint32_t> send(const NetlinkRequest& request, int flags);
    /// The next datagram, and those that belong to it, up to the end of a dump. Error codes: EAGAIN (nothing there, or the
    /// receive timeout), ENOBUFS (messages were lost), ...
    Status receive(NetlinkListener& listener);

private:
    struct Free {
        void operator()(nl_sock* socket) const;
    };
    explicit NetlinkSocket(nl_sock* socket) : socket_(socket) {}

    std::unique_ptr<nl_sock, Free> socket_;
};

}  // namespace fastlet
