/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What no notification tells, read straight from struct net by one short BPF program (bpf/vitals.bpf.c) that the daemon runs every
 * few milliseconds: netfilter hooks, iptables-legacy tables, xfrm, sysctls.
 */
#ifndef FASTLET_ABI_VITALS_H
#define FASTLET_ABI_VITALS_H

#include "fastpath.h"

#define FL_NF_FAMILIES 2 /* 0 ipv4, 1 ipv6 */
#define FL_NF_POINTS 3   /* 0 prerouting, 1 forward, 2 postrouting: where a forwarded packet passes */
#define FL_NF_MAX_HOOKS 16

/* fl_vitals.unknown: a part that this kernel's types did not let us read; whatever depends on it fails closed */
#define FL_UNKNOWN_HOOKS 0x01u
#define FL_UNKNOWN_TABLES 0x02u
#define FL_UNKNOWN_XFRM 0x04u
#define FL_UNKNOWN_FIB4 0x08u
#define FL_UNKNOWN_FIB6 0x10u

/* fl_nf_hook.table_state: what an iptables-legacy table does at this hook. Read from the rule set itself each time: the kernel may
 * give a new rule set the address of an old one. */
#define FL_TABLE_NONE 0   /* not known to be such a table */
#define FL_TABLE_PASSES 1 /* the built-in chain has no rule and its policy is ACCEPT */
#define FL_TABLE_ACTS 2   /* anything else, also a rule set that could not be read or was being replaced */

/* One registered hook. function is a kernel text address (name: /proc/kallsyms). */
struct fl_nf_hook {
	__u64 function;
	__u64 priv;          /* identity of the chain or table behind it */
	__u64 table_private; /* iptables-legacy: address of the current rule set, changes with every replacement; else 0 */
	__u32 table_entries; /* iptables-legacy: number of entries, the built-in ones included */
	__u32 table_state;   /* FL_TABLE_* */
};

struct fl_nf_point {
	__u32 count; /* registered hooks; more than FL_NF_MAX_HOOKS: the rest is not listed */
	__u32 pad;
	struct fl_nf_hook hooks[FL_NF_MAX_HOOKS];
};

struct fl_vitals {
	__u64 jiffies; /* when this was read; 0: never */
	__u32 unknown; /* FL_UNKNOWN_* */
	__u32 xfrm_policies;
	__u8 xfrm_default_block; /* default policy of the forward direction is block */
	__u8 custom_local_routes4;
	__u8 custom_rules4;
	__u8 custom_rules6;
	__u8 multipath_policy4; /* fib_multipath_hash_policy */
	__u8 multipath_policy6;
	__u8 fwd_use_pmtu4; /* ip_forward_use_pmtu */
	__u8 fwd_update_priority4;
	__u8 proxy_ndp_all;
	__u8 forwarding6_all;
	__u8 pad[2];
	__u32 tclassid_users4;
	struct fl_nf_point nf[FL_NF_FAMILIES][FL_NF_POINTS];
};

/*
 * The one value of the map fl_vitals_map, memory that the program and the daemon share. The daemon clears `reading`, runs the
 * program, and copies. table_functions: addresses of the hook functions whose private pointer is a struct xt_table (0: unused);
 * the daemon alone can name them.
 */
#define FL_TABLE_FUNCTIONS 8
struct fl_vitals_area {
	struct fl_vitals reading;
	__u64 table_functions[FL_TABLE_FUNCTIONS];
};

FL_STATIC_ASSERT(sizeof(struct fl_nf_hook) == 32, "fl_nf_hook");
FL_STATIC_ASSERT(sizeof(struct fl_nf_point) == 8 + 16 * 32, "fl_nf_point");
FL_STATIC_ASSERT(sizeof(struct fl_vitals) == 32 + 6 * 520, "fl_vitals");
FL_STATIC_ASSERT(sizeof(struct fl_vitals_area) == 32 + 6 * 520 + 64, "fl_vitals_area");

#endif
