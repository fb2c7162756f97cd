// SPDX-License-Identifier: Apache-2.0
// Names of kernel functions, from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fastlet::linuxfp {

/// Functions (text symbols) found in a kallsyms table.
struct SymbolMatches {
    std::map<std::uint64_t, std::string> names;    ///< of the wanted addresses
    std::map<std::string, std::uint64_t> symbols;  ///< the wanted names; of several with one name, the last
    bool hidden = false;                           ///< the kernel shows no addresses (kptr_restrict without CAP_SYSLOG)
};

/// One pass over a kallsyms table; lines that are not understood are left out.
[[nodiscard]] SymbolMatches findSymbols(std::istream& kallsyms, const std::set<std::uint64_t>& addresses,
                                        const std::set<std::string>& names);

/// What of /proc/modules tells that functions have come or gone: name, size and address of each module, not its users.
[[nodiscard]] std::string moduleSignature(std::istream& modules);

/// Looks up and remembers. The table is long (some 10 ms): it is read again only for an address that is new, or after modules
/// were loaded or unloaded. Not thread-safe.
class KernelSymbols {
public:
    explicit KernelSymbols(std::string kallsyms = "/proc/kallsyms", std::string modules = "/proc/modules");

    /// Names of functions by their addresses; what the kernel does not tell is missing.
    [[nodiscard]] std::map<std::uint64_t, std::string> names(const std::set<std::uint64_t>& addresses);
    /// Addresses of the functions with these names, in any order; what is not there is missing.
    [[nodiscard]] std::vector<std::uint64_t> addresses(const std::set<std::string>& names);

    /// Forgets what may no longer be so when modules have come or gone since the last look; true then.
    bool noticeModules();

private:
    std::string kallsyms_;
    std::string modules_;
    std::string signature_;
    std::map<std::uint64_t, std::string> known_;  ///< an empty name: looked for and not found
};

}  // namespace fastlet::linuxfp
