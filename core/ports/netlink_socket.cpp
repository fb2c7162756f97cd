// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink_socket.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

namespace fastlet {
namespace {

// The kernel fills dumps in datagrams of at most 32 KiB, but for single objects that are larger (a NIC with many functions).
constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;

Result<std::uint32_t> bindToFreePort(int fd) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    socklen_t length = sizeof(address);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address))) return Error::fromErrno("netlink bind", errno);
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length)) return Error::fromErrno("netlink name", errno);
    return address.nl_pid;
}

}  // namespace

NetlinkSocket::NetlinkSocket(Fd fd) : fd_(std::move(fd)), buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(kBufferBytes)) {}

Result<NetlinkSocket> NetlinkSocket::open(NetlinkProtocol protocol, int socketFlags) {
    Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | socketFlags, static_cast<int>(protocol)));
    if (!fd.valid()) return Error::fromErrno("netlink socket of protocol " + std::to_string(static_cast<int>(protocol)), errno);
    FASTLET_TRY(port, bindToFreePort(fd.get()));
    NetlinkSocket socket(std::move(fd));
    socket.port_ = port;
    return socket;
}

bool NetlinkSocket::setOption(int option, int value) {
    return ::setsockopt(fd_.get(), SOL_NETLINK, option, &value, sizeof(value)) == 0;
}

Status NetlinkSocket::joinGroup(int group) {
    if (setOption(NETLINK_ADD_MEMBERSHIP, group)) return {};
    return Error::fromErrno("netlink group " + std::to_string(group), errno);
}

void NetlinkSocket::setReceiveBuffer(int bytes) {
    // FORCE needs CAP_NET_ADMIN; without it net.core.rmem_max limits the buffer, and overflows are noticed anyway.
    if (::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
        (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void NetlinkSocket::setReceiveTimeout(int seconds) {
    const timeval timeout{.tv_sec = seconds, .tv_usec = 0};
    (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

Status NetlinkSocket::send(ByteView message) {
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    ssize_t sent = 0;
    do {
        sent = ::sendto(fd_.get(), message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&kernel), sizeof(kernel));
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) return Error::fromErrno("netlink send", errno);
    return {};
}

Result<NetlinkDatagram> NetlinkSocket::receive() {
    for (;;) {
        sockaddr_nl from{};
        iovec part{buffer_.get(), kBufferBytes};
        msghdr header{};
        header.msg_name = &from;
        header.msg_namelen = sizeof(from);
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        const ssize_t got = ::recvmsg(fd_.get(), &header, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Error::fromErrno("netlink receive", errno);
        // Other processes may send to this port; only the kernel has number 0.
        if (header.msg_namelen < sizeof(from) || from.nl_pid != 0) continue;
        return NetlinkDatagram{{buffer_.get(), static_cast<std::size_t>(got)}, (header.msg_flags & MSG_TRUNC) != 0};
    }
}

bool forEachMessage(ByteView datagram, const std::function<void(const nlmsghdr&)>& visit) {
    while (datagram.size() >= sizeof(nlmsghdr)) {
        const auto* message = reinterpret_cast<const nlmsghdr*>(datagram.data());
        if (message->nlmsg_len < sizeof(nlmsghdr) || message->nlmsg_len > datagram.size()) return false;
        const auto length = std::min<std::size_t>(NLMSG_ALIGN(message->nlmsg_len), datagram.size());
        visit(*message);
        datagram = datagram.subspan(length);
    }
    return datagram.empty();
}

}  // namespace fastlet
