// SPDX-License-Identifier: Apache-2.0
// Linux's own answer: a frame goes through the router of router.hpp with no program attached.
#pragma once

#include <vector>

#include "core/fd.hpp"
#include "tests/netns/bpf/packets.hpp"

namespace fastlet::fastpath {

class Wire {
public:
    Wire();

    /// Sends on in1 and returns what then arrives on out1 or out3 with the same last 8 bytes; empty if nothing does within a
    /// second.
    Bytes through(const Bytes& frame);

private:
    Fd in_;
    std::vector<Fd> out_;
};

}  // namespace fastlet::fastpath
