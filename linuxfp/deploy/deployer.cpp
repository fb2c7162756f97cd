// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/deployer.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "core/log.hpp"

namespace fastlet::linuxfp {
namespace {

constexpr int kAttachmentsPerCall = 12;  // 12 ms each, measured

// The programs read while this is written: one store per word, and never the whole structure (the sentinel writes `hold`).
void store(std::uint32_t& word, std::uint32_t value) { std::atomic_ref(word).store(value, std::memory_order_seq_cst); }

std::uint32_t slotOf(std::uint32_t ifindex) { return ifindex & (FL_PORTS - 1); }

std::uint32_t flagsOf(const InterfacePlan& interface) {
    return (interface.hook != Hook::none ? FL_PORT_INGRESS : 0U) | (interface.egressXdp ? FL_PORT_EGRESS_XDP : 0U) |
           (interface.egressTc ? FL_PORT_EGRESS_TC : 0U);
}

// An older program may still be there; without this flag it leaves everything to Linux.
std::uint32_t closed(const InterfacePlan& interface) { return flagsOf(interface) & ~FL_PORT_INGRESS; }

void writeMac(fl_port& port, const MacAddress& mac) {
    for (std::size_t i = 0; i < mac.bytes.size(); ++i) std::atomic_ref(port.mac[i]).store(mac.bytes[i]);
}

// The interface has gone, or somebody else's program has come: an event tells, and the next plan knows better.
bool passes(int code) { return code == ENODEV || code == ENXIO || code == EEXIST; }

const char* ledgerKind(Hook hook) { return hook == Hook::xdp ? "xdp" : "tc"; }

void keepFirst(Status& first, Status next) {
    if (first && !next) first = std::move(next);
}

}  // namespace

Result<DeployOutcome> Deployer::apply(const FastPathPlan& plan) {
    DeployOutcome outcome;
    const Programs programs = loadAll(plan, outcome);
    FASTLET_CHECK(kernel_.setLocalAddresses(plan.local4));
    FASTLET_CHECK(closeTargets(plan));
    FASTLET_CHECK(writePorts(plan, programs));
    int attachments = 0;
    for (const auto& interface : plan.interfaces) {
        const auto program = programs.find(interface.ifindex);
        if (program == programs.end()) continue;
        if (!isPlaced(interface, program->second) && ++attachments > kAttachmentsPerCall)
            outcome.pending = true;
        else
            FASTLET_CHECK(place(interface, program->second, outcome));
    }
    FASTLET_CHECK(detachUnwanted(plan, programs));
    openTargets(plan);
    return outcome;
}

Status Deployer::place(const InterfacePlan& interface, const LoadedProgram& program, DeployOutcome& outcome) {
    FASTLET_CHECK(ledger_.add({ledgerKind(interface.hook), interface.ifindex, interface.name}));
    const auto attached = attach(interface, program);
    auto& flags = kernel_.shared().ports[slotOf(interface.ifindex)].flags;
    store(flags, attached ? flagsOf(interface) : closed(interface));
    if (attached)
        outcome.attached.insert(interface.ifindex);
    else if (!passes(attached.error().code))
        outcome.refusals[{interface.ifindex, interface.hook}] = attached.error().message;
    return {};
}

bool Deployer::isPlaced(const InterfacePlan& interface, const LoadedProgram& program) const {
    const auto placed = placed_.find(interface.ifindex);
    return placed != placed_.end() && placed->second.hook == interface.hook && placed->second.program == program.id;
}

Deployer::Programs Deployer::loadAll(const FastPathPlan& plan, DeployOutcome& outcome) {
    Programs programs;
    for (const auto& interface : plan.interfaces) {
        if (interface.hook == Hook::none) continue;
        if (auto loaded = kernel_.load(interface.hook, interface.shape))
            programs[interface.ifindex] = *loaded;
        else
            outcome.refusals[{interface.ifindex, interface.hook}] = loaded.error().message;
    }
    return programs;
}

// Slots of interfaces that the plan no longer has are emptied first: another interface may need them.
Status Deployer::writePorts(const FastPathPlan& plan, const Programs& programs) {
    std::set<std::uint32_t> wanted;
    for (const auto& interface : plan.interfaces)
        if (flagsOf(interface)) wanted.insert(interface.ifindex);
    const SharedMemory shared = kernel_.shared();
    for (std::uint32_t slot = 0; slot < FL_PORTS; ++slot) {
        auto& port = shared.ports[slot];
        if (!port.ifindex || wanted.contains(port.ifindex)) continue;
        store(port.hold, 1);
        store(port.flags, 0);
        store(port.ifindex, 0);
    }
    for (const auto& interface : plan.interfaces) {
        if (!flagsOf(interface)) continue;
        const auto program = programs.find(interface.ifindex);
        const bool open = program != programs.end() && isPlaced(interface, program->second);
        FASTLET_CHECK(writePort(interface, open ? flagsOf(interface) : closed(interface)));
    }
    return {};
}

Status Deployer::writePort(const InterfacePlan& interface, std::uint32_t flags) {
    auto& port = kernel_.shared().ports[slotOf(interface.ifindex)];
    if (port.ifindex != interface.ifindex) {
        store(port.hold, 1);
        store(port.flags, 0);
        FASTLET_CHECK(kernel_.clearStats(slotOf(interface.ifindex)));
        store(port.ifindex, interface.ifindex);
    }
    writeMac(port, interface.mac);
    store(port.flags, flags);
    return {};
}

Status Deployer::attach(const InterfacePlan& interface, const LoadedProgram& program) {
    FASTLET_CHECK(interface.hook == Hook::xdp ? kernel_.attachXdp(interface.ifindex, program)
                                              : kernel_.attachTc(interface.ifindex, program));
    auto& placed = placed_[interface.ifindex];
    if (placed.hook != Hook::none && placed.hook != interface.hook) FASTLET_CHECK(detach(interface.ifindex, placed.hook));
    placed = {interface.hook, program.id};
    return {};
}

Status Deployer::detach(std::uint32_t ifindex, Hook hook) {
    FASTLET_CHECK(hook == Hook::xdp ? kernel_.detachXdp(ifindex) : kernel_.detachTc(ifindex));
    return ledger_.remove(ledgerKind(hook), ifindex);
}

Status Deployer::detachUnwanted(const FastPathPlan& plan, const Programs& programs) {
    std::set<std::uint32_t> wanted;
    for (const auto& interface : plan.interfaces)
        if (programs.contains(interface.ifindex)) wanted.insert(interface.ifindex);
    for (auto it = placed_.begin(); it != placed_.end();) {
        if (wanted.contains(it->first)) {
            ++it;
            continue;
        }
        FASTLET_CHECK(detach(it->first, it->second.hook));
        it = placed_.erase(it);
    }
    return {};
}

Status Deployer::closeTargets(const FastPathPlan& plan) {
    std::set<std::uint32_t> wanted;
    for (const auto& interface : plan.interfaces)
        if (interface.egressXdp) wanted.insert(interface.ifindex);
    for (auto it = targets_.begin(); it != targets_.end();) {
        if (wanted.contains(*it)) {
            ++it;
            continue;
        }
        FASTLET_CHECK(kernel_.setRedirectTarget(*it, false));
        it = targets_.erase(it);
    }
    return {};
}

void Deployer::openTargets(const FastPathPlan& plan) {
    for (const auto& interface : plan.interfaces) {
        if (!interface.egressXdp) continue;
        if (auto opened = kernel_.setRedirectTarget(interface.ifindex, true); opened) {
            targets_.insert(interface.ifindex);
            continue;
        } else {
            log::report(log::Level::warning, opened.error());
        }
        auto& port = kernel_.shared().ports[slotOf(interface.ifindex)];
        store(port.flags, port.flags & ~FL_PORT_EGRESS_XDP);
    }
}

Status Deployer::detachAll() {
    Status first;
    const SharedMemory shared = kernel_.shared();
    for (std::uint32_t slot = 0; slot < FL_PORTS; ++slot) store(shared.ports[slot].flags, 0);
    for (const auto& [ifindex, placed] : placed_) keepFirst(first, detach(ifindex, placed.hook));
    placed_.clear();
    for (const std::uint32_t ifindex : targets_) keepFirst(first, kernel_.setRedirectTarget(ifindex, false));
    targets_.clear();
    return first;
}

}  // namespace fastlet::linuxfp
