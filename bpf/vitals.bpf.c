// SPDX-License-Identifier: GPL-2.0
/*
 * Reads from the caller's network namespace what no notification tells (bpf/abi/vitals.h). Never attached: BPF_PROG_TEST_RUN runs
 * it in the thread that asks, under rcu_read_lock. What cannot be read sets a bit of `unknown`; nothing is taken to be empty
 * because it could not be read.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "bpf/abi/vitals.h"

/* The kernel's types, cut down to the members that are read; their offsets are those of the running kernel (CO-RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct nf_hook_entry {
	void *hook;
	void *priv;
};

struct nf_hook_entries {
	__u16 num_hook_entries;
	struct nf_hook_entry hooks[1];
};

struct netns_nf {
	struct nf_hook_entries *hooks_ipv4[5];
	struct nf_hook_entries *hooks_ipv6[5];
};

struct netns_xfrm {
	unsigned int policy_count[6];
	__u8 policy_default[3];
};

typedef struct {
	int counter;
} atomic_t;

struct netns_ipv4 {
	void *rules_ops;
	_Bool fib_has_custom_rules;
	_Bool fib_has_custom_local_routes;
	atomic_t fib_num_tclassid_users;
	__u8 sysctl_ip_fwd_use_pmtu;
	__u8 sysctl_ip_fwd_update_priority;
	__u8 sysctl_fib_multipath_use_neigh;
	__u8 sysctl_fib_multipath_hash_policy;
};

struct ipv6_devconf {
	__s32 forwarding;
	__s32 proxy_ndp;
};

struct netns_sysctl_ipv6 {
	__u8 multipath_hash_policy;
};

struct netns_ipv6 {
	struct netns_sysctl_ipv6 sysctl;
	struct ipv6_devconf *devconf_all;
	void *fib6_rules_ops;
	_Bool fib6_has_custom_rules;
};

struct net {
	struct netns_ipv4 ipv4;
	struct netns_ipv6 ipv6;
	struct netns_nf nf;
	struct netns_xfrm xfrm;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	struct nsproxy *nsproxy;
};

struct xt_table {
	void *private;
};

struct xt_table_info {
	unsigned int number;
	unsigned int hook_entry[5];
	unsigned int underflow[5];
	unsigned char entries[1];
};

#pragma clang attribute pop

/* Laid out by the kernel's UAPI: offsets of target_offset in struct ipt_entry and ip6t_entry, and of the verdict in a target. */
#define TARGET_OFFSET4 88
#define TARGET_OFFSET6 140
#define TARGET_VERDICT 32
#define VERDICT_ACCEPT (-2) /* -NF_ACCEPT - 1 */

#define HOOKNUMS 5 /* NF_INET_NUMHOOKS */
#define XFRM_IN_OUT_FWD 3 /* directions of xfrm; the counters beyond are of policies of sockets, which forwarded packets do not meet */
#define XFRM_OUT 1
#define XFRM_FWD 2
#define XFRM_USERPOLICY_ACCEPT 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fl_vitals_area);
} fl_vitals_map SEC(".maps");

struct raw_hook {
	__u64 function;
	__u64 priv;
};

#define READ(dst, src) (!bpf_core_read(&(dst), sizeof(dst), (src)))

static __always_inline int is_table(const struct fl_vitals_area *area, __u64 function)
{
	for (int i = 0; i < FL_TABLE_FUNCTIONS; i++)
		if (function == area->table_functions[i])
			return 1;
	return 0;
}

/* What the built-in chain does when it begins with its policy: the kernel lets that be ACCEPT or DROP only. */
static __always_inline __u32 chain_state(const struct xt_table_info *info, int family, __u32 hooknum)
{
	__u32 begin[HOOKNUMS], policy[HOOKNUMS];
	const unsigned char *entry;
	__u16 target;
	__s32 verdict;

	if (!READ(begin, &info->hook_entry) || !READ(policy, &info->underflow))
		return FL_TABLE_ACTS;
	if (begin[hooknum] != policy[hooknum])
		return FL_TABLE_ACTS;
	entry = (const unsigned char *)&info->entries + policy[hooknum];
	if (bpf_probe_read_kernel(&target, sizeof(target), entry + (family ? TARGET_OFFSET6 : TARGET_OFFSET4)))
		return FL_TABLE_ACTS;
	if (bpf_probe_read_kernel(&verdict, sizeof(verdict), entry + target + TARGET_VERDICT))
		return FL_TABLE_ACTS;
	return verdict == VERDICT_ACCEPT ? FL_TABLE_PASSES : FL_TABLE_ACTS;
}

static __always_inline void read_table(struct fl_vitals *out, struct fl_nf_hook *hook, int family, __u32 hooknum)
{
	const struct xt_table *table = (const struct xt_table *)hook->priv;
	const struct xt_table_info *info, *still;
	__u32 state;

	if (!READ(info, &table->private) || !READ(hook->table_entries, &info->number)) {
		out->unknown |= FL_UNKNOWN_TABLES;
		hook->table_state = FL_TABLE_ACTS;
		return;
	}
	state = chain_state(info, family, hooknum);
	/* A replaced rule set is freed at once, so that this may have read something else. */
	if (!READ(still, &table->private) || still != info)
		state = FL_TABLE_ACTS;
	hook->table_private = (__u64)info;
	hook->table_state = state;
}

/* Global, so that the verifier looks at it once and not for each of the six points. `address` is a struct nf_hook_entries. */
__noinline int fl_read_point(struct fl_vitals_area *area, __u64 address, __u32 family, __u32 point)
{
	const struct nf_hook_entries *entries = (const struct nf_hook_entries *)address;
	struct raw_hook raw[FL_NF_MAX_HOOKS];
	const __u32 hooknum = point * 2; /* prerouting 0, forward 2, postrouting 4 */
	struct fl_nf_point *to;
	__u16 count;

	if (!area || family >= FL_NF_FAMILIES || point >= FL_NF_POINTS)
		return 0;
	to = &area->reading.nf[family][point];
	if (!READ(count, &entries->num_hook_entries))
		goto unknown;
	to->count = count;
	if (count > FL_NF_MAX_HOOKS)
		count = FL_NF_MAX_HOOKS;
	if (bpf_probe_read_kernel(raw, count * sizeof(raw[0]), __builtin_preserve_access_index(&entries->hooks)))
		goto unknown;
	for (int i = 0; i < FL_NF_MAX_HOOKS; i++) {
		if (i >= count)
			break;
		to->hooks[i].function = raw[i].function;
		to->hooks[i].priv = raw[i].priv;
		if (is_table(area, raw[i].function))
			read_table(&area->reading, &to->hooks[i], family, hooknum);
	}
	return 0;
unknown:
	area->reading.unknown |= FL_UNKNOWN_HOOKS;
	return 0;
}

static __always_inline void read_hooks(struct fl_vitals_area *area, struct net *net)
{
	struct nf_hook_entries *points[FL_NF_FAMILIES][HOOKNUMS] = {};

	if (!bpf_core_type_exists(struct netns_nf))
		return; /* a kernel without netfilter */
	if (!bpf_core_field_exists(net->nf.hooks_ipv4) || !bpf_core_field_exists(net->nf.hooks_ipv6) ||
	    bpf_core_field_size(net->nf.hooks_ipv4) != sizeof(points[0]) ||
	    bpf_core_type_size(struct nf_hook_entry) != sizeof(struct raw_hook) ||
	    bpf_core_field_offset(struct nf_hook_entry, priv) != sizeof(__u64) ||
	    !READ(points[0], &net->nf.hooks_ipv4) || !READ(points[1], &net->nf.hooks_ipv6)) {
		area->reading.unknown |= FL_UNKNOWN_HOOKS;
		return;
	}
	for (__u32 family = 0; family < FL_NF_FAMILIES; family++)
		for (__u32 point = 0; point < FL_NF_POINTS; point++)
			if (points[family][point * 2])
				fl_read_point(area, (__u64)points[family][point * 2], family, point);
}

static __always_inline void read_xfrm(struct fl_vitals *out, struct net *net)
{
	__u32 count[XFRM_IN_OUT_FWD];
	__u8 policy[XFRM_IN_OUT_FWD];

	if (!bpf_core_type_exists(struct netns_xfrm))
		return; /* a kernel without IPsec */
	if (!bpf_core_field_exists(net->xfrm.policy_count) || !bpf_core_field_exists(net->xfrm.policy_default) ||
	    bpf_core_field_size(net->xfrm.policy_default) != sizeof(policy) ||
	    !READ(count, &net->xfrm.policy_count) || !READ(policy, &net->xfrm.policy_default)) {
		out->unknown |= FL_UNKNOWN_XFRM;
		return;
	}
	out->xfrm_policies = count[0] + count[1] + count[2];
	out->xfrm_default_block = policy[XFRM_OUT] != XFRM_USERPOLICY_ACCEPT || policy[XFRM_FWD] != XFRM_USERPOLICY_ACCEPT;
}

/* A member that exists must be readable. One that does not is missing from kernels that were built without its feature. */
#define READ_IF_THERE(dst, src)                                               \
	do {                                                                  \
		if (bpf_core_field_exists(src) && !READ(dst, &(src)))         \
			goto unknown;                                         \
	} while (0)

static __always_inline void read_ipv4(struct fl_vitals *out, struct net *net)
{
	/* A feature is there, but the member that tells about it has another name. */
	if (bpf_core_field_exists(net->ipv4.rules_ops) && !bpf_core_field_exists(net->ipv4.fib_has_custom_rules))
		goto unknown;
	if (bpf_core_field_exists(net->ipv4.sysctl_fib_multipath_use_neigh) &&
	    !bpf_core_field_exists(net->ipv4.sysctl_fib_multipath_hash_policy))
		goto unknown;
	if (!READ(out->fwd_use_pmtu4, &net->ipv4.sysctl_ip_fwd_use_pmtu) ||
	    !READ(out->fwd_update_priority4, &net->ipv4.sysctl_ip_fwd_update_priority) ||
	    !READ(out->custom_local_routes4, &net->ipv4.fib_has_custom_local_routes))
		goto unknown;
	READ_IF_THERE(out->custom_rules4, net->ipv4.fib_has_custom_rules);
	READ_IF_THERE(out->multipath_policy4, net->ipv4.sysctl_fib_multipath_hash_policy);
	READ_IF_THERE(out->tclassid_users4, net->ipv4.fib_num_tclassid_users);
	return;
unknown:
	out->unknown |= FL_UNKNOWN_FIB4;
}

static __always_inline void read_ipv6(struct fl_vitals *out, struct net *net)
{
	struct ipv6_devconf *all;
	__s32 value;

	if (!bpf_core_type_exists(struct netns_ipv6))
		return; /* a kernel without IPv6 */
	if (bpf_core_field_exists(net->ipv6.fib6_rules_ops) && !bpf_core_field_exists(net->ipv6.fib6_has_custom_rules))
		goto unknown;
	if (!READ(out->multipath_policy6, &net->ipv6.sysctl.multipath_hash_policy))
		goto unknown;
	READ_IF_THERE(out->custom_rules6, net->ipv6.fib6_has_custom_rules);
	if (!READ(all, &net->ipv6.devconf_all))
		goto unknown;
	if (!all)
		return; /* ipv6.disable=1 */
	if (!READ(value, &all->proxy_ndp))
		goto unknown;
	out->proxy_ndp_all = !!value;
	if (!READ(value, &all->forwarding))
		goto unknown;
	out->forwarding6_all = !!value;
	return;
unknown:
	out->unknown |= FL_UNKNOWN_FIB6;
}

SEC("raw_tp/sys_enter")
int fastlet_vitals(void *context)
{
	const __u32 zero = 0;
	struct fl_vitals_area *area = bpf_map_lookup_elem(&fl_vitals_map, &zero);
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct nsproxy *namespaces;
	struct net *net;

	(void)context;
	if (!area || !READ(namespaces, &task->nsproxy) || !READ(net, &namespaces->net_ns) || !net)
		return 0; /* jiffies stays 0: never read */
	read_hooks(area, net);
	read_xfrm(&area->reading, net);
	read_ipv4(&area->reading, net);
	read_ipv6(&area->reading, net);
	area->reading.jiffies = bpf_jiffies64();
	return 0;
}

char fl_license[] SEC("license") = "GPL";
