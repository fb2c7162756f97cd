/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's own tables are asked where the packet goes, and whether that way is open to the fast path. */
#ifndef FASTLET_BPF_LOOKUP_H
#define FASTLET_BPF_LOOKUP_H

#include "bpf/lib/maps.h"

static __always_inline enum fl_reason lookup_reason(long rc)
{
	switch (rc) {
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return FL_REASON_ROUTE_REJECT;
	case BPF_FIB_LKUP_RET_NOT_FWDED:
	case BPF_FIB_LKUP_RET_FWD_DISABLED:
		return FL_REASON_NO_FORWARD;
	case BPF_FIB_LKUP_RET_UNSUPP_LWT:
		return FL_REASON_LWTUNNEL;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		return FL_REASON_NO_NEIGHBOUR;
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		return FL_REASON_TOO_BIG;
	}
	return FL_REASON_HELPER;
}

/*
 * One packet per neighbour entry and tick goes to Linux. An entry is an address and an interface, which the lookup has left in `fib`;
 * MACs would not do, since the IPv4 and the IPv6 entry of one host share theirs. The salt keeps two entries from sharing a slot
 * for ever.
 */
static __always_inline int liveness_due(const struct bpf_fib_lookup *fib, __u32 tick)
{
	const __u32 *hop = fib->ipv6_dst; /* of an IPv4 address the first word, and zeros */
	__u32 zero = 0, key = (hop[0] ^ hop[1] ^ hop[2] ^ hop[3]) + fib->ifindex;
	struct fl_neigh_slots *slots = bpf_map_lookup_elem(&fl_neigh_map, &zero);
	__u32 slot = ((key ^ key >> 15 ^ tick) * 0x9E3779B1u) >> 20;

	if (!slots)
		return 1;
	if (slots->tick[slot & (FL_NEIGH_SLOTS - 1)] == tick)
		return 0;
	slots->tick[slot & (FL_NEIGH_SLOTS - 1)] = tick;
	return 1;
}

/* `fib` is a question on the way in, and on the way out next hop and egress interface if FL_REASON_UNSPEC is returned. */
static __always_inline enum fl_reason find_way(void *ctx, const struct fl_run *run, struct bpf_fib_lookup *fib, __u32 egress_flag)
{
	const struct fl_port *out;
	__u32 out_slot;
	long rc;

	fib->ifindex = run->in;
	rc = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	if (rc != BPF_FIB_LKUP_RET_SUCCESS)
		return lookup_reason(rc);
	if (fib->ifindex == run->in)
		return FL_REASON_SAME_INTERFACE;
	out_slot = fib->ifindex & (FL_PORTS - 1);
	out = bpf_map_lookup_elem(&fl_port_map, &out_slot);
	if (!out || out->ifindex != fib->ifindex || out->hold || !(out->flags & egress_flag))
		return FL_REASON_EGRESS;
	return FL_REASON_UNSPEC;
}

#define FL_FIB_SKIP_NEIGH 4 /* BPF_FIB_LOOKUP_SKIP_NEIGH, Linux 6.3 on */
#define FL_EINVAL 22

/*
 * The source of an IPv4 packet that would leave by `out`, as __fib_validate_source looks it up: addresses swapped, as if the answer
 * came in by the egress interface, without protocol and ports. What it finds must be a unicast route; strictly, back to where the
 * packet came from. Linux accepts more (local sources under accept_local, any of several next hops): that is for Linux to say.
 */
static __always_inline enum fl_reason check_source(void *ctx, const struct fl_run *run, const struct iphdr *ip, __u32 out)
{
	struct bpf_fib_lookup back = {};
	long rc;

	back.family = AF_INET;
	back.tos = ip->tos;
	back.tot_len = 1; /* 0 would make tc hold the packet itself against the MTU of the way back */
	back.ipv4_src = ip->daddr;
	back.ipv4_dst = ip->saddr;
	back.ifindex = out;
	rc = bpf_fib_lookup(ctx, &back, sizeof(back), FL_FIB_SKIP_NEIGH);
	if (rc == -FL_EINVAL) /* an older kernel: a neighbour is not needed either way, the interface is told without */
		rc = bpf_fib_lookup(ctx, &back, sizeof(back), 0);
	if (rc != BPF_FIB_LKUP_RET_SUCCESS && rc != BPF_FIB_LKUP_RET_NO_NEIGH)
		return FL_REASON_REVERSE_PATH;
	if (shape.source_lookup > 1 && back.ifindex != run->in)
		return FL_REASON_REVERSE_PATH;
	return FL_REASON_UNSPEC;
}

/* The new MACs, in steps that are aligned in `fib` and, where the hardware asks for it, in the frame. */
static __always_inline void write_macs(void *frame, const struct bpf_fib_lookup *fib)
{
	*(__u16 *)frame = *(const __u16 *)fib->dmac;
	*(__u32 *)(frame + 2) = *(const __u32 *)(fib->dmac + 2);
	*(__u32 *)(frame + 6) = *(const __u32 *)fib->smac;
	*(__u16 *)(frame + 10) = *(const __u16 *)(fib->smac + 4);
}

#endif
