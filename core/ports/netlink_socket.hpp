// SPDX-License-Identifier: Apache-2.0
// One AF_NETLINK socket of one protocol, and the datagrams that come out of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/fd.hpp"
#include "core/ports/netlink.hpp"
#include "core/ports/netlink_message.hpp"

namespace fastlet {

/// One datagram. `truncated`: it was larger than the buffer, and `bytes` is only its beginning.
struct NetlinkDatagram {
    ByteView bytes;
    bool truncated = false;
};

class NetlinkSocket {
public:
    /// A bound socket in the network namespace of the calling thread. `socketFlags`: SOCK_NONBLOCK or 0.
    [[nodiscard]] static Result<NetlinkSocket> open(NetlinkProtocol protocol, int socketFlags);

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint32_t port() const { return port_; }
    /// False: this kernel does not know the option.
    bool setOption(int option, int value);
    Status joinGroup(int group);
    void setReceiveBuffer(int bytes);
    void setReceiveTimeout(int seconds);

    Status send(ByteView message);
    /// The next datagram from the kernel; it lives until the next call. Error codes: EAGAIN, ENOBUFS, ...
    Result<NetlinkDatagram> receive();

private:
    explicit NetlinkSocket(Fd fd);

    Fd fd_;
    std::uint32_t port_ = 0;
    std::unique_ptr<std::uint8_t[]> buffer_;
};

/// Calls `visit` for each whole message; false: what follows the last one is not a message.
bool forEachMessage(ByteView datagram, const std::function<void(const nlmsghdr&)>& visit);

}  // namespace fastlet
