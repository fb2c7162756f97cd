// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "agent/control/client.hpp"
#include "agent/ctl/doctor.hpp"
#include "core/read_file.hpp"

namespace fastlet::agent {
namespace {

Status pingDaemon(const std::string& socket) {
    FASTLET_TRY(client, ControlClient::connect(socket));
    FASTLET_TRY(reply, client.call("io.fastlet.Ping"));
    return {};
}

}  // namespace

Patient thisHost(const std::string& socket) {
    return {readFile, [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; },
            [socket] { return pingDaemon(socket); }};
}

}  // namespace fastlet::agent
