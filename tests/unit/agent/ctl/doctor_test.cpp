// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/doctor.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>

namespace fastlet::agent {
namespace {

using Files = std::map<std::string, std::string>;

Files router() {
    return {{"/proc/sys/kernel/osrelease", "6.12.1-amd64\n"},
            {"/sys/kernel/btf/vmlinux", ""},
            {"/sys/kernel/security/lockdown", "none [integrity] confidentiality\n"},
            {"/proc/self/status", "Name:\tfastctl\nCapEff:\t000001ffffffffff\n"},
            {"/proc/sys/net/core/bpf_jit_enable", "1\n"},
            {"/proc/sys/kernel/kptr_restrict", "1\n"},
            {"/proc/sys/net/ipv4/ip_forward", "1\n"},
            {"/proc/net/dev", "Inter-|\n face |\n  eth0: 0 0\n"},
            {"/sys/class/net/eth0/device", ""},
            {"/sys/class/net/eth0/mtu", "1500\n"},
            {"/proc/net/packet", "sk RefCnt\n"}};
}

Patient patient(Files files) {
    auto shared = std::make_shared<Files>(std::move(files));
    return {[shared](const std::string& path) -> Result<std::string> {
                const auto found = shared->find(path);
                if (found == shared->end()) return Error::fromErrno(path, ENOENT);
                return found->second;
            },
            [shared](const std::string& path) { return shared->contains(path); }, [] { return Status{}; }};
}

Json examined(Files files) { return toJson(examine(patient(std::move(files)))); }

Json check(const Json& report, const std::string& name) {
    for (const auto& one : report["checks"])
        if (one["name"] == name && one["health"] != "ok") return one;
    return {};
}

TEST(DoctorTest, AHealthyRouterHasNothingToComplainAbout) {
    const Json report = examined(router());
    EXPECT_EQ(report["ok"], true);
    for (const auto& one : report["checks"]) {
        EXPECT_EQ(one["health"], "ok") << one;
        for (const char* key : {"name", "ok", "detail", "hint"}) EXPECT_TRUE(one.contains(key)) << key;
    }
}

TEST(DoctorTest, WhatIsNeededFailsWithAHint) {
    const std::map<std::string, std::pair<std::string, std::string>> broken = {
        {"kernel", {"/proc/sys/kernel/osrelease", "5.10.0\n"}},
        {"lockdown", {"/sys/kernel/security/lockdown", "none integrity [confidentiality]\n"}},
        {"capabilities", {"/proc/self/status", "CapEff:\t0000000000000000\n"}}};
    for (const auto& [name, file] : broken) {
        auto files = router();
        files[file.first] = file.second;
        const Json report = examined(files);
        EXPECT_EQ(report["ok"], false) << name;
        EXPECT_EQ(check(report, name)["ok"], false) << name;
        EXPECT_NE(check(report, name)["hint"], "") << name;
    }
    auto files = router();
    files.erase("/sys/kernel/btf/vmlinux");
    EXPECT_EQ(check(examined(files), "btf")["ok"], false);
}

TEST(DoctorTest, WhatIsOnlyLostIsAWarning) {
    auto files = router();
    files["/proc/sys/kernel/osrelease"] = "6.1.0-1-amd64\n";
    files["/proc/sys/net/ipv4/ip_forward"] = "0\n";
    files["/proc/sys/kernel/kptr_restrict"] = "2\n";
    files["/sys/class/net/eth0/mtu"] = "9000\n";
    files["/proc/net/packet"] = "sk RefCnt\nffff 3 3 0003 2 1 0 0 1\n";
    const Json report = examined(files);
    EXPECT_EQ(report["ok"], true);
    for (const char* name : {"xdp", "tc", "forwarding", "symbols", "mtu", "captures"}) {
        EXPECT_EQ(check(report, name)["health"], "warn") << name;
        EXPECT_EQ(check(report, name)["ok"], true) << name;
    }
}

}  // namespace
}  // namespace fastlet::agent
