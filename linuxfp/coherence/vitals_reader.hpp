// SPDX-License-Identifier: Apache-2.0
// Runs bpf/vitals.bpf.c in the calling thread's network namespace: what nothing notifies (bpf/abi/vitals.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "bpf/abi/vitals.h"
#include "core/result.hpp"
#include "linuxfp/model/net_state.hpp"

namespace fastlet::linuxfp {

class VitalsReader {
public:
    virtual ~VitalsReader() = default;
    /// One run of the program, some microseconds. The caller compares two readings with memcmp after setting `jiffies` to 0.
    virtual Result<fl_vitals> read() = 0;
};

/// Error: no BTF, no privilege, verifier refusal; then everything goes to Linux.
[[nodiscard]] Result<std::unique_ptr<VitalsReader>> openVitalsReader();

/// The hook functions of iptables-legacy tables whose private pointer is the table.
[[nodiscard]] const std::set<std::string>& legacyTableFunctions();

using SymbolNames = std::map<std::uint64_t, std::string>;
/// What a reading says, in words; pure. A function without a name gets an empty one.
[[nodiscard]] Vitals describeVitalsWith(const fl_vitals& reading, const SymbolNames& names);
/// The same with the names of the running kernel. Thread-safe; takes some 10 ms when a function is new.
[[nodiscard]] Vitals describeVitals(const fl_vitals& reading);
/// Addresses of all hook functions of a reading.
[[nodiscard]] std::set<std::uint64_t> hookFunctions(const fl_vitals& reading);

}  // namespace fastlet::linuxfp
