// SPDX-License-Identifier: Apache-2.0
// The generic netlink family "netdev" (Linux 6.3 on); the headers of Debian 12 are older.
#pragma once

#include <cstdint>

namespace fastlet::linuxfp {

inline constexpr const char* kNetdevFamily = "netdev";
inline constexpr std::uint8_t kNetdevGet = 1;           // NETDEV_CMD_DEV_GET
inline constexpr std::uint16_t kNetdevIfindex = 1;      // NETDEV_A_DEV_IFINDEX
inline constexpr std::uint16_t kNetdevXdpFeatures = 3;  // NETDEV_A_DEV_XDP_FEATURES

}  // namespace fastlet::linuxfp
