// SPDX-License-Identifier: GPL-2.0
/* Unicast forwarding on XDP. Decide first, write last: a packet that goes to Linux has not been touched. */
#include "bpf/lib/maps.h"

#define FL_LOAD_BYTES bpf_xdp_load_bytes
#define FL_BRINGS_HASH(ctx) 1 /* cannot be ruled out */

#include "bpf/lib/checks4.h"
#include "bpf/lib/checks6.h"
#include "bpf/lib/lookup.h"
#include "bpf/lib/multipath.h"
#include "bpf/lib/offload.h"

static __always_inline int to_linux(const struct fl_run *run, enum fl_reason reason)
{
	run->stats->slow[reason & 31]++;
	return XDP_PASS;
}

/*
 * The last decisions, which both families share; ip4 is NULL for IPv6, whose sources Linux does not look up.
 * XDP_REDIRECT: the packet may be written to.
 */
static __always_inline int depart(struct xdp_md *ctx, const struct fl_run *run, struct bpf_fib_lookup *fib, const struct iphdr *ip4)
{
	enum fl_reason reason = find_way(ctx, run, fib, FL_PORT_EGRESS_XDP);

	if (!reason && ip4 && shape.source_lookup)
		reason = check_source(ctx, run, ip4, fib->ifindex);
	if (reason)
		return to_linux(run, reason);
	if (liveness_due(fib, run->control->tick))
		return to_linux(run, FL_REASON_LIVENESS);
	if (bpf_redirect_map(&fl_devices, fib->ifindex & (FL_PORTS - 1), XDP_PASS) != XDP_REDIRECT)
		return to_linux(run, FL_REASON_EGRESS);
	return XDP_REDIRECT;
}

/* Ethernet padding of short packets, which Linux trims too (ip_rcv_core, ip6_rcv_core) */
static __always_inline long trim(struct xdp_md *ctx, long trailer)
{
	return bpf_xdp_adjust_tail(ctx, -(int)trailer);
}

static __always_inline enum fl_reason check_offload4(const struct iphdr *ip, const void *end, __u32 length)
{
	if (!shape.partial_check || is_fragment4(ip))
		return FL_REASON_UNSPEC;
	return check_offload(ip + 1, end, ip->protocol, length - sizeof(*ip), sum_addresses4(ip));
}

static __always_inline int forward4(struct xdp_md *ctx, const struct fl_run *run)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct bpf_fib_lookup fib = {};
	enum fl_reason reason;
	__u32 length, check;
	long trailer;

	if (!shape.ipv4)
		return to_linux(run, FL_REASON_FAMILY_OFF);
	if ((void *)(ip + 1) > end)
		return to_linux(run, FL_REASON_TRUNCATED);
	length = host16(ip->tot_len);
	reason = check4(ip, length, end - (void *)ip);
	if (reason)
		return to_linux(run, reason);
	if (length > run->control->max_len4)
		return to_linux(run, FL_REASON_TOO_BIG);
	reason = check_offload4(ip, end, length);
	if (reason)
		return to_linux(run, reason);

	ask4(&fib, ip, length);
	reason = spread4(ctx, &fib, ip);
	if (reason)
		return to_linux(run, reason);
	if (depart(ctx, run, &fib, ip) != XDP_REDIRECT)
		return XDP_PASS;
	trailer = end - ((void *)ip + length);
	if (trailer > 0) {
		if (trim(ctx, trailer))
			return to_linux(run, FL_REASON_TRAILER);
		eth = (void *)(long)ctx->data;
		ip = (void *)(eth + 1);
		if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
			return XDP_ABORTED; /* cannot be: the length was checked above; the verifier asks */
	}

	write_macs(eth, &fib);
	check = ip->check + bpf_htons(0x0100);
	ip->check = check + (check >= 0xffff);
	ip->ttl--;
	run->stats->fast4_packets++;
	run->stats->fast_bytes += length + sizeof(*eth);
	return XDP_REDIRECT;
}

static __always_inline enum fl_reason check_offload6(const struct ipv6hdr *ip, const void *end, __u32 length)
{
	if (!shape.partial_check)
		return FL_REASON_UNSPEC;
	return check_offload(ip + 1, end, ip->nexthdr, length - sizeof(*ip), sum_addresses6(ip));
}

static __always_inline int forward6(struct xdp_md *ctx, const struct fl_run *run)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct bpf_fib_lookup fib = {};
	enum fl_reason reason;
	__u32 length;
	long trailer;

	if (!shape.ipv6)
		return to_linux(run, FL_REASON_FAMILY_OFF);
	if ((void *)(ip + 1) > end)
		return to_linux(run, FL_REASON_TRUNCATED);
	length = host16(ip->payload_len) + sizeof(*ip);
	reason = check6(ip, length, end - (void *)ip);
	if (reason)
		return to_linux(run, reason);
	if (length > run->control->max_len6)
		return to_linux(run, FL_REASON_TOO_BIG);
	reason = check_offload6(ip, end, length);
	if (reason)
		return to_linux(run, reason);

	ask6(&fib, ip, length);
	reason = spread6(ctx, &fib, ip);
	if (reason)
		return to_linux(run, reason);
	if (depart(ctx, run, &fib, 0) != XDP_REDIRECT)
		return XDP_PASS;
	trailer = end - ((void *)ip + length);
	if (trailer > 0) {
		if (trim(ctx, trailer))
			return to_linux(run, FL_REASON_TRAILER);
		eth = (void *)(long)ctx->data;
		ip = (void *)(eth + 1);
		if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
			return XDP_ABORTED; /* cannot be, as above */
	}

	write_macs(eth, &fib);
	ip->hop_limit--;
	run->stats->fast6_packets++;
	run->stats->fast_bytes += length + sizeof(*eth);
	return XDP_REDIRECT;
}

SEC("xdp.frags")
int fastlet_xdp(struct xdp_md *ctx)
{
	void *frame = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct fl_run run;
	__be16 type;

	if (!begin_run(&run, ctx->ingress_ifindex))
		return XDP_PASS;
	if (frame + sizeof(struct ethhdr) > end)
		return to_linux(&run, FL_REASON_NOT_IP);
	type = *(__be16 *)(frame + 2 * ETH_ALEN);
	if (type != bpf_htons(ETH_P_IP) && type != bpf_htons(ETH_P_IPV6))
		return to_linux(&run, FL_REASON_NOT_IP);
	if (*(__u32 *)frame != *(__u32 *)run.port->mac || *(__u16 *)(frame + 4) != *(__u16 *)(run.port->mac + 4))
		return to_linux(&run, FL_REASON_NOT_OURS);
	return type == bpf_htons(ETH_P_IP) ? forward4(ctx, &run) : forward6(ctx, &run);
}

char LICENSE[] SEC("license") = "GPL";
