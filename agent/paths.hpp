// SPDX-License-Identifier: Apache-2.0
// Where the daemon and fastctl meet when nobody says otherwise. Below /run: what is placed in a kernel ends with that kernel.
#pragma once

namespace fastlet::agent {

inline constexpr const char* kRuntimeFolder = "/run/fastlet";
inline constexpr const char* kDefaultSocket = "/run/fastlet/control.sock";
inline constexpr const char* kDefaultStateDir = "/run/fastlet";

}  // namespace fastlet::agent
