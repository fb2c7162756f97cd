// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/bpf_kernel.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <iterator>

#include "linuxfp/deploy/program_store.hpp"
#include "linuxfp/deploy/tc_hook.hpp"
#include "linuxfp/deploy/xdp_hook.hpp"

namespace fastlet::linuxfp {
namespace {

using Addresses = std::vector<std::uint32_t>;

Addresses difference(const Addresses& from, const Addresses& without) {
    Addresses result;
    std::set_difference(from.begin(), from.end(), without.begin(), without.end(), std::back_inserter(result));
    return result;
}

void add(fl_port_stats& sum, const fl_port_stats& one) {
    sum.fast4_packets += one.fast4_packets;
    sum.fast6_packets += one.fast6_packets;
    sum.fast_bytes += one.fast_bytes;
    sum.held_packets += one.held_packets;
    for (std::size_t i = 0; i < std::size(sum.slow); ++i) sum.slow[i] += one.slow[i];
}

class RealBpfKernel final : public BpfKernel {
public:
    RealBpfKernel(std::unique_ptr<ProgramStore> store, const BpfKernelOptions& options)
        : store_(std::move(store)), tc_(options.useTcx, options.ledger), cpus_(libbpf_num_possible_cpus()) {}

    SharedMemory shared() override { return store_->shared(); }
    Result<LoadedProgram> load(Hook hook, const fl_shape& shape) override { return store_->load(hook, shape); }
    Status attachXdp(std::uint32_t ifindex, const LoadedProgram& program) override { return attachXdpProgram(ifindex, program); }
    Status detachXdp(std::uint32_t ifindex) override { return detachXdpProgram(ifindex); }
    Status attachTc(std::uint32_t ifindex, const LoadedProgram& program) override { return tc_.attach(ifindex, program); }
    Status detachTc(std::uint32_t ifindex) override { return tc_.detach(ifindex); }

    Status setRedirectTarget(std::uint32_t ifindex, bool on) override {
        const std::uint32_t slot = ifindex & (FL_PORTS - 1);
        const int map = store_->mapFd("fl_devices");
        // Written again even when it is there: the kernel drops the entry of an interface that is deleted.
        if (on && bpf_map_update_elem(map, &slot, &ifindex, BPF_ANY))
            return Error::fromErrno(fmt::format("cannot make interface {} a redirect target", ifindex), errno);
        if (!on && bpf_map_delete_elem(map, &slot) && errno != ENOENT)
            return Error::fromErrno(fmt::format("cannot take interface {} off the redirect targets", ifindex), errno);
        return {};
    }

    Status setLocalAddresses(const Addresses& addresses) override {
        Addresses wanted = addresses;
        std::sort(wanted.begin(), wanted.end());
        const int map = store_->mapFd("fl_local4");
        const std::uint32_t present = 1;
        for (const std::uint32_t address : difference(wanted, local_))
            if (bpf_map_update_elem(map, &address, &present, BPF_ANY)) {
                return Error::fromErrno("cannot note a local IPv4 address", errno, "more than 16,384 local addresses?");
            }
        writeFilter(local_, wanted);
        for (const std::uint32_t address : difference(local_, wanted))
            if (bpf_map_delete_elem(map, &address) && errno != ENOENT)
                return Error::fromErrno("cannot forget a local IPv4 address", errno);
        local_ = wanted;
        return {};
    }

    Result<fl_port_stats> stats(std::uint32_t slot) override {
        std::vector<fl_port_stats> each(static_cast<std::size_t>(cpus_));
        if (bpf_map_lookup_elem(store_->mapFd("fl_stats"), &slot, each.data()))
            return Error::fromErrno("cannot read the fast path's counters", errno);
        fl_port_stats sum{};
        for (const auto& one : each) add(sum, one);
        return sum;
    }

    Status clearStats(std::uint32_t slot) override {
        const std::vector<fl_port_stats> zero(static_cast<std::size_t>(cpus_));
        if (bpf_map_update_elem(store_->mapFd("fl_stats"), &slot, zero.data(), BPF_ANY))
            return Error::fromErrno("cannot clear the fast path's counters", errno);
        return {};
    }

    Result<std::vector<std::uint32_t>> leftovers() override {
        std::vector<std::uint32_t> found;
        auto* names = ::if_nameindex();
        if (!names) return Error::fromErrno("cannot list the interfaces", errno);
        const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> guard(names, ::if_freenameindex);
        for (const auto* entry = names; entry->if_index; ++entry) {
            FASTLET_TRY(xdp, xdpOccupant(entry->if_index));
            if (leftBehind(xdp.native) || leftBehind(clsactProgram(entry->if_index))) found.push_back(entry->if_index);
        }
        return found;
    }

private:
    [[nodiscard]] bool leftBehind(const AttachedProgram& program) const { return program.ours && !store_->byId(program.id); }

    // Bits of new addresses are set before bits of old ones go, so that an address in both is never missing.
    void writeFilter(const Addresses& before, const Addresses& after) {
        constexpr std::size_t kWords = FL_LOCAL4_BITS / 32;
        std::array<std::uint32_t, kWords> wanted{};
        for (const std::uint32_t address : after) {
            const std::uint32_t hash = FL_LOCAL4_HASH(address);
            wanted[hash >> 5] |= 1u << (hash & 31);
        }
        auto& bits = store_->shared().local->bits;
        for (std::size_t i = 0; i < kWords; ++i) {
            const std::atomic_ref word(bits[i]);
            if (word.load() != wanted[i]) word.store(word.load() | wanted[i]);
        }
        if (before.empty()) return;
        for (std::size_t i = 0; i < kWords; ++i)
            if (const std::atomic_ref word(bits[i]); word.load() != wanted[i]) word.store(wanted[i]);
    }

    std::unique_ptr<ProgramStore> store_;
    TcHook tc_;
    int cpus_;
    Addresses local_;
};

}  // namespace

Result<std::unique_ptr<BpfKernel>> openBpfKernel(const BpfKernelOptions& options) {
    FASTLET_TRY(store, ProgramStore::open());
    return std::unique_ptr<BpfKernel>(std::make_unique<RealBpfKernel>(std::move(store), options));
}

}  // namespace fastlet::linuxfp
