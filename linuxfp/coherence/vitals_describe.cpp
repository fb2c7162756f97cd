// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "linuxfp/coherence/kallsyms.hpp"
#include "linuxfp/coherence/vitals_reader.hpp"

namespace fastlet::linuxfp {
namespace {

std::uint32_t listed(const fl_nf_point& point) { return std::min<std::uint32_t>(point.count, FL_NF_MAX_HOOKS); }

NetfilterHook describe(const fl_nf_hook& hook, const SymbolNames& names) {
    NetfilterHook result;
    if (const auto name = names.find(hook.function); name != names.end()) result.function = name->second;
    result.legacyTable = hook.table_state != FL_TABLE_NONE;
    result.legacyEmpty = hook.table_state == FL_TABLE_PASSES;
    return result;
}

}  // namespace

// iptable_raw, _filter and _security register ipt_do_table itself. The nat table hangs below nf_nat_* and is no hook of its own.
const std::set<std::string>& legacyTableFunctions() {
    static const std::set<std::string> names{"ipt_do_table", "ip6t_do_table", "iptable_mangle_hook", "ip6table_mangle_hook"};
    return names;
}

std::set<std::uint64_t> hookFunctions(const fl_vitals& reading) {
    std::set<std::uint64_t> functions;
    for (const auto& family : reading.nf)
        for (const auto& point : family)
            for (std::uint32_t i = 0; i < listed(point); ++i) functions.insert(point.hooks[i].function);
    return functions;
}

Vitals describeVitalsWith(const fl_vitals& reading, const SymbolNames& names) {
    Vitals vitals;
    vitals.available = true;
    vitals.unknown = reading.unknown;
    for (std::size_t family = 0; family < FL_NF_FAMILIES; ++family)
        for (std::size_t point = 0; point < FL_NF_POINTS; ++point) {
            const auto& from = reading.nf[family][point];
            if (from.count > FL_NF_MAX_HOOKS) vitals.unknown |= FL_UNKNOWN_HOOKS;
            for (std::uint32_t i = 0; i < listed(from); ++i)
                vitals.hooks[family][point].push_back(describe(from.hooks[i], names));
        }
    vitals.xfrmPolicies = reading.xfrm_policies;
    vitals.xfrmDefaultBlock = reading.xfrm_default_block;
    vitals.customLocalRoutes4 = reading.custom_local_routes4;
    vitals.customRules4 = reading.custom_rules4;
    vitals.customRules6 = reading.custom_rules6;
    vitals.multipathPolicy4 = reading.multipath_policy4;
    vitals.multipathPolicy6 = reading.multipath_policy6;
    vitals.forwardUsePmtu4 = reading.fwd_use_pmtu4;
    vitals.forwardUpdatePriority4 = reading.fwd_update_priority4;
    vitals.proxyNdpAll = reading.proxy_ndp_all;
    vitals.forwarding6All = reading.forwarding6_all;
    vitals.tclassidUsers4 = reading.tclassid_users4;
    return vitals;
}

Vitals describeVitals(const fl_vitals& reading) {
    static std::mutex mutex;
    static KernelSymbols symbols;
    const std::lock_guard lock(mutex);
    return describeVitalsWith(reading, symbols.names(hookFunctions(reading)));
}

}  // namespace fastlet::linuxfp
