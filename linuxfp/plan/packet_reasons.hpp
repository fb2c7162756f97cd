// SPDX-License-Identifier: Apache-2.0
// The words for enum fl_reason (bpf/abi/reasons.h), once for all who show them.
#pragma once

#include "bpf/abi/reasons.h"

namespace fastlet::linuxfp {

struct PacketReason {
    const char* name;  ///< for JSON and labels
    const char* text;  ///< a sentence
};

/// By enum fl_reason.
inline constexpr PacketReason kPacketReasons[FL_REASON_COUNT] = {
#define FASTLET_PACKET_REASON(id, name, text) {name, text},
    FL_REASONS(FASTLET_PACKET_REASON)
#undef FASTLET_PACKET_REASON
};

}  // namespace fastlet::linuxfp
