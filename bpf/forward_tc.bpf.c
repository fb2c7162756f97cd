// SPDX-License-Identifier: GPL-2.0
/*
 * Unicast forwarding on tc ingress, for virtual devices: segments stay merged, captures and egress qdiscs see the packets.
 * Decide first, write last, as on XDP. The header is written with bpf_skb_store_bytes and not directly: direct writes make the
 * verifier add a prologue that copies every cloned packet, also those for Linux.
 */
#include <linux/pkt_cls.h>

#include "bpf/lib/maps.h"

#define FL_LOAD_BYTES bpf_skb_load_bytes
#define FL_BRINGS_HASH(ctx) (((struct __sk_buff *)(ctx))->hash != 0)

#include "bpf/lib/checks4.h"
#include "bpf/lib/checks6.h"
#include "bpf/lib/lookup.h"
#include "bpf/lib/multipath.h"

#define FL_PACKET_HOST 0 /* __sk_buff.pkt_type of a frame to this device's own address */

static __always_inline int to_linux(const struct fl_run *run, enum fl_reason reason)
{
	run->stats->slow[reason & 31]++;
	return TC_ACT_UNSPEC; /* to the next program, as if this one were not there */
}

/* Headers are linear as a rule. If not, do what the IP stack would do next anyway. */
static __always_inline int linear(struct __sk_buff *skb, __u32 length)
{
	if ((long)skb->data_end - (long)skb->data >= length)
		return 1;
	return skb->len >= length && !bpf_skb_pull_data(skb, length);
}

/*
 * The length to hold against the MTU: of a TCP super-frame that of one of its segments (skb_gso_network_seglen). Linux judges other
 * super-frames by their kind, which a program cannot see. 0: not for the fast path.
 */
static __always_inline __u32 segment_length(struct __sk_buff *skb, __u32 header, __u8 protocol, __u32 length)
{
	__u8 offset;

	if (!skb->gso_size)
		return length;
	if (protocol != IPPROTO_TCP || bpf_skb_load_bytes(skb, sizeof(struct ethhdr) + header + 12, &offset, 1))
		return 0;
	return header + (offset >> 4) * 4 + skb->gso_size;
}

/*
 * The last decisions, which both families share; ip4 is NULL for IPv6, whose sources Linux does not look up.
 * TC_ACT_REDIRECT: the packet may be written to.
 */
static __always_inline int depart(struct __sk_buff *skb, const struct fl_run *run, struct bpf_fib_lookup *fib, const struct iphdr *ip4)
{
	enum fl_reason reason = find_way(skb, run, fib, FL_PORT_EGRESS_TC);

	if (!reason && ip4 && shape.source_lookup)
		reason = check_source(skb, run, ip4, fib->ifindex);
	if (reason)
		return to_linux(run, reason);
	if (liveness_due(fib, run->control->tick))
		return to_linux(run, FL_REASON_LIVENESS);
	return TC_ACT_REDIRECT;
}

/* rt_tos2priority: best effort, bulk, interactive, interactive bulk by the two upper bits of the old TOS field. */
static __always_inline __u32 priority_of(__u8 tos)
{
	return 0x4620u >> (tos >> 3 & 3) * 4 & 7;
}

/*
 * What changes in a frame, in one piece from its start, so that one store does it or nothing is written. `pad` is not stored: it
 * aligns the IP header.
 */
struct fl_head {
	__u16 pad;
	__u8 macs[2 * ETH_ALEN];
	__be16 type;
	__u32 ip[3]; /* IPv4: up to and with the checksum; IPv6: two words, up to and with the hop limit */
} __attribute__((aligned(8)));

#define FL_HEAD4_BYTES (sizeof(struct ethhdr) + 12)
#define FL_HEAD6_BYTES (sizeof(struct ethhdr) + 8)

static __always_inline int forward4(struct __sk_buff *skb, const struct fl_run *run)
{
	struct bpf_fib_lookup fib = {};
	struct fl_head head = {};
	enum fl_reason reason;
	__u32 length, segment, check;
	struct iphdr *ip;
	__u8 tos;

	if (!shape.ipv4)
		return to_linux(run, FL_REASON_FAMILY_OFF);
	if (!linear(skb, sizeof(struct ethhdr) + sizeof(*ip)))
		return to_linux(run, FL_REASON_TRUNCATED);
	ip = (void *)(long)skb->data + sizeof(struct ethhdr);
	if ((void *)(ip + 1) > (void *)(long)skb->data_end)
		return to_linux(run, FL_REASON_TRUNCATED);
	length = host16(ip->tot_len);
	reason = check4(ip, length, skb->len - sizeof(struct ethhdr));
	if (reason)
		return to_linux(run, reason);
	if (length != skb->len - sizeof(struct ethhdr))
		return to_linux(run, FL_REASON_TRAILER);
	segment = segment_length(skb, sizeof(*ip), ip->protocol, length);
	if (!segment)
		return to_linux(run, FL_REASON_OFFLOAD);
	if (segment > run->control->max_len4)
		return to_linux(run, FL_REASON_TOO_BIG);

	tos = ip->tos;
	head.ip[0] = ((const __u32 *)ip)[0];
	head.ip[1] = ((const __u32 *)ip)[1];
	head.ip[2] = ((const __u32 *)ip)[2];
	check = ip->check + bpf_htons(0x0100);
	((__u16 *)head.ip)[5] = check + (check >= 0xffff);
	((__u8 *)head.ip)[8]--; /* TTL */
	ask4(&fib, ip, segment);
	reason = spread4(skb, &fib, ip);
	if (reason)
		return to_linux(run, reason);
	if (depart(skb, run, &fib, ip) != TC_ACT_REDIRECT)
		return TC_ACT_UNSPEC;

	write_macs(head.macs, &fib);
	head.type = bpf_htons(ETH_P_IP);
	/* skb->csum leaves the MAC header out at this hook, and TTL and header checksum cancel each other: nothing to make good. */
	if (bpf_skb_store_bytes(skb, 0, head.macs, FL_HEAD4_BYTES, 0))
		return to_linux(run, FL_REASON_HELPER);
	if (shape.priority_update)
		skb->priority = priority_of(tos);
	run->stats->fast4_packets++;
	run->stats->fast_bytes += skb->len;
	return bpf_redirect(fib.ifindex, 0);
}

static __always_inline int forward6(struct __sk_buff *skb, const struct fl_run *run)
{
	struct bpf_fib_lookup fib = {};
	struct fl_head head = {};
	enum fl_reason reason;
	__u32 length, segment;
	struct ipv6hdr *ip;

	if (!shape.ipv6)
		return to_linux(run, FL_REASON_FAMILY_OFF);
	if (!linear(skb, sizeof(struct ethhdr) + sizeof(*ip)))
		return to_linux(run, FL_REASON_TRUNCATED);
	ip = (void *)(long)skb->data + sizeof(struct ethhdr);
	if ((void *)(ip + 1) > (void *)(long)skb->data_end)
		return to_linux(run, FL_REASON_TRUNCATED);
	length = host16(ip->payload_len) + sizeof(*ip);
	reason = check6(ip, length, skb->len - sizeof(struct ethhdr));
	if (reason)
		return to_linux(run, reason);
	if (length != skb->len - sizeof(struct ethhdr))
		return to_linux(run, FL_REASON_TRAILER);
	segment = segment_length(skb, sizeof(*ip), ip->nexthdr, length);
	if (!segment)
		return to_linux(run, FL_REASON_OFFLOAD);
	if (segment > run->control->max_len6)
		return to_linux(run, FL_REASON_TOO_BIG);

	head.ip[0] = ((const __u32 *)ip)[0];
	head.ip[1] = ((const __u32 *)ip)[1];
	((__u8 *)head.ip)[7]--; /* hop limit */
	ask6(&fib, ip, segment);
	reason = spread6(skb, &fib, ip);
	if (reason)
		return to_linux(run, reason);
	if (depart(skb, run, &fib, 0) != TC_ACT_REDIRECT)
		return TC_ACT_UNSPEC;

	write_macs(head.macs, &fib);
	head.type = bpf_htons(ETH_P_IPV6);
	if (bpf_skb_store_bytes(skb, 0, head.macs, FL_HEAD6_BYTES, 0))
		return to_linux(run, FL_REASON_HELPER);
	/*
	 * No header checksum makes up for the hop limit in a sum that the NIC has taken (CHECKSUM_COMPLETE). Linux forgets that sum
	 * (skb_forward_csum); here it is corrected by -1 in network order. On packets without such a sum the helper does nothing.
	 */
	bpf_csum_update(skb, 0xffff - bpf_htons(1));
	run->stats->fast6_packets++;
	run->stats->fast_bytes += skb->len;
	return bpf_redirect(fib.ifindex, 0);
}

SEC("tc")
int fastlet_tc(struct __sk_buff *skb)
{
	struct fl_run run;

	if (!begin_run(&run, skb->ifindex))
		return TC_ACT_UNSPEC;
	if ((skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6)) || skb->vlan_present)
		return to_linux(&run, FL_REASON_NOT_IP);
	if (skb->pkt_type != FL_PACKET_HOST)
		return to_linux(&run, FL_REASON_NOT_OURS);
	if (skb->mark)
		return to_linux(&run, FL_REASON_MARK);
	return skb->protocol == bpf_htons(ETH_P_IP) ? forward4(skb, &run) : forward6(skb, &run);
}

char LICENSE[] SEC("license") = "GPL";
