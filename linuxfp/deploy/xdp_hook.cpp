// SPDX-License-Identifier: Apache-2.0
#include "linuxfp/deploy/xdp_hook.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <optional>

#include "core/fd.hpp"
#include "core/ports/netlink_message.hpp"
#include "linuxfp/deploy/program_store.hpp"
#include "linuxfp/introspect/hook_inspector.hpp"
#include "linuxfp/introspect/parsers.hpp"

namespace fastlet::linuxfp {
namespace {

Error attachError(std::uint32_t ifindex, int code, const std::string& kernelSays) {
    const std::string what = fmt::format("cannot attach XDP to interface {}", ifindex);
    if (!kernelSays.empty()) return Error::make(fmt::format("{}: {}", what, kernelSays), {}, code);
    if (code == EOPNOTSUPP) return Error::make(what + ": the driver has no native XDP", {}, code);
    return Error::fromErrno(what, code);
}

Error foreignError(std::uint32_t ifindex, const XdpOccupant& occupant) {
    const std::string who =
        occupant.other ? "in generic or offloaded mode" : fmt::format("{} (id {})", occupant.native.name, occupant.native.id);
    return Error::make(fmt::format("interface {} has an XDP program that is not ours: {}", ifindex, who), {}, EEXIST);
}

Status replace(std::uint32_t ifindex, std::uint32_t expectedId, int newFd) {
    const Fd old(bpf_prog_get_fd_by_id(expectedId));
    if (!old.valid()) return Error::fromErrno(fmt::format("cannot open XDP program {}", expectedId), errno);
    LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = old.get());
    const LibbpfMessages messages;
    const int rc = bpf_xdp_attach(static_cast<int>(ifindex), newFd, XDP_FLAGS_DRV_MODE | XDP_FLAGS_REPLACE, &options);
    if (rc) return attachError(ifindex, -rc, messages.kernelMessage());
    return {};
}

// What the answer to RTM_GETLINK says of XDP; libbpf would dump all links to find this one.
std::optional<XdpPrograms> programsOf(const Bytes& answer) {
    NetlinkAttributeReader reader(netlinkAttributes(*reinterpret_cast<const nlmsghdr*>(answer.data()), sizeof(ifinfomsg)));
    for (NetlinkAttribute attribute; reader.next(attribute);)
        if (attribute.type == IFLA_XDP) return parseXdpPrograms(attribute.value);
    return XdpPrograms{};
}

}  // namespace

Result<XdpOccupant> xdpOccupant(std::uint32_t ifindex) {
    FASTLET_TRY(netlink, openNetlink());
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    const auto link = netlink->query({NetlinkProtocol::route, RTM_GETLINK, 0, NetlinkWriter(header).bytes()});
    if (!link && (link.error().code == ENODEV || link.error().code == ENXIO)) return XdpOccupant{};
    if (!link) return Error(link.error()).withContext(fmt::format("cannot ask for the XDP program of interface {}", ifindex));
    const auto programs = programsOf(*link);
    if (!programs) return Error::make(fmt::format("the kernel's answer about XDP on interface {} is malformed", ifindex));
    XdpOccupant occupant;
    occupant.other = programs->generic || programs->hardware;
    if (!programs->driver) return occupant;
    auto program = realHookInspector()->program(programs->driver);
    occupant.native = program ? *program : AttachedProgram{programs->driver, "unknown", false};
    return occupant;
}

Status attachXdpProgram(std::uint32_t ifindex, const LoadedProgram& program) {
    FASTLET_TRY(occupant, xdpOccupant(ifindex));
    if (occupant.other || (occupant.native.id && !occupant.native.ours)) return foreignError(ifindex, occupant);
    if (occupant.native.id == program.id) return {};
    if (occupant.native.id) return replace(ifindex, occupant.native.id, program.fd);
    const LibbpfMessages messages;
    const int rc =
        bpf_xdp_attach(static_cast<int>(ifindex), program.fd, XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST, nullptr);
    if (rc) return attachError(ifindex, -rc, messages.kernelMessage());
    return {};
}

Status detachXdpProgram(std::uint32_t ifindex) {
    FASTLET_TRY(occupant, xdpOccupant(ifindex));
    if (!occupant.native.ours) return {};
    auto removed = replace(ifindex, occupant.native.id, -1);
    // Between the question and the removal somebody else may have replaced it, or the interface is gone: not ours any more.
    if (!removed) {
        FASTLET_TRY(now, xdpOccupant(ifindex));
        if (now.native.ours) return removed;
    }
    return {};
}

}  // namespace fastlet::linuxfp
