// SPDX-License-Identifier: Apache-2.0
// fastctl: the operator's command. Everything that main() does, on given streams.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace fastlet::agent {

enum ExitCode : int { kDone = 0, kFailed = 1, kUsage = 2 };

/// `arguments` without the program's name. `out` gets what was asked for, `err` errors: one sentence and a line "HINT: ...".
int runCtl(const std::vector<std::string>& arguments, const std::string& version, std::ostream& out, std::ostream& err);

}  // namespace fastlet::agent
