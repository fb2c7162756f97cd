// SPDX-License-Identifier: Apache-2.0
// The real HookInspector: bpf(2) in the calling thread's network namespace.
#pragma once

#include <memory>

#include "linuxfp/introspect/introspector.hpp"

namespace fastlet::linuxfp {

/// Program names that begin so are ours.
inline constexpr const char* kProgramPrefix = "fastlet_";

[[nodiscard]] std::unique_ptr<HookInspector> realHookInspector();

}  // namespace fastlet::linuxfp
