// SPDX-License-Identifier: Apache-2.0
#include "agent/control/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "core/log.hpp"

namespace fastlet::agent {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr const char* kInvalidMessage = "io.fastlet.InvalidMessage";

bool wouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

bool rootOrSelf(const ucred& peer) { return peer.uid == 0 || peer.uid == ::geteuid(); }

ControlServer::ControlServer(EventLoop& loop, ListeningSocket socket, linuxfp::Engine& engine, ControlOptions options)
    : loop_(loop),
      socket_(std::move(socket)),
      methods_(engine, options.version),
      options_(std::move(options)),
      self_(std::make_shared<ControlServer*>(this)) {}

ControlServer::~ControlServer() {
    for (const auto& [fd, client] : clients_) loop_.unwatch(fd);
    if (listening_) loop_.unwatch(socket_.fd());
}

Result<std::unique_ptr<ControlServer>> ControlServer::open(EventLoop& loop, const std::string& path, linuxfp::Engine& engine,
                                                           ControlOptions options) {
    FASTLET_TRY(socket, ListeningSocket::open(path));
    return open(loop, std::move(socket), engine, std::move(options));
}

Result<std::unique_ptr<ControlServer>> ControlServer::open(EventLoop& loop, ListeningSocket socket, linuxfp::Engine& engine,
                                                           ControlOptions options) {
    std::unique_ptr<ControlServer> server(new ControlServer(loop, std::move(socket), engine, std::move(options)));
    FASTLET_CHECK(server->start());
    return server;
}

Status ControlServer::start() {
    FASTLET_CHECK(listen());
    return loop_.every(options_.sweepPeriod, [weak = std::weak_ptr<ControlServer*>(self_)] {
        if (const auto self = weak.lock()) (*self)->sweep();
    });
}

Status ControlServer::listen() {
    FASTLET_CHECK(loop_.watchReadable(socket_.fd(), [this] { accept(); }));
    listening_ = true;
    return {};
}

void ControlServer::accept() {
    Fd fd(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
        if (wouldBlock(errno) || errno == ECONNABORTED) return;
        // Out of descriptors or memory: the client keeps waiting and would wake us without end. The next sweep tries again.
        log::warning("control socket: cannot accept a client: {}", Error::fromErrno("accept", errno).message);
        loop_.unwatch(socket_.fd());
        listening_ = false;
        return;
    }
    if (clients_.size() >= options_.maxClients)
        turnAway(fd);
    else
        admit(std::move(fd));
}

void ControlServer::turnAway(const Fd& fd) const {
    std::string text = refusalText({"io.fastlet.Busy", Error::make("the daemon serves too many clients", "try again later")});
    text += '\0';
    // A fresh socket takes this much; if not, the client sees the end of the connection only.
    [[maybe_unused]] const ssize_t sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ControlServer::admit(Fd fd) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    const bool known = ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    const int number = fd.get();
    auto client = std::make_unique<Client>();
    client->mayChange = known && options_.mayChange(peer);
    client->fd = std::move(fd);
    client->lastProgress = Clock::now();
    if (auto watched = loop_.watchReadable(number, [this, number] { onReadable(number); }); !watched) {
        log::report(log::Level::warning, watched.error());
        return;
    }
    clients_.emplace(number, std::move(client));
}

void ControlServer::onReadable(int fd) {
    Client& client = *clients_.at(fd);
    std::array<char, kReadBytes> block;
    const ssize_t got = ::recv(fd, block.data(), block.size(), MSG_DONTWAIT);
    if (got < 0 && wouldBlock(errno)) return;
    if (got <= 0) return drop(fd);
    client.lastProgress = Clock::now();
    client.input.append({block.data(), static_cast<std::size_t>(got)});
    answerAll(client);
}

void ControlServer::onWritable(int fd) { answerAll(*clients_.at(fd)); }

// Answers what is in the buffer, as long as the client takes the answers.
void ControlServer::answerAll(Client& client) {
    const int fd = client.fd.get();
    while (true) {
        if (!flush(client)) return;
        if (!client.output.empty()) {
            if (auto waiting = loop_.onceWritable(fd, [this, fd] { onWritable(fd); }); !waiting) drop(fd);
            return;
        }
        if (client.closing) return drop(fd);
        const auto message = client.input.next();
        const std::size_t size = message ? message->size() : client.input.pending();
        if (size > options_.maxRequestBytes)
            refuseAndClose(client, {kInvalidMessage, Error::make("the message is too long",
                                                                 fmt::format("at most {} bytes", options_.maxRequestBytes))});
        else if (message)
            answer(client, *message);
        else
            return;
    }
}

void ControlServer::answer(Client& client, const std::string& message) {
    const auto request = parseRequest(message);
    std::string text;
    if (!request) {
        text = refusalText({kInvalidMessage, request.error()});
    } else {
        const auto answer = methods_.call(*request, client.mayChange);
        if (request->oneway) return;
        const auto* parameters = std::get_if<Json>(&answer);
        text = parameters ? replyText(*parameters) : refusalText(std::get<Refusal>(answer));
    }
    client.output += text;
    client.output += '\0';
}

void ControlServer::refuseAndClose(Client& client, Refusal refusal) {
    client.output += refusalText(refusal);
    client.output += '\0';
    client.closing = true;
}

bool ControlServer::flush(Client& client) {
    while (client.sent < client.output.size()) {
        const ssize_t sent = ::send(client.fd.get(), client.output.data() + client.sent, client.output.size() - client.sent,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && wouldBlock(errno)) return true;
        if (sent < 0) {
            drop(client.fd.get());
            return false;
        }
        client.sent += static_cast<std::size_t>(sent);
        client.lastProgress = Clock::now();
    }
    client.output.clear();
    client.sent = 0;
    return true;
}

void ControlServer::drop(int fd) {
    loop_.unwatch(fd);
    clients_.erase(fd);
}

void ControlServer::sweep() {
    std::vector<int> late;
    const auto now = Clock::now();
    for (const auto& [fd, client] : clients_) {
        const bool unfinished = !client->output.empty() || client->input.pending() > 0;
        if (unfinished && now - client->lastProgress > options_.patience) late.push_back(fd);
    }
    for (const int fd : late) drop(fd);
    if (listening_) return;
    if (auto again = listen(); !again) log::report(log::Level::warning, again.error());
}

}  // namespace fastlet::agent
