// SPDX-License-Identifier: Apache-2.0
#include "core/read_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace fastlet {
namespace {

Result<Fd> openFile(const std::string& path) {
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return Error::fromErrno(path, errno);
    return file;
}

Result<std::string> readFromStart(int file, const std::string& path) {
    std::string content;
    std::array<char, 16384> block;  // NOLINT: not filled, for it is read up to `got` only
    for (;;) {
        const ssize_t got = ::pread(file, block.data(), block.size(), static_cast<off_t>(content.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Error::fromErrno(path, errno);
        if (got == 0) return content;
        content.append(block.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace

Result<std::string> readFile(const std::string& path) {
    FASTLET_TRY(file, openFile(path));
    return readFromStart(file.get(), path);
}

Result<std::string> RereadFile::read() {
    if (!file_.valid()) {
        FASTLET_TRY(file, openFile(path_));
        file_ = std::move(file);
    }
    auto content = readFromStart(file_.get(), path_);
    if (!content) file_.reset();
    return content;
}

}  // namespace fastlet
