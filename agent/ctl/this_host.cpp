// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "agent/control/client.hpp"
#include "agent/ctl/doctor.hpp"
#include "core/fd.hpp"

namespace fastlet::agent {
namespace {

Result<std::string> readFile(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return Error::fromErrno("cannot read " + path, errno);
    std::string text;
    std::array<char, 4096> block{};
    while (true) {
        const ssize_t got = ::read(file.get(), block.data(), block.size());
        if (got == 0) return text;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Error::fromErrno("cannot read " + path, errno);
        text.append(block.data(), static_cast<std::size_t>(got));
    }
}

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
