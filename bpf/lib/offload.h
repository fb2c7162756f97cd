/* SPDX-License-Identifier: GPL-2.0 */
/*
 * XDP on a virtual device: the packet may come from a local sender that left the L4 checksum to the device (CHECKSUM_PARTIAL). XDP
 * does not see that state, and a redirect loses it. Such a packet betrays itself: its checksum field holds the folded sum of the
 * pseudo header. One finished checksum in 65,535 looks the same and takes the way through Linux.
 *
 * Fragments have complete checksums: the kernel finishes them before it cuts (ip_fragment), and never leaves the checksum of a
 * datagram to the device that it builds in pieces (ip_append_data). So they need no check, and no port is read from them.
 */
#ifndef FASTLET_BPF_OFFLOAD_H
#define FASTLET_BPF_OFFLOAD_H

#include "bpf/lib/maps.h"

struct fl_l4_ports {
	__be16 source;
	__be16 dest;
};

#define FL_TCP_CHECK 16 /* offset of the checksum field in the TCP header */
#define FL_UDP_CHECK 6

static __always_inline __u16 fold16(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static __always_inline int is_tunnel_port(__be16 port)
{
	return port == bpf_htons(4789) || port == bpf_htons(8472) || port == bpf_htons(6081); /* VXLAN, its old port, Geneve */
}

/* `addresses` is the plain sum of the 32 bit words of both addresses; `length` counts from `l4` to the end of the packet. */
static __always_inline enum fl_reason check_offload(const void *l4, const void *end, __u8 protocol, __u32 length, __u64 addresses)
{
	__u16 pseudo = fold16(addresses + bpf_htons(protocol) + bpf_htons(length));
	const struct fl_l4_ports *ports = l4;
	__u16 check;

	switch (protocol) {
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return FL_REASON_UNSPEC; /* Linux always sums these itself */
	case IPPROTO_TCP:
		if (l4 + 20 > end)
			return FL_REASON_OFFLOAD;
		return *(const __u16 *)(l4 + FL_TCP_CHECK) == pseudo ? FL_REASON_OFFLOAD : FL_REASON_UNSPEC;
	case IPPROTO_UDP:
		if (l4 + 8 > end)
			return FL_REASON_OFFLOAD;
		check = *(const __u16 *)(l4 + FL_UDP_CHECK);
		if (!check || check == pseudo)
			return FL_REASON_OFFLOAD;
		return is_tunnel_port(ports->dest) ? FL_REASON_TUNNEL_PORT : FL_REASON_UNSPEC;
	}
	return FL_REASON_OFFLOAD; /* SCTP leaves its CRC to the device; tunnels may have an unfinished checksum further in */
}

static __always_inline __u64 sum_addresses4(const struct iphdr *ip)
{
	return (__u64)ip->saddr + ip->daddr;
}

static __always_inline __u64 sum_addresses6(const struct ipv6hdr *ip)
{
	const __be32 *source = ip->saddr.in6_u.u6_addr32, *destination = ip->daddr.in6_u.u6_addr32;

	return (__u64)source[0] + source[1] + source[2] + source[3] + destination[0] + destination[1] + destination[2] +
	       destination[3];
}

#endif
