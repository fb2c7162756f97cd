// SPDX-License-Identifier: Apache-2.0
#include <linux/genetlink.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>

#include "core/ports/netlink_message.hpp"
#include "linuxfp/introspect/netdev_family.hpp"
#include "linuxfp/introspect/parsers.hpp"

namespace fastlet::linuxfp {
namespace {

void parseBpfOptions(ByteView bytes, TcFilter& filter) {
    NetlinkAttributeReader reader(bytes);
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == TCA_BPF_ID) filter.program = attribute.u32();
        if (attribute.type == TCA_BPF_NAME) filter.programName = attribute.text();
    }
}

}  // namespace

std::optional<Qdisc> parseQdisc(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    if (message.nlmsg_type != RTM_NEWQDISC || payload.size() < sizeof(tcmsg)) return std::nullopt;
    const auto header = readStruct<tcmsg>(payload);
    Qdisc qdisc{static_cast<std::uint32_t>(header.tcm_ifindex), header.tcm_handle, header.tcm_parent, {}};
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(tcmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute))
        if (attribute.type == TCA_KIND) qdisc.kind = attribute.text();
    if (reader.malformed() || qdisc.kind.empty()) return std::nullopt;
    return qdisc;
}

std::optional<TcFilter> parseFilter(const nlmsghdr& message) {
    const auto payload = netlinkPayload(message);
    if (message.nlmsg_type != RTM_NEWTFILTER || payload.size() < sizeof(tcmsg)) return std::nullopt;
    TcFilter filter;
    filter.handle = readStruct<tcmsg>(payload).tcm_handle;
    ByteView options;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(tcmsg)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == TCA_KIND) filter.kind = attribute.text();
        if (attribute.type == TCA_OPTIONS) options = attribute.value;
    }
    if (reader.malformed() || filter.kind.empty()) return std::nullopt;
    if (filter.kind == "bpf") parseBpfOptions(options, filter);
    return filter;
}

std::optional<std::pair<std::uint32_t, std::uint64_t>> parseXdpFeatures(const nlmsghdr& message) {
    std::uint32_t ifindex = 0;
    std::optional<std::uint64_t> features;
    NetlinkAttributeReader reader(netlinkAttributes(message, sizeof(genlmsghdr)));
    NetlinkAttribute attribute;
    while (reader.next(attribute)) {
        if (attribute.type == kNetdevIfindex) ifindex = attribute.u32();
        if (attribute.type == kNetdevXdpFeatures) features = attribute.u64();
    }
    if (reader.malformed() || !ifindex || !features) return std::nullopt;
    return std::pair{ifindex, *features};
}

}  // namespace fastlet::linuxfp
