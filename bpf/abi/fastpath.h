/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the daemon and the fast path programs share. Included by BPF C and by C++: plain C only, fixed widths, natural alignment.
 * Byte order is the host's unless a field says "network order".
 */
#ifndef FASTLET_ABI_FASTPATH_H
#define FASTLET_ABI_FASTPATH_H

#ifdef __cplusplus
#include <linux/types.h>
#define FL_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define FL_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#include "reasons.h"

#define FL_PORTS 1024          /* slots of the port table; slot = ifindex & (FL_PORTS - 1) */
#define FL_NEIGH_SLOTS 4096    /* liveness sampling, see fl_neigh_slots */
#define FL_LOCAL4_BITS 65536   /* bits of the local address filter */

/* struct fl_port.flags */
#define FL_PORT_INGRESS 0x01u    /* a fast path program is attached here and may act */
#define FL_PORT_EGRESS_XDP 0x02u /* XDP programs may redirect to this interface */
#define FL_PORT_EGRESS_TC 0x04u  /* tc programs may redirect to this interface */

/*
 * One interface. The daemon writes it through a memory mapping; programs only read.
 * A slot belongs to `ifindex`; if the packet's interface is another one, the program passes to Linux.
 * hold != 0: everything that comes in here or would leave here goes to Linux.
 */
struct fl_port {
	__u32 ifindex;
	__u32 hold;
	__u32 flags;
	__u8 mac[6]; /* frames to this address are for us */
	__u8 pad[46];
};

/*
 * The whole fast path. deadline_jiffies is the heartbeat: bpf_jiffies64() beyond it means that nobody has looked at the kernel's
 * configuration lately, and every program passes everything to Linux.
 */
struct fl_control {
	__u64 deadline_jiffies;
	__u32 hold_all;
	__u32 tick;     /* counts seconds; drives liveness sampling */
	__u32 max_len4; /* IPv4 packets longer than this (bytes, IP header on) go to Linux: the smallest mtu metric of any route */
	__u32 max_len6;
	__u8 pad[40];
};

/* Local IPv4 addresses: a bit per hash in `bits`; a hit is then looked up in the exact hash map `fl_local4`. */
struct fl_local_filter {
	__u32 bits[FL_LOCAL4_BITS / 32];
};
#define FL_LOCAL4_HASH(addr_network_order) ((__u32)((addr_network_order) * 0x9E3779B1u) >> 16)

/* Per CPU and port slot. Packets are counted where they came in. */
struct fl_port_stats {
	__u64 fast4_packets;
	__u64 fast6_packets;
	__u64 fast_bytes; /* frame length, Ethernet header included */
	__u64 held_packets;
	__u64 slow[32]; /* by enum fl_reason; held packets are not in here */
};

/*
 * What a program is specialised to: constants in .rodata, frozen before the load, so that the verifier removes the branches that
 * are not needed. Two interfaces with the same shape share one program.
 */
struct fl_shape {
	__u8 ipv4;            /* forward IPv4 */
	__u8 ipv6;            /* forward IPv6 */
	__u8 source_lookup;   /* IPv4: 0 no route lookup for the source; 1 a route must exist (loose rp_filter, policy rules);
	                         2 it must also point back to the ingress interface (strict rp_filter) */
	__u8 accept_local;    /* IPv4: own addresses as source are accepted (sysctl accept_local) and need no check */
	__u8 multipath4;      /* 0 no multipath route exists; 1 hash over addresses (fib_multipath_hash_policy 0); 2 over ports too (1) */
	__u8 multipath6;
	__u8 partial_check;   /* XDP on a virtual device: packets may carry an unfinished L4 checksum, find and pass them */
	__u8 priority_update; /* tc: set skb priority from TOS (sysctl ip_forward_update_priority) */
};

FL_STATIC_ASSERT(sizeof(struct fl_port) == 64, "fl_port is one cache line");
FL_STATIC_ASSERT(sizeof(struct fl_control) == 64, "fl_control is one cache line");
FL_STATIC_ASSERT(sizeof(struct fl_local_filter) == 8192, "fl_local_filter");
FL_STATIC_ASSERT(sizeof(struct fl_port_stats) == 36 * 8, "fl_port_stats");
FL_STATIC_ASSERT(sizeof(struct fl_shape) == 8, "fl_shape");
FL_STATIC_ASSERT(FL_REASON_COUNT <= 32, "fl_port_stats.slow has 32 counters");

#endif
