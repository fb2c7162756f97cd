// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the interfaces of the caller's network namespace that have a receive handler (bpf/abi/rx_handlers.h). Never attached:
 * BPF_PROG_TEST_RUN runs it in the thread that asks, under rcu_read_lock, which is what a walk along the namespace's devices needs.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "bpf/abi/rx_handlers.h"

/* The kernel's types, cut down to the members that are read; their offsets are those of the running kernel (CO-RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct net_device {
	struct list_head dev_list;
	int ifindex;
	void *rx_handler;
};

struct net {
	struct list_head dev_base_head;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	struct nsproxy *nsproxy;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fl_rx_handlers);
} fl_rx_handlers_map SEC(".maps");

#define READ(dst, src) (!bpf_core_read(&(dst), sizeof(dst), (src)))

enum { GO_ON = 0, STOP = 1 }; /* what bpf_loop() makes of a callback's result */

struct walk {
	struct fl_rx_handlers *out;
	struct list_head *head;
	struct list_head *at;
};

/* One interface; `complete` is said at the end of the list and nowhere else. */
static long look_at_device(__u32 step, struct walk *walk)
{
	struct fl_rx_handlers *out = walk->out;
	struct list_head *at = walk->at; /* in a variable of its own: walk is not a type of the kernel */
	const struct net_device *device;
	void *handler;
	__u32 place;

	(void)step;
	if (at == walk->head) {
		out->complete = 1;
		return STOP;
	}
	device = (void *)at - bpf_core_field_offset(struct net_device, dev_list);
	if (!READ(handler, &device->rx_handler) || !READ(walk->at, &at->next))
		return STOP;
	if (!handler)
		return GO_ON;
	place = out->count;
	if (place >= FL_MAX_RX_HANDLERS || !READ(out->ifindex[place], &device->ifindex))
		return STOP;
	out->count = place + 1;
	return GO_ON;
}

SEC("raw_tp/sys_enter")
int fastlet_rx_handlers(void *context)
{
	const __u32 zero = 0;
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct walk walk = {.out = bpf_map_lookup_elem(&fl_rx_handlers_map, &zero)};
	struct nsproxy *namespaces;
	struct list_head *head;
	struct net *net;

	(void)context;
	if (!walk.out || !READ(namespaces, &task->nsproxy) || !READ(net, &namespaces->net_ns) || !net)
		return 0;
	head = __builtin_preserve_access_index(&net->dev_base_head);
	walk.head = head;
	if (READ(walk.at, &head->next))
		bpf_loop(FL_MAX_DEVICES, look_at_device, &walk, 0);
	return 0;
}

char fl_license[] SEC("license") = "GPL";
