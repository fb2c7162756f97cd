/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What loop.bpf.c shares with fl-traffic. Host byte order. */
#ifndef FASTLET_TRAFFIC_ABI_H
#define FASTLET_TRAFFIC_ABI_H

#include <linux/types.h>

#define TRAFFIC_PORT 9 /* UDP destination port of the frames that circulate: discard */

struct traffic_config {
	__u8 router_mac[6];
	__u8 source_mac[6];
	__u32 run;   /* 0: frames end at the sink */
	__u32 stamp; /* 1: note when each frame arrives */
};

struct traffic_seen {
	__u64 frames;
	__u64 last_ns; /* CLOCK_MONOTONIC; 0 without `stamp` */
};

#endif
