// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/tc_hook.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/ports/netlink.hpp"
#include "linuxfp/deploy/program_store.hpp"
#include "linuxfp/introspect/hook_inspector.hpp"

namespace fastlet::linuxfp {
namespace {

long bpfCall(int command, bpf_attr& attributes) { return ::syscall(SYS_bpf, command, &attributes, sizeof(attributes)); }

// The loopback interface exists in every network namespace: can the kernel answer for its TCX programs?
bool kernelHasTcx() {
    bpf_attr attributes{};
    attributes.query.target_fd = 1;
    attributes.query.attach_type = kTcxIngress;
    return bpfCall(BPF_PROG_QUERY, attributes) == 0 || errno == ENOENT;
}

// A link outlives its interface, but then names none.
bool alive(const Fd& link, std::uint32_t ifindex) {
    bpf_link_info info{};
    __u32 size = sizeof(info);
    if (bpf_obj_get_info_by_fd(link.get(), &info, &size)) return false;
    return info.xdp.ifindex == ifindex;  // the place of tcx.ifindex in newer headers
}

bpf_tc_hook ingressHook(std::uint32_t ifindex, bpf_tc_attach_point point = BPF_TC_INGRESS) {
    bpf_tc_hook hook{};
    hook.sz = sizeof(hook);
    hook.ifindex = static_cast<int>(ifindex);
    hook.attach_point = point;
    return hook;
}

bpf_tc_opts ourFilter() {
    bpf_tc_opts options{};
    options.sz = sizeof(options);
    options.handle = kFilterHandle;
    options.priority = kFilterPriority;
    return options;
}

// True when any filter is left on either side of clsact. Doubt (an error) counts as yes.
bool clsactInUse(std::uint32_t ifindex) {
    auto netlink = openNetlink();
    if (!netlink) return true;
    bool used = false;
    for (const std::uint32_t parent : {TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)}) {
        tcmsg message{};
        message.tcm_family = AF_UNSPEC;
        message.tcm_ifindex = static_cast<int>(ifindex);
        message.tcm_parent = parent;
        NetlinkRequest request{NetlinkProtocol::route, RTM_GETTFILTER, 0, Bytes(sizeof(message))};
        std::memcpy(request.payload.data(), &message, sizeof(message));
        if (!(*netlink)->dump(request, [&](const nlmsghdr&) { used = true; })) return true;
    }
    return used;
}

}  // namespace

AttachedProgram clsactProgram(std::uint32_t ifindex) {
    const LibbpfMessages silence;
    const bpf_tc_hook hook = ingressHook(ifindex);
    bpf_tc_opts options = ourFilter();
    if (bpf_tc_query(&hook, &options)) return {};
    auto program = realHookInspector()->program(options.prog_id);
    return program ? *program : AttachedProgram{options.prog_id, "unknown", false};
}

Status removeClsact(std::uint32_t ifindex, bool ownQdisc) {
    if (clsactProgram(ifindex).ours) {
        const LibbpfMessages messages;
        const bpf_tc_hook hook = ingressHook(ifindex);
        bpf_tc_opts options = ourFilter();
        const int rc = bpf_tc_detach(&hook, &options);
        if (rc && rc != -ENOENT && rc != -ENODEV && rc != -EINVAL)
            return Error::fromErrno(fmt::format("cannot remove the tc filter of interface {}", ifindex), -rc);
    }
    if (!ownQdisc || clsactInUse(ifindex)) return {};
    const LibbpfMessages messages;
    bpf_tc_hook hook = ingressHook(ifindex, static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS));
    const int rc = bpf_tc_hook_destroy(&hook);
    if (rc && rc != -ENOENT && rc != -ENODEV && rc != -EINVAL)
        return Error::fromErrno(fmt::format("cannot remove the clsact qdisc of interface {}", ifindex), -rc);
    return {};
}

TcHook::TcHook(bool useTcx, Ledger* ledger) : useTcx_(useTcx && kernelHasTcx()), ledger_(ledger) {}

Status TcHook::attach(std::uint32_t ifindex, const LoadedProgram& program) {
    return useTcx_ ? attachTcx(ifindex, program) : attachClsact(ifindex, program);
}

Status TcHook::attachTcx(std::uint32_t ifindex, const LoadedProgram& program) {
    if (const auto found = links_.find(ifindex); found != links_.end()) {
        bpf_attr update{};
        update.link_update.link_fd = static_cast<__u32>(found->second.get());
        update.link_update.new_prog_fd = static_cast<__u32>(program.fd);
        if (alive(found->second, ifindex) && bpfCall(BPF_LINK_UPDATE, update) == 0) return {};
        links_.erase(found);  // its interface is gone; another one has the index now
    }
    bpf_attr create{};
    create.link_create.prog_fd = static_cast<__u32>(program.fd);
    create.link_create.target_ifindex = ifindex;
    create.link_create.attach_type = kTcxIngress;
    Fd link(static_cast<int>(bpfCall(BPF_LINK_CREATE, create)));
    if (!link.valid()) return Error::fromErrno(fmt::format("cannot attach to tc ingress of interface {}", ifindex), errno);
    links_[ifindex] = std::move(link);
    return {};
}

Status TcHook::attachClsact(std::uint32_t ifindex, const LoadedProgram& program) {
    const AttachedProgram present = clsactProgram(ifindex);
    if (present.id == program.id) return {};
    if (present.id && !present.ours)
        return Error::make(fmt::format("interface {} has a foreign tc filter in our place: {}", ifindex, present.name), {},
                           EEXIST);
    const LibbpfMessages messages;
    bpf_tc_hook hook = ingressHook(ifindex);
    // Recorded before it is made, so that a crash between the two leaves nothing unknown; taken back if it was there already.
    const bool known = ledger_ && ledger_->has("clsact", ifindex);
    if (ledger_ && !known) FASTLET_CHECK(ledger_->add({"clsact", ifindex, {}}));
    const int created = bpf_tc_hook_create(&hook);
    if (created && ledger_ && !known) FASTLET_CHECK(ledger_->remove("clsact", ifindex));
    if (created && created != -EEXIST)
        return Error::fromErrno(fmt::format("cannot create a clsact qdisc on interface {}", ifindex), -created);
    bpf_tc_opts options = ourFilter();
    options.prog_fd = program.fd;
    options.flags = present.id ? BPF_TC_F_REPLACE : 0;
    if (const int rc = bpf_tc_attach(&hook, &options))
        return Error::fromErrno(fmt::format("cannot attach to tc ingress of interface {}", ifindex), -rc,
                                messages.kernelMessage());
    return {};
}

Status TcHook::detach(std::uint32_t ifindex) {
    links_.erase(ifindex);  // closing the link detaches
    if (useTcx_) return {};
    const bool own = ledger_ && ledger_->has("clsact", ifindex);
    FASTLET_CHECK(removeClsact(ifindex, own));
    return own ? ledger_->remove("clsact", ifindex) : Status{};
}

}  // namespace fastlet::linuxfp
