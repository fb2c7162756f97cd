// SPDX-License-Identifier: Apache-2.0
// What this host's daemon has placed in the kernel, on disk, so that whoever comes after a crash knows what is ours. An entry is
// written before the thing is placed and removed after the thing is gone: the ledger may list too much, never too little.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace fastlet {

struct LedgerEntry {
    std::string kind;  ///< "xdp", "tc", "clsact"
    std::uint32_t ifindex = 0;
    std::string interface;  ///< its name when the entry was written
    bool operator==(const LedgerEntry&) const = default;
};

class Ledger {
public:
    /// One file for each network namespace, named by its inode, below `stateDir` (created 0755 when missing).
    /// Error: the directory cannot be used. A file that cannot be understood is moved aside ("*.corrupt") and reported by
    /// corrupt().
    [[nodiscard]] static Result<Ledger> open(const std::string& stateDir);

    [[nodiscard]] const std::vector<LedgerEntry>& entries() const { return entries_; }
    [[nodiscard]] const std::string& corrupt() const { return corrupt_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] bool has(const std::string& kind, std::uint32_t ifindex) const;

    /// Does nothing when the entry is there already.
    Status add(const LedgerEntry& entry);
    /// Does nothing when there is none. The last entry takes the file with it.
    Status remove(const std::string& kind, std::uint32_t ifindex);

private:
    [[nodiscard]] Status save() const;

    std::string path_;
    std::string corrupt_;
    std::vector<LedgerEntry> entries_;
};

}  // namespace fastlet
