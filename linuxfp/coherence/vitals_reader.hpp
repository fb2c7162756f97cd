// SPDX-License-Identifier: Apache-2.0
// Runs bpf/vitals.bpf.c in the calling thread's network namespace: the heartbeat, and what nothing notifies (bpf/abi/vitals.h).
#pragma once

#include <memory>

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

/// Names for a reading (kernel symbols; empty legacy tables are told from used ones by asking iptables' own socket option only
/// for tables that a hook has shown to exist).
[[nodiscard]] Vitals describeVitals(const fl_vitals& reading);

}  // namespace fastlet::linuxfp
