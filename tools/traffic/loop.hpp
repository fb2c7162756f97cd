// SPDX-License-Identifier: Apache-2.0
// Frames that circulate: source device -> router -> sink device -> source device ... (loop.bpf.c).
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "core/types/mac_address.hpp"

namespace fastlet::traffic {

/// A veth in a network namespace as `ip netns` names it.
struct Place {
    std::string space;
    std::string device;
};

/// Of the frames that enter the router: its interface, and the source's.
struct Macs {
    MacAddress router;
    MacAddress source;
};

struct Seen {
    std::uint64_t frames = 0;  ///< since the start
    std::uint64_t lastNs = 0;  ///< CLOCK_MONOTONIC when the last one arrived; 0 when times are not noted
};

class Loop {
public:
    /// Attaches to the sink; the kernel detaches when this ends, however it ends. The calling thread is in the sink's network
    /// namespace afterwards.
    [[nodiscard]] static Result<Loop> open(const Place& source, const Place& sink, const Macs& macs);

    /// `run` false: the frames end at the sink. `stamp`: note the time of each, which costs some.
    [[nodiscard]] Status set(bool run, bool stamp);
    [[nodiscard]] Result<Seen> seen() const;

private:
    struct Closer {
        void operator()(bpf_object* object) const { bpf_object__close(object); }
        void operator()(bpf_link* link) const { bpf_link__destroy(link); }
    };
    Loop() = default;
    Status load();
    Status redirectTo(const Place& source);
    Status attach(const Place& sink);
    [[nodiscard]] int map(const char* name) const;

    std::unique_ptr<bpf_object, Closer> object_;
    std::unique_ptr<bpf_link, Closer> link_;
    Macs macs_;
};

}  // namespace fastlet::traffic
