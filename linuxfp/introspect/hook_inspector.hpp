// SPDX-License-Identifier: Apache-2.0
// The real HookInspector: bpf(2) in the calling thread's network namespace.
#pragma once

#include <cstdint>
#include <memory>

#include "linuxfp/introspect/introspector.hpp"

namespace fastlet::linuxfp {

/// Program names that begin so are ours.
inline constexpr const char* kProgramPrefix = "fastlet_";

/// BPF_TCX_*, include/uapi/linux/bpf.h from 6.6 on; the headers of Debian 12 are older.
inline constexpr std::uint32_t kTcxIngress = 46;
inline constexpr std::uint32_t kTcxEgress = 47;

[[nodiscard]] std::unique_ptr<HookInspector> realHookInspector();

}  // namespace fastlet::linuxfp
