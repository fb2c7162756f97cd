// SPDX-License-Identifier: Apache-2.0
#include "core/ports/netlink.hpp"

#include <cerrno>
#include <map>

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
    const auto error = readStruct<nlmsgerr>(netlinkPayload(message));  // libnl has checked that it is whole
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

/// Listens to the answers to one question.
class AnswerListener : public NetlinkListener {
public:
    AnswerListener(std::uint32_t port, std::uint32_t sequence, std::uint16_t type)
        : type_(type), port_(port), sequence_(sequence) {}
    bool expects(const nlmsghdr& message) override {
        return !ended_ && message.nlmsg_seq == sequence_ && message.nlmsg_pid == port_;
    }
    [[nodiscard]] bool ended() const { return ended_; }

protected:
    std::uint16_t type_;  ///< of the question
    bool ended_ = false;

private:
    std::uint32_t port_;
    std::uint32_t sequence_;
};

class DumpListener final : public AnswerListener {
public:
    DumpListener(std::uint32_t port, std::uint32_t sequence, std::uint16_t type, const NetlinkVisitor& visit)
        : AnswerListener(port, sequence, type), visit_(visit) {}
    void onMessage(const nlmsghdr& message) override { visit_(message); }
    void onVerdict(const nlmsghdr& message) override { end(readError(message, type_)); }
    void onDone(const nlmsghdr& message) override { end(readDone(message, type_)); }
    void onInterrupted() override { interrupted_ = true; }

    Status result() {
        if (!status_) return std::move(status_).error();
        if (interrupted_) return Error::fromErrno("netlink dump " + std::to_string(type_), EINTR);
        return {};
    }

private:
    void end(Status status) {
        ended_ = true;
        status_ = std::move(status);
    }

    const NetlinkVisitor& visit_;
    bool interrupted_ = false;
    Status status_;
};

/// The first message is the answer, whatever it is.
class QueryListener final : public AnswerListener {
public:
    using AnswerListener::AnswerListener;
    void onMessage(const nlmsghdr& message) override { take(message); }
    void onDone(const nlmsghdr& message) override { take(message); }
    void onVerdict(const nlmsghdr& message) override {
        if (auto verdict = readError(message, type_); !verdict) {
            ended_ = true;
            answer_ = std::move(verdict).error();
        } else {
            take(message);
        }
    }

    Result<Bytes> result() { return std::move(answer_); }

private:
    void take(const nlmsghdr& message) {
        ended_ = true;
        const auto* begin = reinterpret_cast<const std::uint8_t*>(&message);
        answer_ = Bytes(begin, begin + message.nlmsg_len);
    }

    Result<Bytes> answer_ = Bytes{};
};

class RealNetlink final : public Netlink {
public:
    Status dump(const NetlinkRequest& request, const NetlinkVisitor& visit) override {
        FASTLET_TRY(socket, socketOf(request.protocol));
        FASTLET_TRY(sequence, socket->send(request, NLM_F_DUMP));
        DumpListener listener(socket->port(), sequence, request.type, visit);
        FASTLET_CHECK(listen(request.protocol, *socket, listener));
        return listener.result();
    }

    Result<Bytes> query(const NetlinkRequest& request) override {
        FASTLET_TRY(socket, socketOf(request.protocol));
        FASTLET_TRY(sequence, socket->send(request, 0));
        QueryListener listener(socket->port(), sequence, request.type);
        FASTLET_CHECK(listen(request.protocol, *socket, listener));
        return listener.result();
    }

    Result<NetlinkSocket*> socketOf(NetlinkProtocol protocol) {
        if (auto found = sockets_.find(protocol); found != sockets_.end()) return &found->second;
        FASTLET_TRY(socket, NetlinkSocket::open(protocol));
        // Each is a convenience of newer kernels: error texts, short error messages, strict checking of dump filters.
        socket.setOption(NETLINK_EXT_ACK, 1);
        socket.setOption(NETLINK_CAP_ACK, 1);
        if (protocol == NetlinkProtocol::route) socket.setOption(NETLINK_GET_STRICT_CHK, 1);
        socket.setReceiveTimeout(kAnswerSeconds);
        return &sockets_.emplace(protocol, std::move(socket)).first->second;
    }

private:
    /// Until the end, whatever happens: the kernel refuses a new dump while one is running on the same socket. A socket that
    /// could not be read to the end may hold half an answer: it is not used again.
    Status listen(NetlinkProtocol protocol, NetlinkSocket& socket, AnswerListener& listener) {
        try {
            while (!listener.ended()) {
                auto heard = socket.receive(listener);
                if (heard) continue;
                sockets_.erase(protocol);
                auto error = std::move(heard).error();
                if (error.code == EAGAIN) return Error::fromErrno("netlink answer", ETIMEDOUT);
                return error;
            }
        } catch (...) {
            sockets_.erase(protocol);
            throw;
        }
        return {};
    }

    std::map<NetlinkProtocol, NetlinkSocket> sockets_;
};

class RealNetlinkEvents final : public NetlinkEvents {
public:
    explicit RealNetlinkEvents(NetlinkSocket socket) : socket_(std::move(socket)) {}
    [[nodiscard]] int fd() const override { return socket_.fd(); }

    Result<Drained> drain(const NetlinkVisitor& visit) override {
        EventListener listener(visit);
        for (int i = 0; i < kDatagramsPerDrain; ++i) {
            auto heard = socket_.receive(listener);
            if (heard) continue;
            const int code = heard.error().code;
            if (code == EAGAIN) break;
            if (code != ENOBUFS) return std::move(heard).error();
            listener.drained.overflow = true;
        }
        return listener.drained;
    }

private:
    struct EventListener final : NetlinkListener {
        explicit EventListener(const NetlinkVisitor& visitor) : visit(visitor) {}
        bool expects(const nlmsghdr&) override { return true; }
        void onMessage(const nlmsghdr& message) override {
            ++drained.messages;
            visit(message);
        }
        const NetlinkVisitor& visit;
        Drained drained;
    };

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
    FASTLET_TRY(socket, NetlinkSocket::open(protocol));
    FASTLET_CHECK(socket.setNonBlocking());
    socket.setReceiveBuffer(receiveBufferBytes);
    for (const int group : groups) FASTLET_CHECK(socket.joinGroup(group));
    return std::unique_ptr<NetlinkEvents>(std::make_unique<RealNetlinkEvents>(std::move(socket)));
}

}  // namespace fastlet
