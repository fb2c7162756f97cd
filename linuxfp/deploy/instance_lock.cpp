// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/instance_lock.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace fastlet::linuxfp {

Result<Fd> takeInstanceLock() {
    constexpr std::string_view kName = "fastlet.linuxfp";
    Fd lock(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!lock.valid()) return Error::fromErrno("cannot create the instance lock", errno);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(kName.begin(), kName.end(), address.sun_path + 1);  // a leading NUL: the abstract namespace
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kName.size());
    if (::bind(lock.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) return lock;
    if (errno == EADDRINUSE)
        return Error::make("another fastlet runs in this network namespace",
                           "one daemon accelerates a network namespace; `fastctl status` asks the one that runs", EADDRINUSE);
    return Error::fromErrno("cannot take the instance lock", errno);
}

}  // namespace fastlet::linuxfp
