// SPDX-License-Identifier: Apache-2.0
// What the agent sees of linuxfp: reports as plain values, and a few verbs. All calls come from the main loop's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/types/ip_address.hpp"
#include "linuxfp/plan/plan.hpp"

namespace fastlet::linuxfp {

struct InterfaceReport {
    InterfacePlan plan;
    bool held = false;      ///< all its packets go to Linux at this moment
    bool attached = false;  ///< false under --observe, or when the kernel refused
};

struct Counters {
    std::uint64_t fastPackets = 0;
    std::uint64_t slowPackets = 0;
    std::uint64_t heldPackets = 0;
};

/// Per interface, for `fp stats`.
struct InterfaceCounters {
    std::uint32_t ifindex = 0;
    std::string name;
    std::uint64_t fast4Packets = 0;
    std::uint64_t fast6Packets = 0;
    std::uint64_t fastBytes = 0;
    std::uint64_t heldPackets = 0;
    std::vector<std::pair<std::string, std::uint64_t>> slow;  ///< FL_REASONS name -> packets, only those above 0
};

struct EngineReport {
    bool ready = false;  ///< the first plan has been applied
    bool observe = false;
    std::uint64_t generation = 0;  ///< plans applied so far
    bool heldAll = false;
    std::vector<InterfaceReport> interfaces;
    Counters counters;
    std::uint64_t routes4 = 0;
    std::uint64_t routes6 = 0;
};

/// The packet that `fp explain` asks about; what is not given is not checked, and said so.
struct PacketQuery {
    std::string interface;
    std::optional<IpAddress> source;
    std::optional<IpAddress> destination;
    std::optional<std::uint8_t> protocol;
    std::optional<std::uint16_t> sourcePort;
    std::optional<std::uint16_t> destinationPort;
    std::optional<std::uint32_t> size;  ///< IP length in bytes
};

struct ExplainStep {
    std::string check;  ///< "interface", "hold", "source", "route", "neighbour", "mtu", "egress", ...
    bool passed = false;
    std::string detail;
};

struct Explanation {
    bool fast = false;
    std::string verdict;  ///< one sentence
    std::vector<ExplainStep> steps;
    std::string nextHop;  ///< address; empty: none
    std::string egress;   ///< interface name
    std::string nextHopMac;
};

class Engine {
public:
    virtual ~Engine() = default;
    [[nodiscard]] virtual EngineReport report() = 0;
    [[nodiscard]] virtual std::vector<InterfaceCounters> counters() = 0;
    virtual Result<Explanation> explain(const PacketQuery& query) = 0;
    /// Off: detached and all to Linux, until on. Empty name: all interfaces. Unknown name: an Error.
    virtual Status setEnabled(const std::optional<std::string>& interface, bool enabled) = 0;
};

}  // namespace fastlet::linuxfp
