// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/fd.hpp"
#include "core/result.hpp"

namespace fastlet {

/// The whole content of a file whose size is not known before it is read, as in /proc. Error: "PATH: why", with the errno.
[[nodiscard]] Result<std::string> readFile(const std::string& path);

/// A file that is read again and again: it stays open, since finding it costs several times what reading a small one costs.
class RereadFile {
public:
    explicit RereadFile(std::string path) : path_(std::move(path)) {}

    /// The content as it is now. The first call opens; after an error the next one does.
    [[nodiscard]] Result<std::string> read();

private:
    std::string path_;
    Fd file_;
};

}  // namespace fastlet
