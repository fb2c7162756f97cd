// SPDX-License-Identifier: Apache-2.0
// What a Watch looks at, in the hands of a test.
#pragma once

#include <cstring>
#include <deque>
#include <optional>
#include <string>

#include "core/ports/netlink.hpp"
#include "linuxfp/coherence/watch.hpp"

namespace fastlet::linuxfp::fake {

/// Notifications that a test has queued.
struct EventQueue {
    std::deque<Bytes> messages;
    bool overflow = false;
    bool broken = false;  ///< drain() fails

    void push(std::uint16_t type, const Bytes& payload) {
        nlmsghdr header{};
        header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + payload.size());
        header.nlmsg_type = type;
        Bytes message(NLMSG_HDRLEN);
        std::memcpy(message.data(), &header, sizeof(header));
        message.insert(message.end(), payload.begin(), payload.end());
        messages.push_back(message);
    }
};

class QueuedEvents final : public NetlinkEvents {
public:
    explicit QueuedEvents(EventQueue& queue) : queue_(queue) {}
    [[nodiscard]] int fd() const override { return -1; }
    Result<Drained> drain(const NetlinkVisitor& visit) override {
        if (queue_.broken) return Error::make("broken");
        Drained drained{queue_.messages.size(), std::exchange(queue_.overflow, false)};
        for (; !queue_.messages.empty(); queue_.messages.pop_front())
            visit(*reinterpret_cast<const nlmsghdr*>(queue_.messages.front().data()));
        return drained;
    }

private:
    EventQueue& queue_;
};

/// A reading that a test can change; empty: it cannot be read.
class SettableVitals final : public VitalsReader {
public:
    explicit SettableVitals(std::optional<fl_vitals>& reading) : reading_(reading) {}
    Result<fl_vitals> read() override {
        if (!reading_) return Error::make("cannot be read");
        ++reading_->jiffies;
        return *reading_;
    }

private:
    std::optional<fl_vitals>& reading_;
};

/// All of it together.
struct WatchWorld {
    EventQueue configuration;
    EventQueue routes;
    EventQueue nftables;
    std::optional<fl_vitals> vitals = fl_vitals{};
    std::string packetTable = "sk RefCnt Type Proto Iface R Rmem User Inode\n";

    Watch::Ports ports() {
        EventSources sources;
        sources.configuration = std::make_unique<QueuedEvents>(configuration);
        sources.routes = std::make_unique<QueuedEvents>(routes);
        sources.nftables = std::make_unique<QueuedEvents>(nftables);
        return {std::move(sources), std::make_unique<SettableVitals>(vitals), [this] { return Result<std::string>(packetTable); },
                nullptr};
    }
};

}  // namespace fastlet::linuxfp::fake
