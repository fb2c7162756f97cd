// SPDX-License-Identifier: Apache-2.0
// Numbers that are the same for the same seed with every compiler and library (std distributions are not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastlet::oracle {

/// splitmix64: one word of state, every seed is good.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
    /// 0 .. bound-1; bound > 0. The bias of the modulo does not matter here.
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
    std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
    std::uint8_t byte() { return static_cast<std::uint8_t>(next()); }
    bool percent(double chance) { return static_cast<double>(below(100000)) < chance * 1000.0; }

    template <class T>
    const T& pick(const std::vector<T>& values) {
        return values[below(static_cast<std::uint32_t>(values.size()))];
    }
    /// An index, each with the chance its weight gives it.
    std::size_t weighted(const std::vector<std::uint32_t>& weights) {
        std::uint32_t sum = 0;
        for (const auto weight : weights) sum += weight;
        std::uint32_t at = below(sum);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            if (at < weights[i]) return i;
            at -= weights[i];
        }
        return 0;
    }

private:
    std::uint64_t state_;
};

}  // namespace fastlet::oracle
