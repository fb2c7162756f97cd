// SPDX-License-Identifier: Apache-2.0
// The host ends of the cables: sends packets into the router and collects all that leaves it, until it is quiet.
#pragma once

#include <memory>
#include <vector>

#include "core/fd.hpp"
#include "core/result.hpp"
#include "tests/oracle/packets.hpp"
#include "tests/oracle/sandbox.hpp"

namespace fastlet::oracle {

struct Received {
    std::uint32_t port = 0;  ///< the host end where it came out
    Frame frame;             ///< VLAN tag put back, unfinished checksum finished
    std::uint16_t gsoSize = 0;
};

/// Quiet is told by markers, not by the clock: a frame of an ethertype of its own follows the packets into the router, and when
/// it has arrived there, another one follows what they caused out of every port. All of it runs on the CPU of the calling thread,
/// where the kernel's queues keep the order.
class Wire {
public:
    [[nodiscard]] static Result<std::unique_ptr<Wire>> open(const Sandbox& sandbox, const Configuration& configuration);

    /// In the order of arrival at each port, port by port.
    [[nodiscard]] Result<std::vector<Received>> exchange(const std::vector<Packet>& packets);
    /// After a change of the configuration: which ports still carry a marker.
    void refreshPorts();
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    Wire(const Sandbox& sandbox, const Configuration& configuration) : sandbox_(sandbox), configuration_(configuration) {}
    Status openSockets();
    Status flush(std::vector<Received>& into);
    Status markerIn(const Port& port);
    /// `into`: where frames that are no markers go; none: this is the router's socket.
    Status await(const Fd& socket, std::uint32_t port, std::uint32_t kind, std::vector<Received>* into);

    const Sandbox& sandbox_;
    const Configuration& configuration_;
    std::vector<Fd> hosts_;
    std::vector<bool> usable_;
    Fd router_;  // bound to the markers' ethertype only: not a capture of anything else
    std::uint32_t serial_ = 0;
    std::vector<std::uint32_t> arrived_;  // per port, the serial of its last marker seen while waiting for another port's
    std::uint64_t refused_ = 0;
};

}  // namespace fastlet::oracle
