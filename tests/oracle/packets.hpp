// SPDX-License-Identifier: Apache-2.0
// Packets for a configuration: most of them such that the router forwards them, many of those with one thing odd, and garbage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/oracle/configuration.hpp"
#include "tests/oracle/frame.hpp"

namespace fastlet::oracle {

/// struct virtio_net_hdr of linux/virtio_net.h, which C++ cannot include: what is left to do for whoever sends the packet on.
struct Offload {
    std::uint8_t flags = 0;  ///< kNeedsChecksum
    std::uint8_t gsoType = 0;
    std::uint16_t headerLength = 0;
    std::uint16_t gsoSize = 0;
    std::uint16_t checksumStart = 0;
    std::uint16_t checksumOffset = 0;
};
static_assert(sizeof(Offload) == 10);
constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::uint8_t kGsoTcp4 = 1, kGsoTcp6 = 4;

struct Packet {
    std::uint32_t port = 0;  ///< the host end that sends it
    Frame frame;
    Offload offload;  ///< unfinished checksum, GSO; all zero: none
};

/// What is sent before anything is collected: nearly always one packet.
struct Step {
    std::vector<Packet> packets;
    std::size_t change = SIZE_MAX;  ///< index into Configuration::changes, made before the packets
};

struct PacketOptions {
    std::uint32_t count = 500;
    bool gso = true;  ///< also segmentation left to do (not where XDP on veth switches it off)
};

[[nodiscard]] std::vector<Step> makeSteps(std::uint64_t seed, const Configuration& configuration, const PacketOptions& options);

/// Who talks to whom; drawn per packet.
struct Flow {
    const Port* port = nullptr;
    MacAddress to, from;
    IpAddress source, destination;
};

/// The parts of the generator. `out` holds the Ethernet header already.
void putIpv4(Random& random, const Configuration& configuration, const Flow& flow, Packet& out);
void putIpv6(Random& random, const Configuration& configuration, const Flow& flow, Packet& out);
void putOther(Random& random, const Configuration& configuration, const Flow& flow, Packet& out);
[[nodiscard]] IpAddress oddAddress4(Random& random, const Configuration& configuration);
[[nodiscard]] IpAddress oddAddress6(Random& random, const Configuration& configuration);
/// Transport header and payload with a right checksum (mostly); also says where an unfinished checksum would be.
struct Transport {
    std::uint8_t protocol = 0;
    Frame bytes;
    std::uint16_t checksumAt = 0;  ///< offset in bytes; 0: this protocol has none at a fixed place
};
[[nodiscard]] Transport makeTransport(Random& random, const Configuration& configuration, const Flow& flow, std::size_t payload);

}  // namespace fastlet::oracle
