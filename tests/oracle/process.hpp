// SPDX-License-Identifier: Apache-2.0
// Children: run to the end with input and captured output, or in the background.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/result.hpp"

namespace fastlet::oracle {

struct Finished {
    int status = 0;  ///< exit code; 128 + signal when killed
    std::string output;
    std::string errors;
};

/// In the calling thread's network namespace. Error only when the program cannot be started.
[[nodiscard]] Result<Finished> run(const std::vector<std::string>& arguments, const std::string& input = {});
/// Standard error goes to the file `log`.
[[nodiscard]] Result<pid_t> start(const std::vector<std::string>& arguments, const std::string& log);
/// Exit code, or an Error when it does not end within `seconds` (it is then killed).
[[nodiscard]] Result<int> terminate(pid_t pid, int seconds);

}  // namespace fastlet::oracle
