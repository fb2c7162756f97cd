/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Why the fast path left a packet to Linux. Once for both sides: FL_REASON(identifier, "name for JSON and labels", "sentence").
 * Append only; the number is an index into fl_port_stats.slow.
 */
#ifndef FASTLET_ABI_REASONS_H
#define FASTLET_ABI_REASONS_H

#define FL_REASONS(FL_REASON)                                                                              \
	FL_REASON(UNSPEC, "unspecified", "no reason recorded")                                             \
	FL_REASON(NOT_IP, "not-ip", "not IPv4 or IPv6 (ARP, VLAN-tagged, LLDP, ...)")                      \
	FL_REASON(NOT_OURS, "not-to-us", "the frame is not addressed to this interface's MAC")             \
	FL_REASON(TRUNCATED, "truncated", "shorter than its headers say")                                  \
	FL_REASON(IP_HEADER, "ip-header", "version, header length or total length is not plain")           \
	FL_REASON(IP_OPTIONS, "ip-options", "IPv4 options")                                                \
	FL_REASON(IP_CHECKSUM, "ip-checksum", "IPv4 header checksum is wrong")                             \
	FL_REASON(EXT_HEADER, "ext-header", "IPv6 extension header")                                       \
	FL_REASON(TTL, "ttl", "TTL or hop limit is used up")                                               \
	FL_REASON(SOURCE, "source-address", "source is special, martian or one of our own addresses")      \
	FL_REASON(DESTINATION, "destination-address", "destination is special (multicast, link-local, loopback, ...)") \
	FL_REASON(REVERSE_PATH, "reverse-path", "the source did not pass the reverse path check on the fast path") \
	FL_REASON(NO_FORWARD, "no-forward", "no forwarding route: local, broadcast, none or forwarding is off") \
	FL_REASON(ROUTE_REJECT, "route-reject", "blackhole, unreachable or prohibit route")                \
	FL_REASON(NO_NEIGHBOUR, "no-neighbour", "next hop is not resolved")                                \
	FL_REASON(TOO_BIG, "too-big", "larger than the MTU on its way")                                    \
	FL_REASON(LWTUNNEL, "encap-route", "the route encapsulates")                                       \
	FL_REASON(SAME_INTERFACE, "same-interface", "would leave where it came in (Linux may send a redirect)") \
	FL_REASON(EGRESS, "egress", "the egress interface is not open to this fast path")                  \
	FL_REASON(MULTIPATH, "multipath", "the next hop of this packet among several can only be chosen by Linux") \
	FL_REASON(OFFLOAD, "offload", "its checksum or segmentation is still to be done")                  \
	FL_REASON(TRAILER, "trailer", "bytes beyond the IP length that this hook does not trim")           \
	FL_REASON(MARK, "mark", "carries a firewall mark")                                                 \
	FL_REASON(LIVENESS, "liveness", "sampled: Linux sees one packet per next hop and second, to keep the neighbour alive") \
	FL_REASON(FAMILY_OFF, "family-off", "this address family is left to Linux on this interface")      \
	FL_REASON(TUNNEL_PORT, "tunnel-port", "UDP port of a tunnel whose inner checksum may be unfinished") \
	FL_REASON(HELPER, "lookup-failed", "the kernel's lookup helper refused the question")

#define FL_REASON_ENUM(id, name, text) FL_REASON_##id,
enum fl_reason { FL_REASONS(FL_REASON_ENUM) FL_REASON_COUNT };
#undef FL_REASON_ENUM

#endif
