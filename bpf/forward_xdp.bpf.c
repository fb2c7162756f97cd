// SPDX-License-Identifier: GPL-2.0
/* IPv4 unicast forwarding on XDP. Decide first, write last: a packet that goes to Linux has not been touched. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/fastpath.h"

#define AF_INET 2

const volatile struct fl_shape shape;

#define FL_ARRAY(name, value_type, entries, map_flags_value)      \
	struct {                                                  \
		__uint(type, BPF_MAP_TYPE_ARRAY);                 \
		__uint(max_entries, entries);                     \
		__uint(map_flags, map_flags_value);               \
		__type(key, __u32);                               \
		__type(value, value_type);                        \
	} name SEC(".maps")

struct fl_neigh_slots {
	__u32 tick[FL_NEIGH_SLOTS];
};

FL_ARRAY(fl_control_map, struct fl_control, 1, BPF_F_MMAPABLE);
FL_ARRAY(fl_port_map, struct fl_port, FL_PORTS, BPF_F_MMAPABLE);
FL_ARRAY(fl_local_map, struct fl_local_filter, 1, BPF_F_MMAPABLE);
FL_ARRAY(fl_neigh_map, struct fl_neigh_slots, 1, 0);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32); /* IPv4 address, network order */
	__type(value, __u32);
} fl_local4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FL_PORTS);
	__type(key, __u32);
	__type(value, struct fl_port_stats);
} fl_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, FL_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} fl_devices SEC(".maps");

static __always_inline int to_linux(struct fl_port_stats *stats, enum fl_reason reason)
{
	stats->slow[reason & 31]++;
	return XDP_PASS;
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

/* One packet per next hop and tick goes to Linux; the salt keeps two next hops from sharing a slot for ever. */
static __always_inline int liveness_due(const __u8 *mac, __u32 tick)
{
	__u32 zero = 0, low = (__u32)mac[2] << 24 | (__u32)mac[3] << 16 | (__u32)mac[4] << 8 | mac[5];
	struct fl_neigh_slots *slots = bpf_map_lookup_elem(&fl_neigh_map, &zero);
	__u32 slot = ((low ^ tick) * 0x9E3779B1u) >> 20;

	if (!slots)
		return 1;
	if (slots->tick[slot & (FL_NEIGH_SLOTS - 1)] == tick)
		return 0;
	slots->tick[slot & (FL_NEIGH_SLOTS - 1)] = tick;
	return 1;
}

SEC("xdp.frags")
int fastlet_xdp(struct xdp_md *ctx)
{
	__u32 zero = 0, in = ctx->ingress_ifindex, slot = in & (FL_PORTS - 1), out_slot;
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct fl_control *control = bpf_map_lookup_elem(&fl_control_map, &zero);
	struct fl_port *port = bpf_map_lookup_elem(&fl_port_map, &slot), *out;
	struct fl_port_stats *stats = bpf_map_lookup_elem(&fl_stats, &slot);
	struct bpf_fib_lookup fib = {};
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	__u32 length, check;
	long rc, trailer;

	if (!control || !port || !stats || port->ifindex != in || !(port->flags & FL_PORT_INGRESS))
		return XDP_PASS;
	if (control->hold_all || port->hold || bpf_jiffies64() > control->deadline_jiffies) {
		stats->held_packets++;
		return XDP_PASS;
	}
	if ((void *)(eth + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP))
		return to_linux(stats, FL_REASON_NOT_IP);
	if (!shape.ipv4 || shape.source_lookup || shape.multipath4)
		return to_linux(stats, FL_REASON_FAMILY_OFF);
	if ((void *)(ip + 1) > end)
		return to_linux(stats, FL_REASON_TRUNCATED);
	if (*(__u32 *)eth->h_dest != *(__u32 *)port->mac || *(__u16 *)(eth->h_dest + 4) != *(__u16 *)(port->mac + 4))
		return to_linux(stats, FL_REASON_NOT_OURS);
	if (ip->version != 4 || ip->ihl < 5)
		return to_linux(stats, FL_REASON_IP_HEADER);
	if (ip->ihl != 5)
		return to_linux(stats, FL_REASON_IP_OPTIONS);
	length = bpf_ntohs(ip->tot_len);
	if (length < sizeof(*ip) || (void *)ip + length > end)
		return to_linux(stats, FL_REASON_TRUNCATED);
	trailer = end - ((void *)ip + length);
	if (length > control->max_len4)
		return to_linux(stats, FL_REASON_TOO_BIG);
	if (ip->ttl <= 1)
		return to_linux(stats, FL_REASON_TTL);
	if (!checksum_ok(ip))
		return to_linux(stats, FL_REASON_IP_CHECKSUM);
	if (shape.partial_check)
		return to_linux(stats, FL_REASON_OFFLOAD);
	if (special4(ip->saddr) || (!shape.accept_local && is_local4(ip->saddr)))
		return to_linux(stats, FL_REASON_SOURCE);
	if (special4(ip->daddr))
		return to_linux(stats, FL_REASON_DESTINATION);

	fib.family = AF_INET;
	fib.tos = ip->tos;
	fib.tot_len = length;
	fib.ipv4_src = ip->saddr;
	fib.ipv4_dst = ip->daddr;
	fib.ifindex = in;
	rc = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	if (rc != BPF_FIB_LKUP_RET_SUCCESS)
		return to_linux(stats, lookup_reason(rc));
	if (fib.ifindex == in)
		return to_linux(stats, FL_REASON_SAME_INTERFACE);
	out_slot = fib.ifindex & (FL_PORTS - 1);
	out = bpf_map_lookup_elem(&fl_port_map, &out_slot);
	if (!out || out->ifindex != fib.ifindex || out->hold || !(out->flags & FL_PORT_EGRESS_XDP))
		return to_linux(stats, FL_REASON_EGRESS);
	if (liveness_due(fib.dmac, control->tick))
		return to_linux(stats, FL_REASON_LIVENESS);
	if (bpf_redirect_map(&fl_devices, out_slot, XDP_PASS) != XDP_REDIRECT)
		return to_linux(stats, FL_REASON_EGRESS);
	if (trailer > 0) { /* Ethernet padding of short packets, which Linux trims too (ip_rcv_core) */
		if (bpf_xdp_adjust_tail(ctx, -(int)trailer))
			return to_linux(stats, FL_REASON_TRAILER);
		eth = (void *)(long)ctx->data;
		ip = (void *)(eth + 1);
		if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
			return XDP_ABORTED; /* cannot be: the length was checked above; the verifier asks */
	}

	__builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
	check = ip->check + bpf_htons(0x0100);
	ip->check = check + (check >= 0xffff);
	ip->ttl--;
	stats->fast4_packets++;
	stats->fast_bytes += length + sizeof(*eth);
	return XDP_REDIRECT;
}

char LICENSE[] SEC("license") = "GPL";
