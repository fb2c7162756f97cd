// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "core/ports/netlink_message.hpp"
#include "core/ports/netlink_socket.hpp"

namespace fastlet {
namespace {

// The kernel answers within the system call as a rule; this only keeps a broken one from hanging the daemon.
constexpr int kAnswerSeconds = 10;
// One drain() ends even when messages come in faster than they are looked at; what is left keeps the descriptor readable.
constexpr int kDatagramsPerDrain = 4096;

/// The sentence that the kernel adds to an error (extended acknowledgement); empty: none.
std::string kernelText(const nlmsghdr& message, std::size_t headerSize) {
    if (!(message.nlmsg_flags & NLM_F_ACK_TLVS)) return {};
    NetlinkAttributeReader reader(netlinkAttributes(message, headerSize));
    NetlinkAttribute attribute;
    while (reader.next(attribute))
        if (attribute.type == NLMSGERR_ATTR_MSG) return std::string(attribute.text());
    return {};
}

Error kernelError(int code, const std::string& text, std::uint16_t type) {
    auto error = Error::fromErrno("netlink request " + std::to_string(type), code);
    if (!text.empty()) error.message += " (" + text + ")";
    return error;
}

/// The verdict in an NLMSG_ERROR message; code 0 is an acknowledgement.
Status readError(const nlmsghdr& message, std::uint16_t type) {
    const auto payload = netlinkPayload(message);
    if (payload.size() < sizeof(nlmsgerr)) return Error::make("netlink: a truncated error message", {}, EPROTO);
    const auto error = readStruct<nlmsgerr>(payload);
    if (!error.error) return {};
    std::size_t size = sizeof(nlmsgerr);
    if (!(message.nlmsg_flags & NLM_F_CAPPED) && error.msg.nlmsg_len > sizeof(nlmsghdr))
        size += error.msg.nlmsg_len - sizeof(nlmsghdr);
    return kernelError(-error.error, kernelText(message, size), type);
}

/// The verdict at the end of a dump: NLMSG_DONE carries a number that is negative when the dump failed half way.
Status readDone(const nlmsghdr& message, std::uint16_t type) {
    const auto payload = netlinkPayload(message);
    if (payload.size() < sizeof(int)) return {};
    const auto code = readStruct<int>(payload);
    if (code >= 0) return {};
    return kernelError(-code, kernelText(message, sizeof(int)), type);
}

/// What has come of one dump so far.
struct DumpProgress {
    bool done = false;
    bool interrupted = false;
    Status status;
};

class RealNetlink final : public Netlink {
public:
    Status dump(const NetlinkRequest& request, const NetlinkVisitor& visit) override {
        FASTLET_TRY(socket, ask(request, NLM_F_DUMP));
        DumpProgress progress;
        // Read to the end whatever happens: the kernel refuses a new dump while one is running on the same socket.
        while (!progress.done) {
            auto datagram = receive(request.protocol, *socket);
            if (!datagram) return std::move(datagram).error();
            if (datagram->truncated) progress.status = Error::make("netlink: an object larger than the buffer", {}, EMSGSIZE);
            forEachMessage(datagram->bytes, [&](const nlmsghdr& message) {
                if (isAnswer(message, *socket)) take(message, request, visit, progress);
            });
        }
        if (!progress.status) return std::move(progress.status).error();
        if (progress.interrupted) return Error::fromErrno("netlink dump " + std::to_string(request.type), EINTR);
        return {};
    }

    Result<Bytes> query(const NetlinkRequest& request) override {
        FASTLET_TRY(socket, ask(request, 0));
        std::optional<Result<Bytes>> answer;
        while (!answer) {
            auto datagram = receive(request.protocol, *socket);
            if (!datagram) return std::move(datagram).error();
            if (datagram->truncated) return Error::make("netlink: an answer larger than the buffer", {}, EMSGSIZE);
            forEachMessage(datagram->bytes, [&](const nlmsghdr& message) {
                if (!answer && isAnswer(message, *socket)) answer = wholeAnswer(message, request.type);
            });
        }
        return *std::move(answer);
    }

    Result<NetlinkSocket*> socketOf(NetlinkProtocol protocol) {
        if (auto found = sockets_.find(protocol); found != sockets_.end()) return &found->second;
        FASTLET_TRY(socket, NetlinkSocket::open(protocol, 0));
        // Each is a convenience of newer kernels: error texts, short error messages, strict checking of dump filters.
        socket.setOption(NETLINK_EXT_ACK, 1);
        socket.setOption(NETLINK_CAP_ACK, 1);
        if (protocol == NetlinkProtocol::route) socket.setOption(NETLINK_GET_STRICT_CHK, 1);
        socket.setReceiveTimeout(kAnswerSeconds);
        return &sockets_.emplace(protocol, std::move(socket)).first->second;
    }

private:
    Result<NetlinkSocket*> ask(const NetlinkRequest& request, int flags) {
        FASTLET_TRY(socket, socketOf(request.protocol));
        nlmsghdr header{};
        header.nlmsg_len = static_cast<std::uint32_t>(sizeof(header) + request.payload.size());
        header.nlmsg_type = request.type;
        header.nlmsg_flags = static_cast<std::uint16_t>(request.flags | flags | NLM_F_REQUEST);
        header.nlmsg_seq = ++sequence_;
        header.nlmsg_pid = socket->port();
        const auto* begin = reinterpret_cast<const std::uint8_t*>(&header);
        Bytes message(begin, begin + sizeof(header));
        message.insert(message.end(), request.payload.begin(), request.payload.end());
        FASTLET_CHECK(socket->send(message));
        return socket;
    }

    /// A socket that failed to deliver may hold half an answer: it is not used again.
    Result<NetlinkDatagram> receive(NetlinkProtocol protocol, NetlinkSocket& socket) {
        auto datagram = socket.receive();
        if (datagram) return datagram;
        sockets_.erase(protocol);
        auto error = std::move(datagram).error();
        if (error.code == EAGAIN) return Error::fromErrno("netlink answer", ETIMEDOUT);
        return error;
    }

    bool isAnswer(const nlmsghdr& message, const NetlinkSocket& socket) const {
        return message.nlmsg_seq == sequence_ && message.nlmsg_pid == socket.port();
    }

    static void take(const nlmsghdr& message, const NetlinkRequest& request, const NetlinkVisitor& visit,
                     DumpProgress& progress) {
        if (progress.done) return;
        if (message.nlmsg_flags & NLM_F_DUMP_INTR) progress.interrupted = true;
        if (message.nlmsg_type == NLMSG_ERROR || message.nlmsg_type == NLMSG_DONE) {
            progress.done = true;
            auto verdict = message.nlmsg_type == NLMSG_ERROR ? readError(message, request.type) : readDone(message, request.type);
            if (progress.status) progress.status = std::move(verdict);
        } else if (message.nlmsg_type >= NLMSG_MIN_TYPE && progress.status) {
            visit(message);
        }
    }

    static Result<Bytes> wholeAnswer(const nlmsghdr& message, std::uint16_t type) {
        if (message.nlmsg_type == NLMSG_ERROR) FASTLET_CHECK(readError(message, type));
        const auto* begin = reinterpret_cast<const std::uint8_t*>(&message);
        return Bytes(begin, begin + message.nlmsg_len);
    }

    std::map<NetlinkProtocol, NetlinkSocket> sockets_;
    std::uint32_t sequence_ = 0;
};

class RealNetlinkEvents final : public NetlinkEvents {
public:
    explicit RealNetlinkEvents(NetlinkSocket socket) : socket_(std::move(socket)) {}
    [[nodiscard]] int fd() const override { return socket_.fd(); }

    Result<Drained> drain(const NetlinkVisitor& visit) override {
        Drained drained;
        for (int i = 0; i < kDatagramsPerDrain; ++i) {
            auto datagram = socket_.receive();
            if (datagram) {
                look(*datagram, visit, drained);
                continue;
            }
            const int code = datagram.error().code;
            if (code == EAGAIN) break;
            if (code != ENOBUFS) return std::move(datagram).error();
            drained.overflow = true;
        }
        return drained;
    }

private:
    static void look(const NetlinkDatagram& datagram, const NetlinkVisitor& visit, Drained& drained) {
        const bool whole = forEachMessage(datagram.bytes, [&](const nlmsghdr& message) {
            ++drained.messages;
            visit(message);
        });
        // A message that cannot be read is a lost one.
        if (!whole || datagram.truncated) drained.overflow = true;
    }

    NetlinkSocket socket_;
};

}  // namespace

Result<std::unique_ptr<Netlink>> openNetlink() {
    auto netlink = std::make_unique<RealNetlink>();
    FASTLET_TRY(route, netlink->socketOf(NetlinkProtocol::route));
    (void)route;
    return std::unique_ptr<Netlink>(std::move(netlink));
}

Result<std::unique_ptr<NetlinkEvents>> openNetlinkEvents(NetlinkProtocol protocol, std::span<const int> groups,
                                                         int receiveBufferBytes) {
    FASTLET_TRY(socket, NetlinkSocket::open(protocol, SOCK_NONBLOCK));
    socket.setReceiveBuffer(receiveBufferBytes);
    for (const int group : groups) FASTLET_CHECK(socket.joinGroup(group));
    return std::unique_ptr<NetlinkEvents>(std::make_unique<RealNetlinkEvents>(std::move(socket)));
}

}  // namespace fastlet
