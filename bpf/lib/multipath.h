/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lookup helper must choose the next hop that Linux would (fib_multipath_hash, rt6_multipath_hash). The helper has no packet: it
 * hashes what it is told. Linux hashes what it finds in the packet, so whatever it reads beyond the addresses is told, and a packet
 * whose hash cannot be foretold is Linux's:
 * - policy 0: the addresses, for IPv6 the next header and flow label too; of an ICMP error those of the packet inside;
 * - policy 1: addresses, protocol and ports; but a hash over ports that the packet brings along (from its NIC or its local sender's
 *   socket) is taken as it is. tc sees that hash. XDP cannot know which one Linux will find, so under policy 1 all is Linux's there.
 *
 * Before inclusion: FL_LOAD_BYTES(ctx, offset, to, length), FL_BRINGS_HASH(ctx).
 */
#ifndef FASTLET_BPF_MULTIPATH_H
#define FASTLET_BPF_MULTIPATH_H

#include "bpf/lib/checks4.h"
#include "bpf/lib/checks6.h"

#define FL_HASH_ADDRESSES 1 /* values of fl_shape.multipath4 and multipath6 */

/* icmp_is_err: unreachable, source quench, redirect, time exceeded, parameter problem */
static __always_inline int is_icmp_error(__u8 type)
{
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

static __always_inline enum fl_reason check_icmp(void *ctx, __u32 l4, int v6)
{
	__u8 type;

	if (FL_LOAD_BYTES(ctx, l4, &type, 1))
		return FL_REASON_MULTIPATH;
	return (v6 ? type < 128 : is_icmp_error(type)) ? FL_REASON_MULTIPATH : FL_REASON_UNSPEC;
}

static __always_inline enum fl_reason tell_ports(void *ctx, struct bpf_fib_lookup *fib, __u8 protocol, __u32 l4)
{
	__be16 ports[2];

	if (FL_BRINGS_HASH(ctx))
		return FL_REASON_MULTIPATH;
	fib->l4_protocol = protocol;
	if (protocol == (fib->family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return check_icmp(ctx, l4, fib->family == AF_INET6);
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) /* the flow dissector looks into many others */
		return FL_REASON_MULTIPATH;
	if (FL_LOAD_BYTES(ctx, l4, ports, sizeof(ports)))
		return FL_REASON_MULTIPATH;
	fib->sport = ports[0];
	fib->dport = ports[1];
	return FL_REASON_UNSPEC;
}

/* Completes the question that ask4 has begun. */
static __always_inline enum fl_reason spread4(void *ctx, struct bpf_fib_lookup *fib, const struct iphdr *ip)
{
	const __u32 l4 = sizeof(struct ethhdr) + sizeof(*ip);
	__u8 protocol = ip->protocol;

	if (!shape.multipath4)
		return FL_REASON_UNSPEC;
	if (shape.multipath4 != FL_HASH_ADDRESSES)
		return is_fragment4(ip) ? FL_REASON_MULTIPATH : tell_ports(ctx, fib, protocol, l4);
	if (protocol != IPPROTO_ICMP || (ip->frag_off & bpf_htons(FL_IP_OFFSET)))
		return FL_REASON_UNSPEC;
	return check_icmp(ctx, l4, 0);
}

/* The same after ask6, which has told protocol and flow label already. */
static __always_inline enum fl_reason spread6(void *ctx, struct bpf_fib_lookup *fib, const struct ipv6hdr *ip)
{
	const __u32 l4 = sizeof(struct ethhdr) + sizeof(*ip);
	__u8 protocol = ip->nexthdr;

	if (!shape.multipath6)
		return FL_REASON_UNSPEC;
	if (shape.multipath6 != FL_HASH_ADDRESSES)
		return tell_ports(ctx, fib, protocol, l4);
	return protocol == IPPROTO_ICMPV6 ? check_icmp(ctx, l4, 1) : FL_REASON_UNSPEC;
}

#endif
