// SPDX-License-Identifier: Apache-2.0
// Loads the forwarding programs: one set of maps for all of them, one program for each hook and shape.
#pragma once

#include <bpf/libbpf.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/fd.hpp"
#include "linuxfp/deploy/bpf_kernel.hpp"

namespace fastlet::linuxfp {

/// What libbpf printed in this thread while the object lived: the kernel's own words for a refusal. libbpf prints to nowhere
/// else.
class LibbpfMessages {
public:
    LibbpfMessages();
    ~LibbpfMessages();
    LibbpfMessages(const LibbpfMessages&) = delete;
    LibbpfMessages& operator=(const LibbpfMessages&) = delete;
    /// The last "Kernel error message: ..." (extended ACK), without its prefix; empty when there was none.
    [[nodiscard]] std::string kernelMessage() const;
};

/// The line in which the verifier says what it did not like: the last one before its statistics.
[[nodiscard]] std::string decisiveLine(const std::string& verifierLog);

struct BpfObjectCloser {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using BpfObject = std::unique_ptr<bpf_object, BpfObjectCloser>;

class ProgramStore {
public:
    [[nodiscard]] static Result<std::unique_ptr<ProgramStore>> open();
    ProgramStore(const ProgramStore&) = delete;
    ProgramStore& operator=(const ProgramStore&) = delete;
    ~ProgramStore();

    Result<LoadedProgram> load(Hook hook, const fl_shape& shape);
    /// Is the program with this id one that this store has loaded?
    [[nodiscard]] const LoadedProgram* byId(std::uint32_t id) const;
    [[nodiscard]] SharedMemory shared() const { return shared_; }
    /// -1 when there is no such map, which cannot be after open().
    [[nodiscard]] int mapFd(const std::string& name) const;

private:
    struct Mapping {
        void* address;
        std::size_t bytes;
    };

    ProgramStore() = default;
    Status createMaps();
    Result<BpfObject> openObject(Hook hook);
    Result<void*> mapMemory(const std::string& name, std::size_t bytes);

    std::map<std::string, Fd> maps_;
    std::vector<Mapping> mappings_;
    SharedMemory shared_;
    std::map<std::pair<Hook, std::string>, std::pair<BpfObject, LoadedProgram>> programs_;
};

}  // namespace fastlet::linuxfp
