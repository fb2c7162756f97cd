// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/program_store.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "linuxfp/synth/objects.hpp"

namespace fastlet::linuxfp {
namespace {

thread_local std::string* capturedText = nullptr;  // NOLINT: libbpf's callback carries no context of ours

int capture(libbpf_print_level, const char* format, va_list arguments) {
    if (!capturedText || capturedText->size() > 65536) return 0;
    std::array<char, 1024> line{};
    const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
    if (length > 0) capturedText->append(line.data(), std::min<std::size_t>(static_cast<std::size_t>(length), line.size() - 1));
    return length;
}

std::string shapeKey(const fl_shape& shape) { return {reinterpret_cast<const char*>(&shape), sizeof(shape)}; }

std::string privilegeHint(int code) {
    if (code == EPERM || code == EACCES) return "needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON (or root); see `fastctl doctor`";
    if (code == ENOMEM) return "the kernel could not allocate the maps; kernels before 5.11 count them against RLIMIT_MEMLOCK";
    return "`fastctl doctor` checks what this kernel can do";
}

}  // namespace

std::string decisiveLine(const std::string& verifierLog) {
    std::string last;
    for (std::size_t begin = 0; begin < verifierLog.size();) {
        std::size_t end = verifierLog.find('\n', begin);
        if (end == std::string::npos) end = verifierLog.size();
        const std::string line = verifierLog.substr(begin, end - begin);
        const bool statistics = line.starts_with("processed ") || line.starts_with("verification time") ||
                                line.starts_with("stack depth") || line.starts_with("--");
        if (!line.empty() && !statistics) last = line;
        begin = end + 1;
    }
    return last;
}

LibbpfMessages::LibbpfMessages() {
    libbpf_set_print(capture);
    capturedText = new std::string;  // NOLINT: owned by this object, deleted below
}

LibbpfMessages::~LibbpfMessages() {
    delete capturedText;  // NOLINT
    capturedText = nullptr;
}

std::string LibbpfMessages::kernelMessage() const {
    constexpr std::string_view kPrefix = "Kernel error message: ";
    const std::size_t at = capturedText->rfind(kPrefix);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + kPrefix.size();
    return capturedText->substr(begin, capturedText->find('\n', begin) - begin);
}

Result<std::unique_ptr<ProgramStore>> ProgramStore::open() {
    auto store = std::unique_ptr<ProgramStore>(new ProgramStore);
    FASTLET_CHECK(store->createMaps());
    FASTLET_TRY(control, store->mapMemory("fl_control_map", sizeof(fl_control)));
    FASTLET_TRY(ports, store->mapMemory("fl_port_map", sizeof(fl_port) * FL_PORTS));
    FASTLET_TRY(local, store->mapMemory("fl_local_map", sizeof(fl_local_filter)));
    store->shared_ = {static_cast<fl_control*>(control), static_cast<fl_port*>(ports), static_cast<fl_local_filter*>(local)};
    return store;
}

ProgramStore::~ProgramStore() {
    for (const auto& mapping : mappings_) ::munmap(mapping.address, mapping.bytes);
}

int ProgramStore::mapFd(const std::string& name) const {
    const auto found = maps_.find(name);
    return found == maps_.end() ? -1 : found->second.get();
}

Result<BpfObject> ProgramStore::openObject(Hook hook) {
    const ObjectBytes bytes = hook == Hook::xdp ? forwardXdpObject() : forwardTcObject();
    BpfObject object(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
    if (!object) return Error::fromErrno("cannot read the built-in BPF object", errno);
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object.get()) {
        const auto known = maps_.find(bpf_map__name(map));
        if (bpf_map__is_internal(map) || known == maps_.end()) continue;
        if (const int rc = bpf_map__reuse_fd(map, known->second.get()))
            return Error::fromErrno(fmt::format("cannot share BPF map {}", known->first), -rc);
    }
    return object;
}

// The maps of the XDP object are those of both: it is loaded once without its program, and its maps are kept.
Status ProgramStore::createMaps() {
    const LibbpfMessages silence;
    for (const Hook hook : {Hook::xdp, Hook::tc}) {
        FASTLET_TRY(object, openObject(hook));
        bpf_program* program = nullptr;
        bpf_object__for_each_program(program, object.get()) bpf_program__set_autoload(program, false);
        if (const int rc = bpf_object__load(object.get()))
            return Error::fromErrno("cannot create the BPF maps", -rc, privilegeHint(-rc));
        bpf_map* map = nullptr;
        bpf_object__for_each_map(map, object.get()) {
            if (bpf_map__is_internal(map) || maps_.contains(bpf_map__name(map))) continue;
            Fd fd(::fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3));
            if (!fd.valid()) return Error::fromErrno("cannot keep a BPF map", errno);
            maps_.emplace(bpf_map__name(map), std::move(fd));
        }
    }
    return {};
}

Result<void*> ProgramStore::mapMemory(const std::string& name, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t rounded = (bytes + page - 1) / page * page;
    void* address = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, mapFd(name), 0);
    if (address == MAP_FAILED) return Error::fromErrno(fmt::format("cannot map the memory of BPF map {}", name), errno);
    mappings_.push_back({address, rounded});
    return address;
}

Result<LoadedProgram> ProgramStore::load(Hook hook, const fl_shape& shape) {
    const auto key = std::make_pair(hook, shapeKey(shape));
    if (const auto found = programs_.find(key); found != programs_.end()) return found->second.second;

    const LibbpfMessages silence;
    FASTLET_TRY(object, openObject(hook));
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object.get()) {
        if (!std::strstr(bpf_map__name(map), ".rodata")) continue;
        std::size_t size = 0;
        const void* current = bpf_map__initial_value(map, &size);
        if (!current || size < sizeof(shape)) return Error::make("the built-in BPF object has no shape constants");
        std::string constants(static_cast<const char*>(current), size);
        std::memcpy(constants.data(), &shape, sizeof(shape));
        bpf_map__set_initial_value(map, constants.data(), constants.size());
    }
    bpf_program* program = bpf_object__next_program(object.get(), nullptr);
    if (!program) return Error::make("the built-in BPF object has no program");
    std::string log(256UL * 1024, '\0');
    bpf_program__set_log_buf(program, log.data(), log.size());
    bpf_program__set_log_level(program, 1);
    if (const int rc = bpf_object__load(object.get())) {
        const std::string line = decisiveLine(log.c_str());
        return Error::make(
            fmt::format("the kernel refused the {} program: {}", toString(hook), line.empty() ? std::strerror(-rc) : line),
            privilegeHint(-rc), -rc);
    }
    bpf_program__set_log_buf(program, nullptr, 0);
    bpf_prog_info info{};
    __u32 size = sizeof(info);
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
        return Error::fromErrno("cannot describe the loaded program", errno);
    const LoadedProgram loaded{bpf_program__fd(program), info.id};
    programs_.emplace(key, std::make_pair(std::move(object), loaded));
    return loaded;
}

const LoadedProgram* ProgramStore::byId(std::uint32_t id) const {
    for (const auto& [key, entry] : programs_)
        if (entry.second.id == id) return &entry.second;
    return nullptr;
}

}  // namespace fastlet::linuxfp
