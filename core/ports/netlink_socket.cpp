// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink_socket.hpp"

#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>

namespace fastlet {
namespace {

struct CallbacksPut {
    void operator()(nl_cb* callbacks) const { nl_cb_put(callbacks); }
};
struct MessageFree {
    void operator()(nl_msg* message) const { nlmsg_free(message); }
};

/// libnl folds the kernel's error numbers together; these are the ones that our callers tell apart.
int errnoOf(int rc) {
    switch (-rc) {
        case NLE_AGAIN:
            return EAGAIN;
        case NLE_INTR:
            return EINTR;
        case NLE_NOMEM:         // of recvmsg(): ENOBUFS
        case NLE_MSG_OVERFLOW:  // NLMSG_OVERRUN
        case NLE_MSG_TRUNC:
            return ENOBUFS;  // whatever of them: something was not heard
        case NLE_PERM:
            return EPERM;
        case NLE_NOACCESS:
            return EACCES;
        case NLE_OPNOTSUPP:
            return EOPNOTSUPP;
        case NLE_PROTO_MISMATCH:
            return EPROTONOSUPPORT;
        default:
            return EIO;
    }
}

Error libraryError(const std::string& what, int rc) { return Error::make(what + ": " + nl_geterror(rc), {}, errnoOf(rc)); }

/// One receive(): the listener, and what must not travel through C frames.
struct Hearing {
    NetlinkListener& listener;
    std::exception_ptr thrown;
    bool concluded = false;  ///< libnl returns an error for the kernel's verdict, too

    template <class Call>
    int call(int next, Call&& tell) noexcept {
        try {
            tell();
            return next;
        } catch (...) {
            thrown = std::current_exception();
            return NL_STOP;
        }
    }
};

Hearing& hearingOf(void* argument) { return *static_cast<Hearing*>(argument); }

int onAnything(nl_msg* message, void* argument) {
    auto& hearing = hearingOf(argument);
    bool wanted = false;
    // Other processes may send to this port; only the kernel has number 0.
    const int next = hearing.call(
        NL_OK, [&] { wanted = nlmsg_get_src(message)->nl_pid == 0 && hearing.listener.expects(*nlmsg_hdr(message)); });
    return next == NL_OK && !wanted ? NL_SKIP : next;
}

int onValid(nl_msg* message, void* argument) {
    auto& hearing = hearingOf(argument);
    return hearing.call(NL_OK, [&] { hearing.listener.onMessage(*nlmsg_hdr(message)); });
}

int onFinish(nl_msg* message, void* argument) {
    auto& hearing = hearingOf(argument);
    return hearing.call(NL_STOP, [&] { hearing.listener.onDone(*nlmsg_hdr(message)); });
}

int onAcknowledgement(nl_msg* message, void* argument) {
    auto& hearing = hearingOf(argument);
    return hearing.call(NL_OK, [&] { hearing.listener.onVerdict(*nlmsg_hdr(message)); });
}

int onError(sockaddr_nl*, nlmsgerr* error, void* argument) {
    auto& hearing = hearingOf(argument);
    hearing.concluded = true;
    // libnl hands out the payload of the message that it has checked.
    const auto* message = reinterpret_cast<const nlmsghdr*>(reinterpret_cast<const std::uint8_t*>(error) - NLMSG_HDRLEN);
    return hearing.call(NL_STOP, [&] { hearing.listener.onVerdict(*message); });
}

int onInterrupted(nl_msg*, void* argument) {
    auto& hearing = hearingOf(argument);
    return hearing.call(NL_OK, [&] { hearing.listener.onInterrupted(); });
}

// Which answers are ours is the listener's question; libnl would end with an error at the first that is not.
int anySequence(nl_msg*, void*) { return NL_OK; }

}  // namespace

void NetlinkSocket::Free::operator()(nl_sock* socket) const { nl_socket_free(socket); }

Result<NetlinkSocket> NetlinkSocket::open(NetlinkProtocol protocol) {
    NetlinkSocket socket(nl_socket_alloc());
    if (!socket.socket_) return Error::fromErrno("netlink socket", ENOMEM);
    nl_socket_disable_auto_ack(socket.socket_.get());
    if (const int rc = nl_connect(socket.socket_.get(), static_cast<int>(protocol)); rc < 0)
        return libraryError("netlink socket of protocol " + std::to_string(static_cast<int>(protocol)), rc);
    return socket;
}

int NetlinkSocket::fd() const { return nl_socket_get_fd(socket_.get()); }

std::uint32_t NetlinkSocket::port() const { return nl_socket_get_local_port(socket_.get()); }

bool NetlinkSocket::setOption(int option, int value) {
    return ::setsockopt(fd(), SOL_NETLINK, option, &value, sizeof(value)) == 0;
}

Status NetlinkSocket::joinGroup(int group) {
    if (const int rc = nl_socket_add_membership(socket_.get(), group); rc < 0)
        return libraryError("netlink group " + std::to_string(group), rc);
    return {};
}

Status NetlinkSocket::setNonBlocking() {
    if (const int rc = nl_socket_set_nonblocking(socket_.get()); rc < 0) return libraryError("netlink socket", rc);
    return {};
}

void NetlinkSocket::setReceiveBuffer(int bytes) {
    // FORCE needs CAP_NET_ADMIN; without it net.core.rmem_max limits the buffer, and overflows are noticed anyway.
    if (::setsockopt(fd(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
        (void)::setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void NetlinkSocket::setReceiveTimeout(int seconds) {
    const timeval timeout{.tv_sec = seconds, .tv_usec = 0};
    (void)::setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

Result<std::uint32_t> NetlinkSocket::send(const NetlinkRequest& request, int flags) {
    const auto size = static_cast<int>(request.payload.size());
    const std::unique_ptr<nl_msg, MessageFree> message(nlmsg_alloc_size(static_cast<std::size_t>(nlmsg_total_size(size))));
    auto* header =
        message ? nlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ, request.type, size, request.flags | flags) : nullptr;
    if (!header) return Error::fromErrno("netlink message", ENOMEM);
    if (size > 0) std::memcpy(nlmsg_data(header), request.payload.data(), request.payload.size());
    nl_complete_msg(socket_.get(), message.get());
    if (const int rc = nl_send(socket_.get(), message.get()); rc < 0) return libraryError("netlink send", rc);
    return header->nlmsg_seq;
}

Status NetlinkSocket::receive(NetlinkListener& listener) {
    const std::unique_ptr<nl_cb, CallbacksPut> callbacks(nl_cb_alloc(NL_CB_DEFAULT));
    if (!callbacks) return Error::fromErrno("netlink callbacks", ENOMEM);
    Hearing hearing{listener, nullptr};
    const auto set = [&](nl_cb_type type, nl_recvmsg_msg_cb_t function) {
        nl_cb_set(callbacks.get(), type, NL_CB_CUSTOM, function, &hearing);
    };
    set(NL_CB_MSG_IN, onAnything);
    set(NL_CB_SEQ_CHECK, anySequence);
    set(NL_CB_VALID, onValid);
    set(NL_CB_FINISH, onFinish);
    set(NL_CB_ACK, onAcknowledgement);
    set(NL_CB_DUMP_INTR, onInterrupted);
    nl_cb_err(callbacks.get(), NL_CB_CUSTOM, onError, &hearing);
    const int rc = nl_recvmsgs(socket_.get(), callbacks.get());
    if (hearing.thrown) std::rethrow_exception(hearing.thrown);
    if (rc < 0 && !hearing.concluded) return libraryError("netlink receive", rc);
    return {};
}

}  // namespace fastlet
