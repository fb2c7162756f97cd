// SPDX-License-Identifier: Apache-2.0
// A BPF program that reads the kernel's own memory, run in the calling thread's network namespace by BPF_PROG_TEST_RUN and
// attached nowhere. It answers in memory that it shares with the daemon.
#pragma once

#include <cstddef>

#include "linuxfp/deploy/program_store.hpp"
#include "linuxfp/synth/objects.hpp"

namespace fastlet::linuxfp {

class KernelReader {
public:
    /// Loads the object's one program and maps the one value, of `bytes`, of its array map. Error: no BTF, no privilege, verifier
    /// refusal.
    [[nodiscard]] static Result<KernelReader> open(ObjectBytes object, const char* map, std::size_t bytes);
    KernelReader(KernelReader&& other) noexcept;
    KernelReader& operator=(KernelReader&&) = delete;
    KernelReader(const KernelReader&) = delete;
    KernelReader& operator=(const KernelReader&) = delete;
    ~KernelReader();

    /// What the program writes in run() is there when it returns.
    [[nodiscard]] void* area() const { return area_; }
    Status run();

private:
    KernelReader(BpfObject object, int program, void* area, std::size_t bytes)
        : object_(std::move(object)), program_(program), area_(area), bytes_(bytes) {}

    BpfObject object_;
    int program_;
    void* area_;
    std::size_t bytes_;
};

}  // namespace fastlet::linuxfp
