// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/kernel_reader.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace fastlet::linuxfp {
namespace {

constexpr const char* kTypesFile = "/sys/kernel/btf/vmlinux";

std::size_t wholePages(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

Error loadError(int code, const std::string& line) {
    if (::access(kTypesFile, R_OK) != 0)
        return Error::make("this kernel has no type information (BTF), so its state cannot be read",
                           "needs a kernel built with CONFIG_DEBUG_INFO_BTF=y", code);
    const bool privilege = code == EPERM || code == EACCES;
    return Error::make(fmt::format("the kernel refused the program that reads its state: {}",
                                   line.empty() || privilege ? std::strerror(code) : line),
                       privilege ? "needs CAP_BPF and CAP_PERFMON (or root); kernel lockdown must not be `confidentiality`"
                                 : "`fastctl doctor` checks what this kernel can do",
                       code);
}

Status load(bpf_object* object, bpf_program* program) {
    std::string log(256UL * 1024, '\0');
    bpf_program__set_log_buf(program, log.data(), log.size());
    const int rc = bpf_object__load(object);
    bpf_program__set_log_buf(program, nullptr, 0);
    if (rc) return loadError(-rc, decisiveLine(log.c_str()));
    return {};
}

}  // namespace

Result<KernelReader> KernelReader::open(ObjectBytes bytes, const char* map, std::size_t size) {
    const LibbpfMessages silence;
    BpfObject object(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
    if (!object) return Error::fromErrno("cannot read the built-in BPF object", errno);
    bpf_program* program = bpf_object__next_program(object.get(), nullptr);
    if (!program) return Error::make("the built-in BPF object has no program");
    FASTLET_CHECK(load(object.get(), program));
    const int fd = bpf_object__find_map_fd_by_name(object.get(), map);
    void* area = ::mmap(nullptr, wholePages(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (area == MAP_FAILED) return Error::fromErrno("cannot map the memory of the program that reads the kernel's state", errno);
    return KernelReader(std::move(object), bpf_program__fd(program), area, wholePages(size));
}

KernelReader::KernelReader(KernelReader&& other) noexcept
    : object_(std::move(other.object_)),
      program_(other.program_),
      area_(std::exchange(other.area_, nullptr)),
      bytes_(other.bytes_) {}

KernelReader::~KernelReader() {
    if (area_) ::munmap(area_, bytes_);
}

Status KernelReader::run() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    LIBBPF_OPTS(bpf_test_run_opts, options);
    if (const int rc = bpf_prog_test_run_opts(program_, &options))
        return Error::fromErrno("cannot run the program that reads the kernel's state", -rc,
                                rc == -EPERM ? "needs CAP_BPF and CAP_PERFMON" : "");
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return {};
}

}  // namespace fastlet::linuxfp
