// SPDX-License-Identifier: Apache-2.0
// One run of a configuration's packets through a sandbox, and what two runs differ in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "tests/oracle/daemon.hpp"
#include "tests/oracle/packets.hpp"
#include "tests/oracle/wire.hpp"

namespace fastlet::oracle {

struct RunOptions {
    bool hostNapi = false;
    std::string fastlet;  ///< path of the daemon; empty: Linux alone
    HookChoice hook = HookChoice::tc;
};

struct Outcome {
    std::vector<std::vector<Received>> steps;
    std::map<std::string, std::uint64_t> counters;
    std::vector<std::string> neighbours;
    std::vector<std::string> refused;
    std::uint64_t refusedPackets = 0;
    std::uint64_t redirects = 0;  ///< ICMP redirects, taken out of `steps` (see normalise)
    FastCounters fast;
};

[[nodiscard]] Result<Outcome> runOnce(const Configuration& configuration, const std::vector<Step>& steps,
                                      const RunOptions& options);

/// Takes out what is rightly random, or timed by the clock, in two runs of the same Linux:
/// - IP identification of what the router itself generates (and the checksum over it), fragment identification in IPv6;
/// - the times in ICMP timestamp replies;
/// - IGMP and MLD reports (random timers);
/// - ICMP redirects (rate limited by the clock): only counted;
/// - destination unreachable beyond the first five to one address (rate limited by the clock, burst of five).
void normalise(const Configuration& configuration, const std::vector<Step>& steps, Outcome& outcome);

struct Difference {
    std::size_t step = SIZE_MAX;  ///< SIZE_MAX: not about one step
    std::string text;
};
/// `ordered`: within a burst the order counts, too.
[[nodiscard]] std::vector<Difference> compare(const std::vector<Step>& steps, const Outcome& plain, const Outcome& other,
                                              bool ordered);

}  // namespace fastlet::oracle
