// SPDX-License-Identifier: Apache-2.0
#include "tools/traffic/loop.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/fd.hpp"
#include "tools/traffic/abi.h"

extern "C" {
extern const unsigned char traffic_object_loop[];
extern const unsigned char traffic_object_loop_end[];
}

namespace fastlet::traffic {
namespace {

constexpr std::uint32_t kOnly = 0;  // the key of the maps' one element

Status check(int rc, const std::string& what) {
    if (rc != 0) return Error::fromErrno(what, -rc);
    return {};
}

Status enter(const std::string& space) {
    const Fd other(::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC));
    if (!other.valid() || ::setns(other.get(), CLONE_NEWNET) != 0)
        return Error::fromErrno("enter the network namespace " + space, errno, "`ip netns` lists those that there are");
    return {};
}

Result<std::uint32_t> indexOf(const std::string& device) {
    const std::uint32_t index = if_nametoindex(device.c_str());
    if (index == 0) return Error::fromErrno(device, errno);
    return index;
}

}  // namespace

Result<Loop> Loop::open(const Place& source, const Place& sink, const Macs& macs) {
    Loop loop;
    loop.macs_ = macs;
    FASTLET_CHECK(loop.load());
    FASTLET_CHECK(loop.redirectTo(source));
    FASTLET_CHECK(loop.set(true, false));
    FASTLET_CHECK(loop.attach(sink));
    return loop;
}

Status Loop::load() {
    const auto size = static_cast<std::size_t>(traffic_object_loop_end - traffic_object_loop);
    object_.reset(bpf_object__open_mem(traffic_object_loop, size, nullptr));
    if (!object_) return Error::fromErrno("open the BPF object", errno);
    if (const int rc = bpf_object__load(object_.get()); rc != 0)
        return Error::fromErrno("load the BPF object", -rc, "root is needed");
    return {};
}

int Loop::map(const char* name) const { return bpf_object__find_map_fd_by_name(object_.get(), name); }

Status Loop::redirectTo(const Place& source) {
    FASTLET_CHECK(enter(source.space));
    FASTLET_TRY(index, indexOf(source.device));
    // The map remembers the device, not its number: it holds in the sink's namespace too.
    FASTLET_CHECK(check(bpf_map_update_elem(map("traffic_source_map"), &kOnly, &index, BPF_ANY), source.device));
    return {};
}

Status Loop::attach(const Place& sink) {
    FASTLET_CHECK(enter(sink.space));
    FASTLET_TRY(index, indexOf(sink.device));
    const bpf_program* program = bpf_object__find_program_by_name(object_.get(), "traffic_loop");
    link_.reset(bpf_program__attach_xdp(program, static_cast<int>(index)));
    if (!link_) return Error::fromErrno("attach to " + sink.device, errno);
    return {};
}

Status Loop::set(bool run, bool stamp) {
    traffic_config config{};
    std::copy(macs_.router.bytes.begin(), macs_.router.bytes.end(), config.router_mac);
    std::copy(macs_.source.bytes.begin(), macs_.source.bytes.end(), config.source_mac);
    config.run = run;
    config.stamp = stamp;
    return check(bpf_map_update_elem(map("traffic_config_map"), &kOnly, &config, BPF_ANY), "configure");
}

Result<Seen> Loop::seen() const {
    std::vector<traffic_seen> perCpu(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    FASTLET_CHECK(check(bpf_map_lookup_elem(map("traffic_seen_map"), &kOnly, perCpu.data()), "read the sink"));
    Seen seen;
    for (const auto& one : perCpu) {
        seen.frames += one.frames;
        seen.lastNs = std::max<std::uint64_t>(seen.lastNs, one.last_ns);
    }
    return seen;
}

}  // namespace fastlet::traffic
