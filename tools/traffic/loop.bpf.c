// SPDX-License-Identifier: GPL-2.0
/*
 * Sink and source in one: a frame that has come through the router to the sink is counted, made fresh (MACs, TTL, checksum) and sent
 * into the router again. A few frames sent once so become as many packets a second as the router can forward, at next to no cost of
 * a generator's.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "tools/traffic/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct traffic_config);
} traffic_config_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct traffic_seen);
} traffic_seen_map SEC(".maps");

/* The source device, which may be in another network namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} traffic_source_map SEC(".maps");

static __always_inline void refresh(struct ethhdr *eth, struct iphdr *ip, const struct traffic_config *config)
{
	const __u32 *word = (const __u32 *)ip;
	__u64 sum;

	__builtin_memcpy(eth->h_dest, config->router_mac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, config->source_mac, ETH_ALEN);
	ip->ttl = 64;
	ip->check = 0;
	sum = (__u64)word[0] + word[1] + word[2] + word[3] + word[4];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~(sum + (sum >> 16));
}

SEC("xdp")
int traffic_loop(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	const struct traffic_config *config;
	struct traffic_seen *seen;
	__u32 zero = 0;

	if ((void *)(udp + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_UDP ||
	    udp->dest != bpf_htons(TRAFFIC_PORT))
		return XDP_PASS; /* neighbour discovery, probes */
	config = bpf_map_lookup_elem(&traffic_config_map, &zero);
	seen = bpf_map_lookup_elem(&traffic_seen_map, &zero);
	if (!config || !seen)
		return XDP_ABORTED;
	seen->frames++;
	if (config->stamp)
		seen->last_ns = bpf_ktime_get_ns();
	if (!config->run)
		return XDP_DROP;
	refresh(eth, ip, config);
	return bpf_redirect_map(&traffic_source_map, 0, XDP_DROP);
}

char LICENSE[] SEC("license") = "GPL";
