/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Which interfaces have a receive handler (netdev_rx_handler_register(), net/core/dev.c): somebody who takes received frames before
 * IP sees them. Netlink shows a handler's device only where that is in the same network namespace; an ipvlan or a passthru macvlan
 * in another one gets frames that a look at the lower interface alone would call the router's.
 */
#ifndef FASTLET_ABI_RX_HANDLERS_H
#define FASTLET_ABI_RX_HANDLERS_H

#include "fastpath.h"

#define FL_MAX_RX_HANDLERS 16382 /* fills 64 KiB */
#define FL_MAX_DEVICES (1u << 20)

/* The one value of the map fl_rx_handlers_map, memory that the program and the daemon share. The daemon clears the first two
 * members and runs the program. */
struct fl_rx_handlers {
	__u32 complete; /* 1: every interface was looked at, and all of those with a handler are listed */
	__u32 count;
	__u32 ifindex[FL_MAX_RX_HANDLERS];
};

FL_STATIC_ASSERT(sizeof(struct fl_rx_handlers) == 65536, "fl_rx_handlers");

#endif
