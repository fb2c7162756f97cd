// SPDX-License-Identifier: Apache-2.0
// Who is on hold and since when. The sentinel puts on hold, the main loop lifts; a hold is lifted only by a plan that has seen
// the event behind it. Thread-safe. Writes straight into the memory that the programs read.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "bpf/abi/fastpath.h"
#include "linuxfp/coherence/invalidation.hpp"
#include "linuxfp/deploy/bpf_kernel.hpp"

namespace fastlet::linuxfp {

/// What has become unknown since the last take().
struct Pending {
    std::uint32_t categories = 0;
    std::uint64_t stamp = 0;  ///< of the newest event that the categories cover
};

class HoldBook {
public:
    explicit HoldBook(SharedMemory shared) : shared_(shared) {}

    /// Holds first, then remembers what to read anew. Returns true when there is something for the main loop to do.
    bool note(const Impact& impact);
    /// Empties the book of categories; what is on hold stays on hold.
    Pending take();
    /// A reading that take() had asked for failed: its categories are owed again.
    void giveBack(const Pending& pending);
    /// Everything on hold while a new plan is put into place. Ended by release().
    void beginApply();
    /// Lifts the holds that are not newer than `stamp`.
    void release(std::uint64_t stamp);

    /// IPv4/IPv6 length limits: lowers what the programs see, at once. The main loop raises them with setLimits.
    void lowerLimit(bool ipv4, std::uint32_t bytes);
    void setLimits(std::uint32_t ipv4, std::uint32_t ipv6, std::uint64_t stamp);

    [[nodiscard]] bool heldAll();
    [[nodiscard]] bool held(std::uint32_t ifindex);

private:
    std::mutex mutex_;
    SharedMemory shared_;
    std::uint64_t stamp_ = 0;
    std::uint32_t categories_ = 0;
    std::uint64_t allStamp_ = 0;
    std::uint64_t limitStamp_ = 0;
    std::array<std::uint64_t, FL_PORTS> portStamps_{};
};

}  // namespace fastlet::linuxfp
