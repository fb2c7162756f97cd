// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fastlet {
namespace {

constexpr std::size_t kMaxQuoted = 60;
constexpr std::size_t kMaxCompared = 64;

std::size_t editDistance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < right.size(); ++j) {
            const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
    if (word.size() > kMaxCompared) return std::nullopt;
    std::optional<std::string> best;
    std::size_t bestDistance = 0;
    for (const auto& candidate : candidates) {
        const std::size_t distance = editDistance(word, candidate);
        // Two typing errors in a long word, one in a short one.
        const std::size_t allowed = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
        if (distance > allowed || (best && distance >= bestDistance)) continue;
        best = candidate;
        bestDistance = distance;
    }
    return best;
}

std::string inQuotes(std::string_view word) {
    std::string result = "\"";
    for (const char character : word) {
        if (result.size() > kMaxQuoted) {
            result += "...";
            break;
        }
        const auto byte = static_cast<unsigned char>(character);
        if (byte < 0x20 || byte >= 0x7f || character == '"')
            result += fmt::format("\\x{:02x}", byte);
        else
            result += character;
    }
    return result + '"';
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
    if (const auto near = nearest(word, candidates)) return fmt::format("did you mean \"{}\"?", *near);
    if (candidates.empty()) return {};
    return "known here: " + joined(candidates);
}

}  // namespace fastlet
