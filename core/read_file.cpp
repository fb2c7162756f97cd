// SPDX-License-Identifier: Apache-2.0
#include "core/read_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/fd.hpp"

namespace fastlet {

Result<std::string> readFile(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return Error::fromErrno(path, errno);
    std::string content;
    std::array<char, 16384> block{};
    for (;;) {
        const ssize_t got = ::read(file.get(), block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Error::fromErrno(path, errno);
        if (got == 0) return content;
        content.append(block.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace fastlet
