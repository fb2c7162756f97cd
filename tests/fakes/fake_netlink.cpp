// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_netlink.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fastlet::testing {

Bytes netlinkMessage(std::uint16_t type, const Bytes& payload) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + payload.size());
    header.nlmsg_type = type;
    Bytes message(NLMSG_HDRLEN + payload.size());
    std::memcpy(message.data(), &header, sizeof(header));
    std::copy(payload.begin(), payload.end(), message.begin() + NLMSG_HDRLEN);
    return message;
}

void FakeNetlink::set(NetlinkProtocol protocol, std::uint16_t requestType, std::vector<Bytes> messages) {
    messages_[{protocol, requestType}] = std::move(messages);
}

void FakeNetlink::add(NetlinkProtocol protocol, std::uint16_t requestType, Bytes message) {
    messages_[{protocol, requestType}].push_back(std::move(message));
}

void FakeNetlink::handle(NetlinkProtocol protocol, std::uint16_t requestType, Handler handler) {
    handlers_[{protocol, requestType}] = std::move(handler);
}

void FakeNetlink::fail(NetlinkProtocol protocol, std::uint16_t requestType, int code, int times) {
    failures_[{protocol, requestType}] = {code, times};
}

void FakeNetlink::interrupt(NetlinkProtocol protocol, std::uint16_t requestType, int times) {
    interruptions_[{protocol, requestType}] = times;
}

int FakeNetlink::requests(NetlinkProtocol protocol, std::uint16_t requestType) const {
    return static_cast<int>(std::count_if(log_.begin(), log_.end(), [&](const NetlinkRequest& request) {
        return request.protocol == protocol && request.type == requestType;
    }));
}

Result<std::vector<Bytes>> FakeNetlink::answer(const NetlinkRequest& request) {
    log_.push_back(request);
    const Key key{request.protocol, request.type};
    if (auto& failure = failures_[key]; failure.times > 0) {
        --failure.times;
        return Error::fromErrno("netlink request " + std::to_string(request.type), failure.code);
    }
    if (const auto handler = handlers_.find(key); handler != handlers_.end()) return handler->second(request);
    return messages_[key];
}

Status FakeNetlink::dump(const NetlinkRequest& request, const NetlinkVisitor& visit) {
    FASTLET_TRY(messages, answer(request));
    for (const auto& message : messages) visit(asHeader(message));
    if (auto& left = interruptions_[{request.protocol, request.type}]; left > 0) {
        --left;
        return Error::fromErrno("netlink dump " + std::to_string(request.type), EINTR);
    }
    return {};
}

Result<Bytes> FakeNetlink::query(const NetlinkRequest& request) {
    FASTLET_TRY(messages, answer(request));
    if (messages.empty()) return Error::fromErrno("netlink request " + std::to_string(request.type), ENOENT);
    return messages.front();
}

FakeNetlinkEvents::FakeNetlinkEvents() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

FakeNetlinkEvents::~FakeNetlinkEvents() { ::close(fd_); }

void FakeNetlinkEvents::signal() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof(one));
}

void FakeNetlinkEvents::push(Bytes message) {
    queue_.push_back(std::move(message));
    signal();
}

void FakeNetlinkEvents::overflow() {
    overflow_ = true;
    signal();
}

Result<NetlinkEvents::Drained> FakeNetlinkEvents::drain(const NetlinkVisitor& visit) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof(count));
    const auto queue = std::exchange(queue_, {});
    for (const auto& message : queue) visit(asHeader(message));
    return Drained{queue.size(), std::exchange(overflow_, false)};
}

}  // namespace fastlet::testing
