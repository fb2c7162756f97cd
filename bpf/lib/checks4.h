/* SPDX-License-Identifier: GPL-2.0 */
/* What an IPv4 header must look like to be forwarded here: ip_rcv_core and ip_route_input_slow, without any lookup of a route. */
#ifndef FASTLET_BPF_CHECKS4_H
#define FASTLET_BPF_CHECKS4_H

#include "bpf/lib/maps.h"

#define FL_IP_MF 0x2000
#define FL_IP_OFFSET 0x1fff

static __always_inline int is_fragment4(const struct iphdr *ip)
{
	return (ip->frag_off & bpf_htons(FL_IP_MF | FL_IP_OFFSET)) != 0;
}

/* The one's complement sum of a plain 20 byte header is 0xffff when its checksum is right (RFC 1071). */
static __always_inline int checksum_ok(const struct iphdr *ip)
{
	const __u32 *word = (const __u32 *)ip;
	__u64 sum = (__u64)word[0] + word[1] + word[2] + word[3] + word[4];

	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* 0/8, 127/8 and 224/3 (multicast, class E, limited broadcast) are Linux's in either direction. */
static __always_inline int special4(__be32 address)
{
	__u32 first = bpf_ntohl(address) >> 24;

	return first == 0 || first == 127 || first >= 224;
}

static __always_inline int is_local4(__be32 address)
{
	__u32 zero = 0, hash = FL_LOCAL4_HASH(address);
	struct fl_local_filter *filter = bpf_map_lookup_elem(&fl_local_map, &zero);

	if (!filter)
		return 1;
	if (!(filter->bits[(hash >> 5) & (FL_LOCAL4_BITS / 32 - 1)] >> (hash & 31) & 1))
		return 0;
	return bpf_map_lookup_elem(&fl_local4, &address) != 0;
}

/*
 * Own addresses as source: without a lookup of the source this check is all that Linux does. Among several next hops the lookup
 * helper, but not Linux, prefers the one whose own address the source is (fib_select_multipath), so accept_local is no excuse then.
 */
static __always_inline int own_source4(__be32 source)
{
	if (!shape.multipath4 && (shape.accept_local || shape.source_lookup))
		return 0;
	return is_local4(source);
}

/* FL_REASON_UNSPEC: nothing is wrong with it. `length` is tot_len. */
static __always_inline enum fl_reason check4(const struct iphdr *ip, __u32 length, __u32 room)
{
	if (ip->version != 4 || ip->ihl < 5)
		return FL_REASON_IP_HEADER;
	if (ip->ihl != 5)
		return FL_REASON_IP_OPTIONS;
	if (length < sizeof(*ip) || length > room)
		return FL_REASON_TRUNCATED;
	if (ip->ttl <= 1)
		return FL_REASON_TTL;
	if (!checksum_ok(ip))
		return FL_REASON_IP_CHECKSUM;
	if (special4(ip->saddr) || own_source4(ip->saddr))
		return FL_REASON_SOURCE;
	if (special4(ip->daddr))
		return FL_REASON_DESTINATION;
	return FL_REASON_UNSPEC;
}

/* The question to the lookup helper. Like Linux for a forwarded packet, it names no protocol and no ports. */
static __always_inline void ask4(struct bpf_fib_lookup *fib, const struct iphdr *ip, __u32 length)
{
	fib->family = AF_INET;
	fib->tos = ip->tos;
	fib->tot_len = length;
	fib->ipv4_src = ip->saddr;
	fib->ipv4_dst = ip->daddr;
}

#endif
