// SPDX-License-Identifier: Apache-2.0
// The control socket on the daemon's event loop. Never blocks; a client that is slow, silent or wrong harms only itself.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/control/methods.hpp"
#include "agent/control/socket_path.hpp"
#include "core/event_loop.hpp"
#include "core/fd.hpp"

namespace fastlet::agent {

/// May the process at the other end change what the daemon does?
using PeerCheck = std::function<bool(const ucred&)>;
/// Root and the daemon's own user.
[[nodiscard]] bool rootOrSelf(const ucred& peer);

struct ControlOptions {
    std::string version = "unknown";
    std::size_t maxClients = 64;
    std::size_t maxRequestBytes = kMaxRequestBytes;
    /// How long a request may stay half sent, or an answer half read, without a byte of progress.
    std::chrono::milliseconds patience = std::chrono::seconds(10);
    std::chrono::milliseconds sweepPeriod = std::chrono::seconds(1);
    PeerCheck mayChange = rootOrSelf;
};

class ControlServer {
public:
    /// `loop` and `engine` must outlive the server.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> open(EventLoop& loop, const std::string& path,
                                                                     linuxfp::Engine& engine, ControlOptions options = {});
    /// On a socket that was opened before the engine; who connects meanwhile waits.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> open(EventLoop& loop, ListeningSocket socket,
                                                                     linuxfp::Engine& engine, ControlOptions options = {});
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;
    ~ControlServer();

    [[nodiscard]] std::size_t clients() const { return clients_.size(); }

private:
    using Clock = std::chrono::steady_clock;
    struct Client {
        Fd fd;
        bool mayChange = false;
        MessageBuffer input;
        std::string output;  // what the socket has not taken yet; nothing is read meanwhile
        std::size_t sent = 0;
        bool closing = false;  // after the output
        Clock::time_point lastProgress;
    };

    ControlServer(EventLoop& loop, ListeningSocket socket, linuxfp::Engine& engine, ControlOptions options);
    Status start();
    Status listen();
    void accept();
    void admit(Fd fd);
    void turnAway(const Fd& fd) const;
    void onReadable(int fd);
    void onWritable(int fd);
    void answerAll(Client& client);
    void answer(Client& client, const std::string& message);
    void refuseAndClose(Client& client, Refusal refusal);
    /// False: the client is gone, and dropped.
    bool flush(Client& client);
    void drop(int fd);
    void sweep();

    EventLoop& loop_;
    ListeningSocket socket_;
    Methods methods_;
    ControlOptions options_;
    std::map<int, std::unique_ptr<Client>> clients_;
    bool listening_ = false;
    std::shared_ptr<ControlServer*> self_;  // timers of the loop cannot be taken back; they look here
};

}  // namespace fastlet::agent
