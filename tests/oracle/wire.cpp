// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/wire.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace fastlet::oracle {

namespace {

constexpr int kMarkerTimeoutMs = 3000;
constexpr int kReceiveBuffer = 8 << 20;
constexpr useconds_t kWorkerMicroseconds = 20'000;

sockaddr_ll linkAddress(std::uint16_t protocol, std::uint32_t index) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(index);
    address.sll_halen = 6;
    return address;
}

Result<Fd> packetSocket(std::uint16_t protocol, std::uint32_t index) {
    Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return Error::fromErrno("cannot open a packet socket", errno);
    const int one = 1;
    const auto set = [&](int level, int option, int value) {
        return ::setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
    };
    if (!set(SOL_PACKET, PACKET_VNET_HDR, one) || !set(SOL_PACKET, PACKET_AUXDATA, one) ||
        !set(SOL_PACKET, PACKET_IGNORE_OUTGOING, one) || !set(SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer)) {
        return Error::fromErrno("cannot set up a packet socket", errno);
    }
    const auto address = linkAddress(protocol, index);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return Error::fromErrno("cannot bind a packet socket", errno);
    }
    return socket;
}

Status sendFrame(const Fd& socket, std::uint32_t index, const Offload& offload, const Frame& frame) {
    auto address = linkAddress(frame.size() >= kEthernet ? get16(frame, 12) : 0, index);
    std::array<iovec, 2> parts = {
        {{const_cast<Offload*>(&offload), sizeof offload}, {const_cast<std::uint8_t*>(frame.data()), frame.size()}}};
    msghdr message{};
    message.msg_name = &address;
    message.msg_namelen = sizeof address;
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (::sendmsg(socket.get(), &message, 0) < 0) {
        return Error::fromErrno(fmt::format("cannot send {} bytes: {}", frame.size(), describe(frame)), errno);
    }
    return {};
}

struct Raw {
    Frame frame;
    Offload offload;
};

void restoreVlan(msghdr& message, Frame& frame) {
    for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
        if (control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA) continue;
        tpacket_auxdata data{};
        std::memcpy(&data, CMSG_DATA(control), sizeof data);
        if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0 || frame.size() < kEthernet) continue;
        Frame tag;
        put16(tag, (data.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? data.tp_vlan_tpid : 0x8100);
        put16(tag, data.tp_vlan_tci);
        frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    }
}

void finishChecksum(Raw& raw) {
    if ((raw.offload.flags & kNeedsChecksum) == 0) return;
    const std::size_t start = raw.offload.checksumStart;
    const std::size_t field = start + raw.offload.checksumOffset;
    if (field + 2 > raw.frame.size()) return;
    auto sum = static_cast<std::uint16_t>(~checksum(std::span(raw.frame).subspan(start)));
    set16(raw.frame, field, sum == 0 ? 0xFFFF : sum);
}

std::optional<Raw> receive(const Fd& socket) {
    static std::array<std::uint8_t, 70000> buffer;
    std::array<char, 256> control{};
    Raw raw;
    std::array<iovec, 2> parts = {{{&raw.offload, sizeof raw.offload}, {buffer.data(), buffer.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(socket.get(), &message, 0);
    if (size < static_cast<ssize_t>(sizeof raw.offload)) return std::nullopt;
    raw.frame.assign(buffer.begin(), buffer.begin() + size - static_cast<ssize_t>(sizeof raw.offload));
    finishChecksum(raw);
    restoreVlan(message, raw.frame);
    return raw;
}

bool isMarker(const Frame& frame) { return frame.size() >= 20 && get16(frame, 12) == kEtherMarker; }

constexpr std::uint32_t kOutward = 0x8000;  // else inward; the low bits are the port's number

Frame marker(const MacAddress& to, std::uint32_t serial, std::uint32_t kind) {
    Frame frame;
    putEthernet(frame, to, {{0x02, 0x77, 0, 0, 0, 1}}, kEtherMarker);
    put32(frame, serial);
    put16(frame, kind);
    frame.resize(60);
    return frame;
}

bool isMarkerOf(const Frame& frame, std::uint32_t serial, std::uint32_t kind) {
    return (static_cast<std::uint32_t>(get16(frame, 14)) << 16 | get16(frame, 16)) == serial && get16(frame, 18) == kind;
}

}  // namespace

Result<std::unique_ptr<Wire>> Wire::open(const Sandbox& sandbox, const Configuration& configuration) {
    auto wire = std::unique_ptr<Wire>(new Wire(sandbox, configuration));
    FASTLET_CHECK(wire->openSockets());
    return wire;
}

Status Wire::openSockets() {
    sandbox_.enterHosts();
    arrived_.assign(configuration_.ports.size(), 0);
    for (const auto& port : configuration_.ports) {
        FASTLET_TRY(socket, packetSocket(ETH_P_ALL, kHostIndex + port.number));
        hosts_.push_back(std::move(socket));
    }
    sandbox_.enterRouter();
    FASTLET_TRY(router, packetSocket(kEtherMarker, 0));
    router_ = std::move(router);
    refreshPorts();
    return {};
}

void Wire::refreshPorts() {
    usable_.clear();
    for (const auto& port : configuration_.ports) usable_.push_back(sandbox_.running(port));
}

Result<std::vector<Received>> Wire::exchange(const std::vector<Packet>& packets) {
    std::vector<Received> received;
    for (const auto& packet : packets) {
        if (!usable_[packet.port]) continue;
        // A refused packet (a GSO description that makes no sense) is refused in every run.
        if (!sendFrame(hosts_[packet.port], kHostIndex + packet.port, packet.offload, packet.frame)) ++refused_;
    }
    const auto forGroup = [](const Packet& packet) { return (packet.frame[0] & 1) != 0; };
    if (configuration_.queued && std::any_of(packets.begin(), packets.end(), forGroup)) ::usleep(kWorkerMicroseconds);
    // Twice: what the router sends to itself by way of another device of its own takes a second turn.
    FASTLET_CHECK(flush(received));
    FASTLET_CHECK(flush(received));
    std::stable_sort(received.begin(), received.end(),
                     [](const Received& left, const Received& right) { return left.port < right.port; });
    return received;
}

Status Wire::flush(std::vector<Received>& into) {
    ++serial_;
    const auto eachPort = [this](auto&& act) -> Status {
        for (const auto& port : configuration_.ports) {
            if (usable_[port.number]) FASTLET_CHECK(act(port));
        }
        return {};
    };
    FASTLET_CHECK(eachPort([this](const Port& port) { return markerIn(port); }));
    FASTLET_CHECK(eachPort([this](const Port& port) { return await(router_, port.number, port.number, nullptr); }));
    FASTLET_CHECK(eachPort([this](const Port& port) {
        return sendFrame(router_, port.index, {}, marker(port.hostMac, serial_, kOutward | port.number));
    }));
    return eachPort([&](const Port& port) { return await(hosts_[port.number], port.number, kOutward | port.number, &into); });
}

Status Wire::markerIn(const Port& port) {
    // Through a bridge port only what is for everybody surely comes up to the router.
    constexpr MacAddress kBroadcast{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}};
    const auto frame = marker(port.bridged ? kBroadcast : port.mac, serial_, port.number);
    return sendFrame(hosts_[port.number], kHostIndex + port.number, {}, frame);
}

Status Wire::await(const Fd& socket, std::uint32_t port, std::uint32_t kind, std::vector<Received>* into) {
    if (into == nullptr && arrived_[port] == serial_) return {};
    for (;;) {
        auto raw = receive(socket);
        if (!raw) {
            pollfd waiting{socket.get(), POLLIN, 0};
            if (::poll(&waiting, 1, kMarkerTimeoutMs) > 0) continue;
            return Error::make(fmt::format("no marker came {} r{}", into == nullptr ? "into the router, at" : "out of", port));
        }
        if (!isMarker(raw->frame)) {
            if (into != nullptr) into->push_back({port, std::move(raw->frame), raw->offload.gsoSize});
            continue;
        }
        if (isMarkerOf(raw->frame, serial_, kind)) return {};
        // The router's socket hears all ports; the hosts' hear bridged copies, which are of no interest.
        for (std::uint32_t other = 0; into == nullptr && other < arrived_.size(); ++other) {
            if (isMarkerOf(raw->frame, serial_, other)) arrived_[other] = serial_;
        }
    }
}

}  // namespace fastlet::oracle
