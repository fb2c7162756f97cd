// SPDX-License-Identifier: Apache-2.0
// One daemon per network namespace: an abstract UNIX socket, which belongs to the namespace and dies with the process.
#pragma once

#include "core/fd.hpp"
#include "core/result.hpp"

namespace fastlet::linuxfp {

/// The lock is held as long as the descriptor is open. Error with code EADDRINUSE: another daemon has it.
[[nodiscard]] Result<Fd> takeInstanceLock();

}  // namespace fastlet::linuxfp
