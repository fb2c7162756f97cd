// SPDX-License-Identifier: Apache-2.0
// Hooks of the real kernel, in a network namespace of each test's own.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include "linuxfp/deploy/bpf_kernel.hpp"
#include "linuxfp/deploy/cleanup.hpp"
#include "linuxfp/deploy/instance_lock.hpp"
#include "linuxfp/deploy/tc_hook.hpp"
#include "linuxfp/deploy/xdp_hook.hpp"
#include "linuxfp/introspect/hook_inspector.hpp"
#include "tests/fakes/temporary_directory.hpp"

namespace fastlet::linuxfp {
namespace {

class DeployTest : public testing::Test {
protected:
    void SetUp() override {
        if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs CAP_SYS_ADMIN: run as root";
        run("ip link add v0 type veth peer name v1");
        run("ip link set v0 up && ip link set v1 up");
        v0_ = ::if_nametoindex("v0");
        ASSERT_NE(v0_, 0U);
        auto opened = Ledger::open(directory_.path());
        ASSERT_TRUE(opened);
        ledger_ = *opened;
    }

    static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
    std::unique_ptr<BpfKernel> kernel(bool tcx = true) {
        auto opened = openBpfKernel({tcx, &ledger_});
        if (!opened) throw std::runtime_error(opened.error().message);
        return std::move(*opened);
    }
    static LoadedProgram load(BpfKernel& kernel, Hook hook, std::uint8_t ipv4 = 1) {
        fl_shape shape{};
        shape.ipv4 = ipv4;
        auto loaded = kernel.load(hook, shape);
        if (!loaded) throw std::runtime_error(loaded.error().message);
        return *loaded;
    }
    std::vector<AttachedProgram> tcx() { return *realHookInspector()->tcx(v0_, true); }
    AttachedProgram xdp() { return xdpOccupant(v0_)->native; }
    static int foreignProgram(bpf_prog_type type) {
        const std::array<bpf_insn, 2> pass{
            bpf_insn{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, type == BPF_PROG_TYPE_XDP ? XDP_PASS : -1},
            bpf_insn{BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
        return bpf_prog_load(type, "stranger", "GPL", pass.data(), pass.size(), nullptr);
    }
    /// A child that attaches both hooks and is killed, as a daemon would be.
    void leaveBehind() {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto mine = kernel(false);
            const bool done = mine->attachXdp(v0_, load(*mine, Hook::xdp)) && mine->attachTc(v0_, load(*mine, Hook::tc));
            ::raise(done ? SIGKILL : SIGABRT);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        ledger_ = *Ledger::open(directory_.path());
    }

    fastlet::fake::TemporaryDirectory directory_;
    Ledger ledger_;
    std::uint32_t v0_ = 0;
};

TEST_F(DeployTest, XdpIsAttachedSwappedAndDetached) {
    auto mine = kernel();
    const auto first = load(*mine, Hook::xdp);
    const auto second = load(*mine, Hook::xdp, 0);
    ASSERT_NE(first.id, second.id);
    ASSERT_TRUE(mine->attachXdp(v0_, first));
    EXPECT_EQ(xdp().id, first.id);
    EXPECT_TRUE(xdp().ours);
    ASSERT_TRUE(mine->attachXdp(v0_, second));
    EXPECT_EQ(xdp().id, second.id);
    EXPECT_TRUE(mine->leftovers()->empty()) << "what this process placed is not left over";
    ASSERT_TRUE(mine->detachXdp(v0_));
    EXPECT_EQ(xdp().id, 0U);
    EXPECT_TRUE(mine->detachXdp(v0_)) << "nothing there is success";
}

TEST_F(DeployTest, ForeignXdpIsNeitherReplacedNorRemoved) {
    const Fd stranger(foreignProgram(BPF_PROG_TYPE_XDP));
    ASSERT_TRUE(stranger.valid());
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(v0_), stranger.get(), XDP_FLAGS_DRV_MODE, nullptr), 0);
    auto mine = kernel();
    const auto refused = mine->attachXdp(v0_, load(*mine, Hook::xdp));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EEXIST);
    EXPECT_NE(refused.error().message.find("stranger"), std::string::npos);
    EXPECT_TRUE(mine->detachXdp(v0_));
    EXPECT_EQ(xdp().name, "stranger");
}

TEST_F(DeployTest, ForeignGenericXdpIsLeftAlone) {
    const Fd stranger(foreignProgram(BPF_PROG_TYPE_XDP));
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(v0_), stranger.get(), XDP_FLAGS_SKB_MODE, nullptr), 0);
    auto mine = kernel();
    const auto refused = mine->attachXdp(v0_, load(*mine, Hook::xdp));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EEXIST);
    EXPECT_TRUE(xdpOccupant(v0_)->other);
}

TEST_F(DeployTest, AdministratorMayTakeXdpOffAndChangeTheMtu) {
    auto mine = kernel();
    ASSERT_TRUE(mine->attachXdp(v0_, load(*mine, Hook::xdp)));
    run("ip link set v0 mtu 9000 && ip link set v1 mtu 9000");
    run("ip link set dev v0 xdp off");
    EXPECT_EQ(xdp().id, 0U);
}

TEST_F(DeployTest, TcxIsAttachedSwappedAndDetached) {
    auto mine = kernel();
    const auto first = load(*mine, Hook::tc);
    const auto second = load(*mine, Hook::tc, 0);
    ASSERT_TRUE(mine->attachTc(v0_, first));
    if (tcx().empty()) GTEST_SKIP() << "this kernel has no TCX (before 6.6)";
    EXPECT_EQ(tcx().front().id, first.id);
    ASSERT_TRUE(mine->attachTc(v0_, second));
    ASSERT_EQ(tcx().size(), 1U);
    EXPECT_EQ(tcx().front().id, second.id);
    ASSERT_TRUE(mine->detachTc(v0_));
    EXPECT_TRUE(tcx().empty());
}

TEST_F(DeployTest, TcIsAttachedAnewAfterTheInterfaceWasMadeAnew) {
    auto mine = kernel();
    const auto program = load(*mine, Hook::tc);
    ASSERT_TRUE(mine->attachTc(v0_, program));
    run("ip link del v0 && ip link add v0 index " + std::to_string(v0_) + " type veth peer name v1 && ip link set v0 up");
    ASSERT_TRUE(mine->attachTc(v0_, program));
    ASSERT_EQ(tcx().size(), 1U);
    EXPECT_EQ(tcx().front().id, program.id);
}

TEST_F(DeployTest, ClsactIsMadeUsedAndTakenAwayAgain) {
    auto mine = kernel(false);
    const auto program = load(*mine, Hook::tc);
    ASSERT_TRUE(mine->attachTc(v0_, program));
    EXPECT_EQ(clsactProgram(v0_).id, program.id);
    EXPECT_TRUE(ledger_.has("clsact", v0_));
    ASSERT_TRUE(mine->attachTc(v0_, load(*mine, Hook::tc, 0)));
    EXPECT_NE(clsactProgram(v0_).id, program.id);
    ASSERT_TRUE(mine->detachTc(v0_));
    EXPECT_EQ(clsactProgram(v0_).id, 0U);
    run("test -z \"$(tc qdisc show dev v0 | grep clsact)\"");
    EXPECT_FALSE(ledger_.has("clsact", v0_));
}

TEST_F(DeployTest, SomebodyElsesClsactStays) {
    run("tc qdisc add dev v0 clsact");
    auto mine = kernel(false);
    ASSERT_TRUE(mine->attachTc(v0_, load(*mine, Hook::tc)));
    EXPECT_FALSE(ledger_.has("clsact", v0_));
    ASSERT_TRUE(mine->detachTc(v0_));
    run("tc qdisc show dev v0 | grep -q clsact");
}

TEST_F(DeployTest, ClsactOfOursStaysWhileSomebodyElseUsesIt) {
    auto mine = kernel(false);
    ASSERT_TRUE(mine->attachTc(v0_, load(*mine, Hook::tc)));
    run("tc filter add dev v0 egress protocol ip prio 7 u32 match u32 0 0 flowid 1:1");
    ASSERT_TRUE(mine->detachTc(v0_));
    run("tc filter show dev v0 egress | grep -q u32");
}

TEST_F(DeployTest, RedirectTargetOfAMissingInterfaceIsAnError) {
    auto mine = kernel();
    EXPECT_TRUE(mine->setRedirectTarget(v0_, true));
    EXPECT_TRUE(mine->setRedirectTarget(v0_, false));
    EXPECT_TRUE(mine->setRedirectTarget(v0_, false));
    EXPECT_FALSE(mine->setRedirectTarget(999, true));
}

TEST_F(DeployTest, LocalAddressesAreInTheFilter) {
    auto mine = kernel();
    const std::uint32_t a = 0x0100000a;
    const std::uint32_t b = 0x0200000a;
    const auto bit = [&](std::uint32_t address) {
        const std::uint32_t hash = FL_LOCAL4_HASH(address);
        return mine->shared().local->bits[hash >> 5] >> (hash & 31) & 1;
    };
    ASSERT_TRUE(mine->setLocalAddresses({a}));
    EXPECT_EQ(bit(a), 1U);
    EXPECT_EQ(bit(b), 0U);
    ASSERT_TRUE(mine->setLocalAddresses({b}));
    EXPECT_EQ(bit(a), 0U);
    EXPECT_EQ(bit(b), 1U);
}

TEST_F(DeployTest, CleanupRemovesWhatAKilledDaemonLeft) {
    leaveBehind();
    EXPECT_EQ(xdp().name, "fastlet_xdp");
    EXPECT_EQ(*kernel()->leftovers(), std::vector<std::uint32_t>{v0_});
    const auto listed = cleanup({true, directory_.path()});
    ASSERT_TRUE(listed);
    EXPECT_EQ(listed->items.size(), 3U) << "XDP program, tc filter, clsact qdisc";
    EXPECT_EQ(xdp().name, "fastlet_xdp") << "a dry run removes nothing";
    const auto removed = cleanup({false, directory_.path()});
    ASSERT_TRUE(removed);
    for (const auto& item : removed->items) EXPECT_TRUE(item.removed) << item.what << ": " << item.error;
    EXPECT_EQ(xdp().id, 0U);
    run("test -z \"$(tc qdisc show dev v0 | grep clsact)\"");
    EXPECT_TRUE(Ledger::open(directory_.path())->entries().empty());
    EXPECT_TRUE(cleanup({false, directory_.path()})->items.empty()) << "idempotent";
}

TEST_F(DeployTest, CleanupDoesNotTouchForeignPrograms) {
    const Fd stranger(foreignProgram(BPF_PROG_TYPE_XDP));
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(v0_), stranger.get(), XDP_FLAGS_DRV_MODE, nullptr), 0);
    ASSERT_TRUE(cleanup({false, directory_.path()})->items.empty());
    EXPECT_EQ(xdp().name, "stranger");
}

TEST_F(DeployTest, CleanupRefusesWhileADaemonRuns) {
    const auto lock = takeInstanceLock();
    ASSERT_TRUE(lock);
    EXPECT_FALSE(takeInstanceLock()) << "one daemon in a network namespace";
    EXPECT_FALSE(cleanup({false, directory_.path()}));
    EXPECT_TRUE(cleanup({true, directory_.path()}));
}

}  // namespace
}  // namespace fastlet::linuxfp
