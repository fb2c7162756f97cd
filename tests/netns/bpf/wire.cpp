// SPDX-License-Identifier: Apache-2.0
#include "tests/netns/bpf/wire.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace fastlet::fastpath {
namespace {

constexpr std::size_t kMarker = 8;

Fd packetSocket(const char* name) {
    Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL)));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(::if_nametoindex(name));
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::system_error(errno, std::generic_category(), name);
    return fd;
}

bool sameMarker(const Bytes& one, const Bytes& other) {
    return one.size() >= kEthernet + kMarker && other.size() >= kMarker &&
           std::equal(one.end() - kMarker, one.end(), other.end() - kMarker);
}

}  // namespace

Wire::Wire() : in_(packetSocket("in1")) {
    for (const char* name : {"out1", "out3"}) out_.push_back(packetSocket(name));
}

Bytes Wire::through(const Bytes& frame) {
    if (::send(in_.get(), frame.data(), frame.size(), 0) < 0) throw std::system_error(errno, std::generic_category(), "send");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    std::array<pollfd, 2> polled{pollfd{out_[0].get(), POLLIN, 0}, pollfd{out_[1].get(), POLLIN, 0}};
    while (std::chrono::steady_clock::now() < deadline) {
        ::poll(polled.data(), polled.size(), 100);
        for (const auto& fd : out_) {
            Bytes received(4096);
            const auto size = ::recv(fd.get(), received.data(), received.size(), 0);
            if (size <= 0) continue;
            received.resize(static_cast<std::size_t>(size));
            if (sameMarker(received, frame)) return received;
        }
    }
    return {};
}

}  // namespace fastlet::fastpath
