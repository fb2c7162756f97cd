// SPDX-License-Identifier: Apache-2.0
// A kernel's netlink tables in memory: messages by protocol and request type. Dumps answer with all of them in order, queries
// with the first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ports/netlink.hpp"
#include "core/ports/netlink_message.hpp"

namespace fastlet::testing {

/// A whole message: header, then payload.
Bytes netlinkMessage(std::uint16_t type, const Bytes& payload);
inline Bytes netlinkMessage(std::uint16_t type, const NetlinkWriter& payload) { return netlinkMessage(type, payload.bytes()); }
inline const nlmsghdr& asHeader(const Bytes& message) { return *reinterpret_cast<const nlmsghdr*>(message.data()); }

class FakeNetlink final : public Netlink {
public:
    using Handler = std::function<Result<std::vector<Bytes>>(const NetlinkRequest&)>;

    /// What a request of that type answers from now on.
    void set(NetlinkProtocol protocol, std::uint16_t requestType, std::vector<Bytes> messages);
    void add(NetlinkProtocol protocol, std::uint16_t requestType, Bytes message);
    /// Instead of fixed messages: a function of the request.
    void handle(NetlinkProtocol protocol, std::uint16_t requestType, Handler handler);
    /// The next `times` requests of that type fail.
    void fail(NetlinkProtocol protocol, std::uint16_t requestType, int code, int times = 1);
    /// The next `times` dumps of that type deliver everything and are then marked as interrupted.
    void interrupt(NetlinkProtocol protocol, std::uint16_t requestType, int times = 1);

    [[nodiscard]] int requests(NetlinkProtocol protocol, std::uint16_t requestType) const;
    [[nodiscard]] const std::vector<NetlinkRequest>& log() const { return log_; }

    Status dump(const NetlinkRequest& request, const NetlinkVisitor& visit) override;
    Result<Bytes> query(const NetlinkRequest& request) override;

private:
    using Key = std::pair<NetlinkProtocol, std::uint16_t>;
    struct Failure {
        int code = 0;
        int times = 0;
    };
    Result<std::vector<Bytes>> answer(const NetlinkRequest& request);

    std::map<Key, std::vector<Bytes>> messages_;
    std::map<Key, Handler> handlers_;
    std::map<Key, Failure> failures_;
    std::map<Key, int> interruptions_;
    std::vector<NetlinkRequest> log_;
};

/// Notifications that the test puts in. The descriptor is readable while there are any.
class FakeNetlinkEvents final : public NetlinkEvents {
public:
    FakeNetlinkEvents();
    ~FakeNetlinkEvents() override;
    FakeNetlinkEvents(const FakeNetlinkEvents&) = delete;
    FakeNetlinkEvents& operator=(const FakeNetlinkEvents&) = delete;

    void push(Bytes message);
    /// The next drain reports that messages were lost.
    void overflow();

    [[nodiscard]] int fd() const override { return fd_; }
    Result<Drained> drain(const NetlinkVisitor& visit) override;

private:
    void signal();
    int fd_ = -1;
    std::vector<Bytes> queue_;
    bool overflow_ = false;
};

}  // namespace fastlet::testing
