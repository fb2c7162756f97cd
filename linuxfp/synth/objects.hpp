// SPDX-License-Identifier: Apache-2.0
// The compiled BPF objects, which are part of the binary (bpf/CMakeLists.txt).
#pragma once

#include <span>

namespace fastlet::linuxfp {

using ObjectBytes = std::span<const unsigned char>;
[[nodiscard]] ObjectBytes forwardXdpObject();
[[nodiscard]] ObjectBytes forwardTcObject();
[[nodiscard]] ObjectBytes vitalsObject();
[[nodiscard]] ObjectBytes rxHandlersObject();

}  // namespace fastlet::linuxfp
