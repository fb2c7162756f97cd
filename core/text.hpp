// SPDX-License-Identifier: Apache-2.0
// Small helpers for what people read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastlet {

/// The candidate that `word` was probably meant to be (few edits away); empty when none is near.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "word" in double quotes, on one line, at most 60 characters; control characters as \xNN. For input in error messages.
[[nodiscard]] std::string inQuotes(std::string_view word);

/// "a, b, c"
[[nodiscard]] std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

/// Did you mean ...? or: known are ... The hint for an unknown word.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace fastlet
