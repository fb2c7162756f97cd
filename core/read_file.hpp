// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"

namespace fastlet {

/// The whole content of a file whose size is not known before it is read, as in /proc. Error: "PATH: why", with the errno.
[[nodiscard]] Result<std::string> readFile(const std::string& path);

}  // namespace fastlet
