// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/hold_book.hpp"

#include <algorithm>
#include <atomic>

namespace fastlet::linuxfp {
namespace {

// The programs read these words without any lock; one aligned store each is all that they need.
void store(std::uint32_t& word, std::uint32_t value) { std::atomic_ref(word).store(value, std::memory_order_seq_cst); }
std::uint32_t load(std::uint32_t& word) { return std::atomic_ref(word).load(std::memory_order_seq_cst); }

}  // namespace

bool HoldBook::note(const Impact& impact) {
    const std::lock_guard lock(mutex_);
    if (!impact.categories && !impact.holdAll && !impact.holdInterface) return false;
    ++stamp_;
    if (impact.holdAll) {
        store(shared_.control->hold_all, 1);
        allStamp_ = stamp_;
    }
    if (impact.holdInterface) {
        const std::uint32_t slot = impact.holdInterface & (FL_PORTS - 1);
        store(shared_.ports[slot].hold, 1);
        portStamps_[slot] = stamp_;
    }
    categories_ |= impact.categories;
    return true;
}

Pending HoldBook::take() {
    const std::lock_guard lock(mutex_);
    const Pending pending{categories_, stamp_};
    categories_ = 0;
    return pending;
}

void HoldBook::giveBack(const Pending& pending) {
    const std::lock_guard lock(mutex_);
    categories_ |= pending.categories;
}

void HoldBook::beginApply() {
    const std::lock_guard lock(mutex_);
    store(shared_.control->hold_all, 1);
}

void HoldBook::release(std::uint64_t stamp) {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t slot = 0; slot < FL_PORTS; ++slot)
        if (portStamps_[slot] <= stamp && load(shared_.ports[slot].hold)) store(shared_.ports[slot].hold, 0);
    if (allStamp_ <= stamp) store(shared_.control->hold_all, 0);
}

void HoldBook::lowerLimit(bool ipv4, std::uint32_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& limit = ipv4 ? shared_.control->max_len4 : shared_.control->max_len6;
    if (bytes >= load(limit)) return;
    store(limit, bytes);
    limitStamp_ = ++stamp_;
}

void HoldBook::setLimits(std::uint32_t ipv4, std::uint32_t ipv6, std::uint64_t stamp) {
    const std::lock_guard lock(mutex_);
    const bool newer = limitStamp_ > stamp;  // a route that this plan has not seen has lowered them: only lower
    store(shared_.control->max_len4, newer ? std::min(ipv4, load(shared_.control->max_len4)) : ipv4);
    store(shared_.control->max_len6, newer ? std::min(ipv6, load(shared_.control->max_len6)) : ipv6);
}

bool HoldBook::heldAll() { return load(shared_.control->hold_all) != 0; }

bool HoldBook::held(std::uint32_t ifindex) {
    auto& port = shared_.ports[ifindex & (FL_PORTS - 1)];
    return load(port.ifindex) == ifindex && load(port.hold) != 0;
}

}  // namespace fastlet::linuxfp
