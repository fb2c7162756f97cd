// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/doctor.hpp"

#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>

#include "agent/report/table.hpp"
#include "core/text.hpp"

namespace fastlet::agent {
namespace {

struct KernelVersion {
    unsigned major = 0;
    unsigned minor = 0;
    auto operator<=>(const KernelVersion&) const = default;
};

constexpr KernelVersion kOldest{6, 1};
constexpr KernelVersion kRedirectFeatures{6, 3};
constexpr KernelVersion kTcx{6, 6};
// Beyond it, a driver without multi-buffer XDP refuses native XDP: a page less its head and tail room.
constexpr unsigned long kPageMtu = 3498;

struct Capability {
    int number;
    const char* name;
    Health without;
    const char* use;
};
constexpr Capability kCapabilities[] = {
    {CAP_BPF, "CAP_BPF", Health::fail, "to load programs"},
    {CAP_NET_ADMIN, "CAP_NET_ADMIN", Health::fail, "to attach programs to interfaces"},
    {CAP_PERFMON, "CAP_PERFMON", Health::fail, "to read the settings that the kernel does not announce"},
    {CAP_SYSLOG, "CAP_SYSLOG", Health::warn, "to tell netfilter hooks apart; without it, each one means: left to Linux"},
    {CAP_NET_RAW, "CAP_NET_RAW", Health::warn, "to ask whether tables of iptables-legacy are empty"},
    {CAP_SYS_NICE, "CAP_SYS_NICE", Health::warn, "for the real-time priority of the thread that watches the configuration"},
};

std::string firstLine(std::string text) {
    text.erase(std::min(text.find('\n'), text.size()));
    return text;
}

std::optional<unsigned long> number(const Patient& patient, const std::string& path) {
    const auto text = patient.read(path);
    if (!text) return std::nullopt;
    char* end = nullptr;
    errno = 0;
    const unsigned long value = std::strtoul(text->c_str(), &end, 10);
    return end == text->c_str() || errno != 0 ? std::nullopt : std::optional(value);
}

class Examination {
public:
    explicit Examination(const Patient& patient) : patient_(patient) {}

    std::vector<Finding> run() {
        kernel();
        btf();
        lockdown();
        capabilities();
        jit();
        symbols();
        forwarding();
        interfaces();
        others();
        daemon();
        return std::move(findings_);
    }

private:
    void add(const char* check, Health health, std::string text, std::string hint = {}) {
        findings_.push_back({check, health, std::move(text), std::move(hint)});
    }

    void kernel() {
        const auto release = patient_.read("/proc/sys/kernel/osrelease");
        KernelVersion version;
        if (!release || std::sscanf(release->c_str(), "%u.%u", &version.major, &version.minor) != 2)
            return add("kernel", Health::fail, "the kernel's version cannot be read", "is /proc mounted?");
        const std::string name = "Linux " + firstLine(*release);
        if (version < kOldest)
            add("kernel", Health::fail, name + " is too old", fmt::format("{}.{} is needed", kOldest.major, kOldest.minor));
        else
            add("kernel", Health::ok, name);
        if (version >= kTcx)
            add("tc", Health::ok, "programs at tc are attached by TCX links");
        else
            add("tc", Health::warn, "no TCX before 6.6: a clsact qdisc is added to accelerated interfaces",
                "`fastctl cleanup` removes what a killed daemon leaves");
        if (version >= kRedirectFeatures)
            add("xdp", Health::ok, "the kernel tells which interfaces take XDP redirects");
        else
            add("xdp", Health::warn,
                "before 6.3 the kernel does not tell which interfaces take XDP redirects: none is used as a target",
                "leave virtual_hook at \"tc\"");
    }

    void btf() {
        if (patient_.exists("/sys/kernel/btf/vmlinux"))
            add("btf", Health::ok, "the kernel describes its types");
        else
            add("btf", Health::fail, "/sys/kernel/btf/vmlinux is missing",
                "use a kernel built with CONFIG_DEBUG_INFO_BTF; in a container, mount /sys");
    }

    void lockdown() {
        const auto mode = patient_.read("/sys/kernel/security/lockdown");
        if (mode && mode->find("[confidentiality]") != std::string::npos)
            add("lockdown", Health::fail, "lockdown=confidentiality forbids BPF programs to read the kernel's settings",
                "lockdown=integrity is enough for secure boot");
        else
            add("lockdown", Health::ok, "BPF programs may read the kernel's settings");
    }

    void capabilities() {
        const auto status = patient_.read("/proc/self/status");
        const auto at = status ? status->find("CapEff:") : std::string::npos;
        if (at == std::string::npos)
            return add("capabilities", Health::fail, "this process's capabilities cannot be read", "is /proc mounted?");
        const std::uint64_t effective = std::strtoull(status->c_str() + at + 7, nullptr, 16);
        const auto has = [&](int capability) { return (effective >> capability & 1) != 0; };
        bool complete = true;
        for (const auto& one : kCapabilities) {
            const bool implied = has(CAP_SYS_ADMIN) && (one.number == CAP_BPF || one.number == CAP_PERFMON);
            if (has(one.number) || implied) continue;
            complete = false;
            add("capabilities", one.without, fmt::format("{} is missing: {}", one.name, one.use),
                one.without == Health::fail ? "run as root, or give the service this capability" : "");
        }
        if (complete) add("capabilities", Health::ok, "all that are needed");
    }

    void jit() {
        const auto value = number(patient_, "/proc/sys/net/core/bpf_jit_enable");
        if (value && *value == 0)
            add("jit", Health::warn, "BPF programs are interpreted, which is slow", "sysctl -w net.core.bpf_jit_enable=1");
        else if (value)
            add("jit", Health::ok, "BPF programs are compiled");
        else
            add("jit", Health::warn, "net.core.bpf_jit_enable cannot be read",
                "the kernel shows it to root in the initial network namespace only");
    }

    void symbols() {
        if (number(patient_, "/proc/sys/kernel/kptr_restrict") == 2UL)
            add("symbols", Health::warn,
                "kernel.kptr_restrict=2 hides the names of netfilter hooks: a family with hooks is left to Linux",
                "sysctl -w kernel.kptr_restrict=1");
        else
            add("symbols", Health::ok, "netfilter hooks can be told apart by name");
    }

    void forwarding() {
        const bool ipv4 = number(patient_, "/proc/sys/net/ipv4/ip_forward").value_or(0) != 0;
        const bool ipv6 = number(patient_, "/proc/sys/net/ipv6/conf/all/forwarding").value_or(0) != 0;
        if (ipv4 || ipv6)
            add("forwarding", Health::ok, fmt::format("on for {}", ipv4 && ipv6 ? "IPv4 and IPv6" : ipv4 ? "IPv4" : "IPv6"));
        else
            add("forwarding", Health::warn, "this node does not forward: there is nothing to accelerate",
                "sysctl net.ipv4.ip_forward and net.ipv6.conf.all.forwarding switch it on, if it is to be a router");
    }

    // Hardware only: virtual devices use tc unless the configuration says otherwise.
    void interfaces() {
        const auto table = patient_.read("/proc/net/dev");
        std::istringstream lines(table ? *table : "");
        std::vector<std::string> large;
        for (std::string line; std::getline(lines, line);) {
            const auto colon = line.find(':');
            if (colon == std::string::npos) continue;
            const auto start = line.find_first_not_of(' ');
            const std::string folder = "/sys/class/net/" + line.substr(start, colon - start);
            if (!patient_.exists(folder + "/device")) continue;
            if (number(patient_, folder + "/mtu").value_or(0) > kPageMtu) large.push_back(line.substr(start, colon - start));
        }
        if (large.empty())
            add("mtu", Health::ok, "no interface has an MTU that may hinder native XDP");
        else
            add("mtu", Health::warn,
                fmt::format("MTU above {}: {}; some drivers refuse native XDP then, and Linux goes on alone", kPageMtu,
                            joined(large)),
                "`fastctl fp plan` says what the driver answered");
    }

    void others() {
        for (const char* path : {"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"}) {
            const auto tables = patient_.read(path);
            if (!tables || tables->empty()) continue;
            add("netfilter", Health::warn, fmt::format("iptables-legacy is in use ({}): its rules are left to Linux", path),
                "`fastctl fp plan` says which interfaces that concerns");
        }
        const auto packets = patient_.read("/proc/net/packet");
        const auto sockets = packets ? std::count(packets->begin(), packets->end(), '\n') - 1 : 0;
        if (sockets > 0)
            add("captures", Health::warn,
                fmt::format("{} packet sockets (captures, DHCP, LLDP): where they see all frames, XDP is held", sockets),
                "`fastctl fp plan` says which interfaces that concerns");
        else
            add("captures", Health::ok, "no packet sockets");
    }

    void daemon() {
        if (auto answers = patient_.daemon(); answers)
            add("daemon", Health::ok, "answers");
        else
            add("daemon", Health::warn, answers.error().message, answers.error().hint);
    }

    const Patient& patient_;
    std::vector<Finding> findings_;
};

const char* toString(Health health) {
    switch (health) {
        case Health::ok:
            return "ok";
        case Health::warn:
            return "warn";
        case Health::fail:
            return "fail";
    }
    return "fail";
}

}  // namespace

std::vector<Finding> examine(const Patient& patient) { return Examination(patient).run(); }

bool healthy(const std::vector<Finding>& findings) {
    return std::none_of(findings.begin(), findings.end(), [](const auto& finding) { return finding.health == Health::fail; });
}

Json toJson(const std::vector<Finding>& findings) {
    Json checks = Json::array();
    for (const auto& finding : findings)
        checks.push_back({{"name", finding.check},
                          {"ok", finding.health != Health::fail},
                          {"health", toString(finding.health)},
                          {"detail", finding.text},
                          {"hint", finding.hint}});
    return {{"checks", std::move(checks)}, {"ok", healthy(findings)}};
}

std::string toText(const std::vector<Finding>& findings) {
    std::size_t width = 0;
    for (const auto& finding : findings) width = std::max(width, finding.check.size());
    std::string text;
    for (const auto& finding : findings) {
        text += fmt::format("{:<4}  {:<{}}  {}\n", toString(finding.health), finding.check, width, printable(finding.text));
        if (!finding.hint.empty()) text += fmt::format("{:{}}HINT: {}\n", "", width + 8, printable(finding.hint));
    }
    return text;
}

}  // namespace fastlet::agent
