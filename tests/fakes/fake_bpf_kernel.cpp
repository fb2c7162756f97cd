// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_bpf_kernel.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace fastlet::linuxfp::fake {

Status FakeBpfKernel::called(const std::string& call) {
    calls.push_back(call);
    return refuse(call);
}

Result<LoadedProgram> FakeBpfKernel::load(Hook hook, const fl_shape& shape) {
    FASTLET_CHECK(called(fmt::format("load {}", toString(hook))));
    const std::string key = toString(hook) + std::string(reinterpret_cast<const char*>(&shape), sizeof(shape));
    const auto number = static_cast<std::uint32_t>(100 + programs_.size());
    return programs_.try_emplace(key, LoadedProgram{static_cast<int>(number), number}).first->second;
}

Status FakeBpfKernel::attachXdp(std::uint32_t ifindex, const LoadedProgram& program) {
    FASTLET_CHECK(called(fmt::format("attach xdp {}", ifindex)));
    if (foreignXdp.contains(ifindex)) return Error::make("a foreign program is there", {}, EEXIST);
    xdp[ifindex] = program.id;
    return {};
}

Status FakeBpfKernel::detachXdp(std::uint32_t ifindex) {
    FASTLET_CHECK(called(fmt::format("detach xdp {}", ifindex)));
    xdp.erase(ifindex);
    return {};
}

Status FakeBpfKernel::attachTc(std::uint32_t ifindex, const LoadedProgram& program) {
    FASTLET_CHECK(called(fmt::format("attach tc {}", ifindex)));
    tc[ifindex] = program.id;
    return {};
}

Status FakeBpfKernel::detachTc(std::uint32_t ifindex) {
    FASTLET_CHECK(called(fmt::format("detach tc {}", ifindex)));
    tc.erase(ifindex);
    return {};
}

Status FakeBpfKernel::setRedirectTarget(std::uint32_t ifindex, bool on) {
    FASTLET_CHECK(called(fmt::format("target {} {}", ifindex, on ? "on" : "off")));
    if (on)
        targets.insert(ifindex);
    else
        targets.erase(ifindex);
    return {};
}

Status FakeBpfKernel::setLocalAddresses(const std::vector<std::uint32_t>& addresses) {
    FASTLET_CHECK(called("addresses"));
    localAddresses = addresses;
    return {};
}

}  // namespace fastlet::linuxfp::fake
