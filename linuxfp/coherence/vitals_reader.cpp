// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/coherence/vitals_reader.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "linuxfp/coherence/kallsyms.hpp"
#include "linuxfp/deploy/program_store.hpp"
#include "linuxfp/synth/objects.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr const char* kMapName = "fl_vitals_map";
constexpr const char* kTypesFile = "/sys/kernel/btf/vmlinux";

class SharedArea {
public:
    explicit SharedArea(void* address) : address_(address) {}
    SharedArea(SharedArea&& other) noexcept : address_(std::exchange(other.address_, MAP_FAILED)) {}
    SharedArea& operator=(SharedArea&&) = delete;
    SharedArea(const SharedArea&) = delete;
    SharedArea& operator=(const SharedArea&) = delete;
    ~SharedArea() {
        if (valid()) ::munmap(address_, bytes());
    }

    [[nodiscard]] bool valid() const { return address_ != MAP_FAILED; }
    [[nodiscard]] fl_vitals_area& get() const { return *static_cast<fl_vitals_area*>(address_); }
    static std::size_t bytes() {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        return (sizeof(fl_vitals_area) + page - 1) / page * page;
    }

private:
    void* address_;
};

class BpfVitalsReader final : public VitalsReader {
public:
    BpfVitalsReader(BpfObject object, int program, SharedArea area)
        : object_(std::move(object)), program_(program), area_(std::move(area)) {
        findTables();
    }

    Result<fl_vitals> read() override {
        // Not in the run that met the new function: that one's reading puts everything on hold first.
        if (std::exchange(newFunctions_, false) && symbols_.noticeModules()) findTables();
        FASTLET_TRY(reading, run());
        noteFunctions(reading);
        return reading;
    }

private:
    Result<fl_vitals> run() {
        auto& area = area_.get();
        std::memset(&area.reading, 0, sizeof(area.reading));
        std::atomic_signal_fence(std::memory_order_seq_cst);
        LIBBPF_OPTS(bpf_test_run_opts, options);
        if (const int rc = bpf_prog_test_run_opts(program_, &options))
            return Error::fromErrno("cannot run the program that reads the kernel's state", -rc,
                                    rc == -EPERM ? "needs CAP_BPF and CAP_PERFMON" : "");
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (!area.reading.jiffies)
            return Error::make("the kernel's state cannot be read: the types of this kernel do not lead to its network namespace",
                               "please report the kernel's version");
        return area.reading;
    }

    void findTables() {
        const auto addresses = symbols_.addresses(legacyTableFunctions());
        for (std::size_t i = 0; i < FL_TABLE_FUNCTIONS; ++i)
            area_.get().table_functions[i] = i < addresses.size() ? addresses[i] : 0;
    }

    void noteFunctions(const fl_vitals& reading) {
        for (const auto& family : reading.nf)
            for (const auto& point : family)
                for (std::uint32_t i = 0; i < std::min<std::uint32_t>(point.count, FL_NF_MAX_HOOKS); ++i)
                    newFunctions_ |= functions_.insert(point.hooks[i].function).second;
    }

    BpfObject object_;
    int program_;
    SharedArea area_;
    KernelSymbols symbols_;
    std::set<std::uint64_t> functions_;  ///< ever seen
    bool newFunctions_ = false;
};

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

Result<std::unique_ptr<VitalsReader>> openVitalsReader() {
    const LibbpfMessages silence;
    const ObjectBytes bytes = vitalsObject();
    BpfObject object(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
    if (!object) return Error::fromErrno("cannot read the built-in BPF object", errno);
    bpf_program* program = bpf_object__next_program(object.get(), nullptr);
    if (!program) return Error::make("the built-in BPF object has no program");
    FASTLET_CHECK(load(object.get(), program));
    const int map = bpf_object__find_map_fd_by_name(object.get(), kMapName);
    SharedArea area(::mmap(nullptr, SharedArea::bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0));
    if (!area.valid()) return Error::fromErrno("cannot map the memory of the program that reads the kernel's state", errno);
    auto reader = std::make_unique<BpfVitalsReader>(std::move(object), bpf_program__fd(program), std::move(area));
    FASTLET_CHECK(reader->read());
    return std::unique_ptr<VitalsReader>(std::move(reader));
}

}  // namespace fastlet::linuxfp
