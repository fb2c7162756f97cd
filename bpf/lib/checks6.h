/* SPDX-License-Identifier: GPL-2.0 */
/* What an IPv6 header must look like to be forwarded here: ip6_rcv_core and ip6_forward, without any lookup of a route. */
#ifndef FASTLET_BPF_CHECKS6_H
#define FASTLET_BPF_CHECKS6_H

#include "bpf/lib/maps.h"

#define FL_FLOWINFO_MASK 0x0fffffff /* traffic class and flow label in the first word */

/*
 * Linux walks hop-by-hop options and hands the rest of them to whoever reads beyond the first header; all of them are left to it.
 * ESP is no header to walk: Linux forwards it like any other protocol.
 */
static __always_inline int is_extension6(__u8 next)
{
	switch (next) {
	case 0:   /* hop-by-hop options */
	case 43:  /* routing */
	case 44:  /* fragment */
	case 51:  /* authentication */
	case 59:  /* none follows */
	case 60:  /* destination options */
	case 135: /* mobility */
	case 139: /* host identity */
	case 140: /* shim6 */
	case 253: /* experiments */
	case 254:
		return 1;
	}
	return 0;
}

/*
 * ::/64 (unspecified, loopback, IPv4-mapped and -compatible), link-local and site-local fe80::/9, multicast. Linux drops, answers or
 * restricts most of these, on one side at least (ip6_rcv_core, ip6_forward); own addresses as source it lets pass.
 */
static __always_inline int special6(const __be32 *address)
{
	__u32 first = bpf_ntohl(address[0]);

	return !(address[0] | address[1]) || first >> 24 == 0xff || first >> 23 == 0xfe80 >> 7;
}

/* FL_REASON_UNSPEC: nothing is wrong with it. `length` is that of header and payload. */
static __always_inline enum fl_reason check6(const struct ipv6hdr *ip, __u32 length, __u32 room)
{
	if (ip->version != 6)
		return FL_REASON_IP_HEADER;
	if (is_extension6(ip->nexthdr))
		return FL_REASON_EXT_HEADER;
	if (length == sizeof(*ip)) /* no payload: a jumbogram, or nothing worth a fast path */
		return FL_REASON_IP_HEADER;
	if (length > room)
		return FL_REASON_TRUNCATED;
	if (ip->hop_limit <= 1)
		return FL_REASON_TTL;
	if (special6(ip->saddr.in6_u.u6_addr32))
		return FL_REASON_SOURCE;
	if (special6(ip->daddr.in6_u.u6_addr32))
		return FL_REASON_DESTINATION;
	return FL_REASON_UNSPEC;
}

/* The question to the lookup helper. ip6_route_input_lookup asks with the same fields. */
static __always_inline void ask6(struct bpf_fib_lookup *fib, const struct ipv6hdr *ip, __u32 length)
{
	fib->family = AF_INET6;
	fib->l4_protocol = ip->nexthdr;
	fib->tot_len = length;
	fib->flowinfo = *(const __be32 *)ip & bpf_htonl(FL_FLOWINFO_MASK);
	__builtin_memcpy(fib->ipv6_src, &ip->saddr, sizeof(fib->ipv6_src));
	__builtin_memcpy(fib->ipv6_dst, &ip->daddr, sizeof(fib->ipv6_dst));
}

#endif
