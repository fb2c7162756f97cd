// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/introspect/hook_inspector.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "bpf/abi/rx_handlers.h"
#include "core/fd.hpp"
#include "linuxfp/coherence/kernel_reader.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr std::uint32_t kMaxTcxPrograms = 64;  // BPF_MPROG_MAX

class RealHookInspector final : public HookInspector {
public:
    Result<AttachedProgram> program(std::uint32_t id) override {
        const Fd fd(bpf_prog_get_fd_by_id(id));
        if (!fd.valid()) return Error::fromErrno(fmt::format("cannot open BPF program {}", id), errno);
        bpf_prog_info info{};
        __u32 size = sizeof(info);
        if (bpf_obj_get_info_by_fd(fd.get(), &info, &size))
            return Error::fromErrno(fmt::format("cannot describe BPF program {}", id), errno);
        AttachedProgram program{id, info.name, false};
        program.ours = program.name.starts_with(kProgramPrefix);
        return program;
    }

    Result<std::vector<AttachedProgram>> tcx(std::uint32_t ifindex, bool ingress) override {
        std::array<__u32, kMaxTcxPrograms> ids{};
        bpf_attr attributes{};
        attributes.query.target_fd = ifindex;
        attributes.query.attach_type = ingress ? kTcxIngress : kTcxEgress;
        attributes.query.prog_ids = reinterpret_cast<__u64>(ids.data());
        attributes.query.prog_cnt = ids.size();
        if (::syscall(SYS_bpf, BPF_PROG_QUERY, &attributes, sizeof(attributes))) {
            // EINVAL: this kernel has no TCX. ENOENT: nothing attached there.
            if (errno == EINVAL || errno == ENOENT) return std::vector<AttachedProgram>{};
            return Error::fromErrno(fmt::format("cannot list the TCX programs of interface {}", ifindex), errno);
        }
        std::vector<AttachedProgram> programs;
        for (std::uint32_t i = 0; i < attributes.query.prog_cnt && i < ids.size(); ++i) {
            auto known = program(ids[i]);
            programs.push_back(known ? *known : AttachedProgram{ids[i], "", false});
        }
        return programs;
    }

    Result<std::set<std::uint32_t>> rxHandlers() override {
        if (!kernel_) {
            FASTLET_TRY(kernel, KernelReader::open(rxHandlersObject(), "fl_rx_handlers_map", sizeof(fl_rx_handlers)));
            kernel_.emplace(std::move(kernel));
        }
        auto& answer = *static_cast<fl_rx_handlers*>(kernel_->area());
        answer.complete = answer.count = 0;
        FASTLET_CHECK(kernel_->run());
        if (!answer.complete || answer.count > FL_MAX_RX_HANDLERS)
            return Error::make("the kernel's interfaces cannot be walked: too many, or types that this program does not know");
        return std::set<std::uint32_t>(answer.ifindex, answer.ifindex + answer.count);
    }

private:
    std::optional<KernelReader> kernel_;  ///< loaded when it is first asked for
};

}  // namespace

std::unique_ptr<HookInspector> realHookInspector() { return std::make_unique<RealHookInspector>(); }

}  // namespace fastlet::linuxfp
