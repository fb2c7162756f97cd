// SPDX-License-Identifier: Apache-2.0
// A listening UNIX socket at a path, taken over only from the dead.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/fd.hpp"
#include "core/result.hpp"

namespace fastlet::agent {

class ListeningSocket {
public:
    /// Mode 0660. What is at `path` already:
    /// - a socket that somebody answers: an Error; a socket that nobody answers: replaced; anything else: an Error, left alone.
    /// The folder must be there, except /run/fastlet, which is created.
    [[nodiscard]] static Result<ListeningSocket> open(const std::string& path);
    ListeningSocket(ListeningSocket&&) noexcept = default;
    ListeningSocket& operator=(ListeningSocket&& other) noexcept;
    /// Removes the file, if it is still the one that open() made.
    ~ListeningSocket();

    [[nodiscard]] int fd() const { return fd_.get(); }

private:
    ListeningSocket(Fd fd, std::string path, dev_t device, ino_t inode)
        : fd_(std::move(fd)), path_(std::move(path)), device_(device), inode_(inode) {}
    void close();

    Fd fd_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace fastlet::agent
