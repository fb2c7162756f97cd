// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "agent/ctl/ctl.hpp"

int main(int argc, char** argv) {
    try {
        std::signal(SIGPIPE, SIG_DFL);  // `fastctl ... | head` ends quietly
        return fastlet::agent::runCtl(std::vector<std::string>(argv + 1, argv + argc), FASTLET_VERSION, std::cout, std::cerr);
    } catch (const std::exception& exception) {
        std::cerr << "error: " << exception.what() << '\n';
        return fastlet::agent::kFailed;
    }
}
