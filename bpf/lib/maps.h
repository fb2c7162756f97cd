/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps and constants of both fast path programs. Names and definitions are the same in each object, so that whoever loads them
 * can share one set of maps.
 */
#ifndef FASTLET_BPF_MAPS_H
#define FASTLET_BPF_MAPS_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/fastpath.h"

#define AF_INET 2
#define AF_INET6 10

const volatile struct fl_shape shape;

/*
 * A length from a header, with bounds that the verifier knows: before 6.8 or so it takes the result of a byte swap for any 64 bit
 * number, and the compiler would drop a plain mask.
 */
static __always_inline __u32 host16(__be16 value)
{
	__u32 result = bpf_ntohs(value);

	asm volatile("%0 &= 0xffff" : "+r"(result));
	return result;
}

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

/* What one run of a program needs of the maps. */
struct fl_run {
	const struct fl_control *control;
	const struct fl_port *port;
	struct fl_port_stats *stats;
	__u32 in; /* ifindex the packet came in by */
};

/* Fills `run`; false when this packet is not the fast path's business, which counts nothing but holds. */
static __always_inline int begin_run(struct fl_run *run, __u32 in)
{
	__u32 zero = 0, slot = in & (FL_PORTS - 1);

	run->in = in;
	run->control = bpf_map_lookup_elem(&fl_control_map, &zero);
	run->port = bpf_map_lookup_elem(&fl_port_map, &slot);
	run->stats = bpf_map_lookup_elem(&fl_stats, &slot);
	if (!run->control || !run->port || !run->stats)
		return 0;
	if (run->port->ifindex != in || !(run->port->flags & FL_PORT_INGRESS))
		return 0;
	if (run->control->hold_all || run->port->hold || bpf_jiffies64() > run->control->deadline_jiffies) {
		run->stats->held_packets++;
		return 0;
	}
	return 1;
}

#endif
