# SPDX-License-Identifier: Apache-2.0
"""The configuration changes while traffic runs: from 50 ms after the command, packets are treated as Linux would, on both hooks;
taken away again, the fast path comes back by itself. And the user's own commands mean what they meant."""
import functools
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab import TC, XDP, Lab, Stream, run_tests, sh, wait_until  # noqa: E402

BOUND = 0.05  # seconds
NAT = "add table ip n; add chain ip n p { type nat hook prerouting priority -100; }; add rule ip n p udp dport 9 dnat to 10.0.2.99"
FILTER = "add table ip t; add chain ip t f { type filter hook forward priority 0; }; add rule ip t f udp dport 9 drop"
POLICY = "add table ip s; add chain ip s f { type filter hook forward priority 0; policy drop; }"
# name, what stops the traffic on a plain router, what lets it through again
CHANGES = [
    ("nft rule", f'nft "{FILTER}"', "nft delete table ip t"),
    ("nft policy", f'nft "{POLICY}"', "nft delete table ip s"),
    ("nft nat rule", f'nft "{NAT}"', "nft delete table ip n"),
    ("iptables rule", "iptables -A FORWARD -p udp -j DROP", "iptables -F FORWARD"),
    ("blackhole route", "ip route add blackhole 10.0.2.2/32", "ip route del blackhole 10.0.2.2/32"),
    ("prohibiting rule", "ip rule add from 10.0.1.0/24 prohibit", "ip rule del from 10.0.1.0/24 prohibit"),
    ("local address", "ip addr add 10.0.2.2/32 dev in0", "ip addr del 10.0.2.2/32 dev in0"),
    ("forwarding off", "sysctl -qw net.ipv4.ip_forward=0", "sysctl -qw net.ipv4.ip_forward=1"),
    ("forwarding off on one", "sysctl -qw net.ipv4.conf.in0.forwarding=0", "sysctl -qw net.ipv4.conf.in0.forwarding=1"),
    ("xfrm policy", "ip xfrm policy add dir fwd src 10.0.1.0/24 dst 10.0.2.0/24 action block", "ip xfrm policy flush"),
    ("shaper that drops", "tc qdisc add dev out0 root tbf rate 1kbit burst 20 latency 1ms", "tc qdisc del dev out0 root"),
    ("egress filter", "tc qdisc add dev out0 clsact && tc filter add dev out0 egress bpf da bytecode \"1,6 0 0 2,\"",
     "tc qdisc del dev out0 clsact"),
    ("ingress filter", "tc qdisc add dev in0 clsact && tc filter add dev in0 ingress bpf da bytecode \"1,6 0 0 2,\"",
     "tc qdisc del dev in0 clsact"),
    ("neighbour that fails", "ip neigh replace 10.0.2.2 dev out0 nud permanent lladdr 02:00:00:00:99:99",
     "ip neigh del 10.0.2.2 dev out0"),
]
LEGACY = ("iptables-legacy rule", "iptables-legacy -A FORWARD -p udp -j DROP", "iptables-legacy -F FORWARD")


def on(hook):
    return {"tc": TC, "xdp": XDP}[hook]


def on_each_hook(test):
    """The test, with a daemon that accelerates by tc, then with one that does by XDP."""
    @functools.wraps(test)
    def both(self):
        for hook in ("tc", "xdp"):
            self.lab.start(config=on(hook))
            wait_until(lambda: self.lab.fast(hook=hook) and self.passes_fast(), what=f"fast on {hook}")
            test(self, hook)
            self.assertEqual(self.lab.terminate(), 0, self.lab.daemon_log())
    return both


class ChangeCase(unittest.TestCase):
    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.lab.make_ready_for_xdp()

    def passes_fast(self):
        before = self.lab.counters()["fast_packets"]
        return len(self.lab.send(20, port=10)) == 20 and self.lab.counters()["fast_packets"] - before >= 15

    def check(self, change, hook):
        name, do, undo = change
        wait_until(lambda: self.lab.fast(hook=hook) and self.passes_fast(), what=f"{name}: the fast path is there before")
        with Stream(self.lab) as stream:
            time.sleep(0.05)
            begun = time.monotonic()
            self.lab.router_script(do)
            returned = time.monotonic()
            time.sleep(0.25)
            passed = stream.passed()
            late = [when - returned for when in passed if when > returned]
            self.assertTrue(any(when > begun - 0.05 for when in passed), f"{name}: nothing passed before")
            self.assertLess(max(late, default=0), BOUND, f"{name}, {hook}: {len(late)} packets passed after the command")
        self.lab.router(undo)
        wait_until(lambda: self.lab.fast(hook=hook) and self.passes_fast(), what=f"{name}, {hook}: the fast path is back")


class WhileTrafficRuns(ChangeCase):
    def check_all(self, hook):
        self.lab.start(config=on(hook))
        for change in CHANGES:
            with self.subTest(change[0]):
                self.check(change, hook)

    def test_on_tc(self):
        self.check_all("tc")

    def test_on_xdp(self):
        self.check_all("xdp")

    def test_iptables_legacy(self):
        if self.lab.router("iptables-legacy -L -n", check=False).returncode:
            self.skipTest("this kernel has no iptables-legacy")
        for hook in ("tc", "xdp"):
            with self.subTest(hook):
                self.lab.start(config=on(hook))
                for _ in range(3):
                    self.check(LEGACY, hook)
                self.lab.terminate()


class UsersCommands(ChangeCase):
    """Each goes on working with Fastlet in place, and means what it meant."""

    def fast_again(self, hook, name="in0"):
        wait_until(lambda: self.lab.fast(name, hook) and self.passes_fast(), what=f"{name} is fast again on {hook}")

    @on_each_hook
    def test_mtu_up_down_and_address(self, hook):
        self.lab.router("ip link set in0 mtu 9000")
        self.assertIn("mtu 9000", self.lab.router("ip link show in0").stdout)
        self.fast_again(hook)
        self.lab.router("ip link set in0 mtu 1500")
        self.lab.router("ip link set in0 down")
        self.assertEqual(self.lab.send(10), [])
        self.lab.router("ip link set in0 up")
        self.fast_again(hook)
        self.lab.router("ip link set in0 address 02:00:00:00:07:07")
        sh(f"ip -n {self.lab.a} neigh flush dev a0")  # Linux does not tell the neighbours either
        self.fast_again(hook)

    @on_each_hook
    def test_rename(self, hook):
        self.lab.router_script("ip link set in0 down; ip link set in0 name new0; ip link set new0 up")
        self.fast_again(hook, "new0")
        self.assertNotIn("in0", [one["name"] for one in self.lab.status()["linuxfp"]["interfaces"]])
        self.lab.router_script("ip link set new0 down; ip link set new0 name in0; ip link set in0 up")
        self.fast_again(hook)

    @on_each_hook
    def test_to_another_namespace_and_back(self, hook):
        other = f"{self.lab.r}{hook}"
        sh(f"ip netns add {other}")
        self.addCleanup(sh, f"ip netns del {other}", check=False)
        self.lab.router(f"ip link set out0 netns {other}")
        wait_until(lambda: "out0" not in [one["name"] for one in self.lab.status()["linuxfp"]["interfaces"]], what="out0 is gone")
        self.assertEqual(self.lab.send(10), [])
        sh(f"ip -n {other} link set out0 netns {self.lab.r}")
        self.lab.router_script("ip addr add 10.0.2.1/24 dev out0; ip link set out0 up")
        self.fast_again(hook, "out0")
        self.fast_again(hook)

    def xdp_object(self):
        source = pathlib.Path(self.lab.directory, "pass.bpf.c")
        source.write_text('__attribute__((section("xdp"), used)) int users_own(void *ctx) { return 2; }\n'
                          'char LICENSE[] __attribute__((section("license"), used)) = "GPL";\n')
        target = source.with_suffix(".o")
        sh(f"clang -target bpf -O2 -g -c {source} -o {target}")
        return target

    @on_each_hook
    def test_own_xdp_program_is_left_alone(self, hook):
        program = self.xdp_object()
        force = "-force " if hook == "xdp" else ""  # as with any program that is there already
        self.lab.router(f"ip {force}link set dev in0 xdp obj {program} sec xdp")
        if hook == "xdp":
            wait_until(lambda: "ipv4-forward" not in self.lab.interface("in0")["accelerates"], what="the program is noticed")
            self.assertTrue(any("users_own" in reason for reason in self.lab.interface("in0")["reasons"]), self.lab.interface("in0"))
        else:
            self.fast_again(hook)  # tc comes after XDP, as the rest of Linux does
        self.assertEqual(len(self.lab.send(20)), 20)
        self.assertIn("users_own", self.lab.router("ip -d link show in0").stdout)
        self.lab.router("ip link set dev in0 xdp off")
        self.fast_again(hook)

    def test_xdp_off_while_ours_is_there(self):
        self.lab.start(config=XDP)
        wait_until(lambda: self.lab.fast(hook="xdp") and self.passes_fast(), what="fast")
        self.lab.router("ip link set dev in0 xdp off")
        self.assertEqual(len(self.lab.send(20)), 20)
        self.fast_again("xdp")

    @on_each_hook
    def test_capture_sees_all_packets(self, hook):
        for device in ("in0", "out0"):
            capture = subprocess.Popen(["ip", "netns", "exec", self.lab.r, "tcpdump", "-ni", device, "-c", "100", "udp", "port", "9"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            wait_until(lambda: device in capture.stderr.readline(), what="tcpdump listens")
            time.sleep(BOUND)
            self.assertEqual(len(self.lab.send(100)), 100)
            seen, _ = capture.communicate(timeout=10)
            self.assertEqual(len(seen.strip().splitlines()), 100, f"on {device}, {hook}")
            self.fast_again(hook)

    @on_each_hook
    def test_five_hundred_veths_come_and_go(self, hook):
        def batch(command):
            path = pathlib.Path(self.lab.directory, "batch")
            path.write_text("".join(command.format(i) + "\n" for i in range(250)))
            self.lab.router(f"ip -batch {path}")
        with Stream(self.lab) as stream:
            batch("link add left{0} up type veth peer name right{0}")
            wait_until(lambda: len(self.lab.status()["linuxfp"]["interfaces"]) >= 503, seconds=30, what="all are known")
            batch("link del left{0}")
            wait_until(lambda: len(self.lab.status()["linuxfp"]["interfaces"]) == 3, seconds=30, what="all are gone")
            self.fast_again(hook)
            time.sleep(0.1)
        # Attaching XDP to a new veth takes packets from nobody else.
        self.assertLessEqual(stream.lost(), len(stream.sent) // 100)


class Tcp(ChangeCase):
    def transfer(self, amount):
        self.assertEqual(len(self.lab.transfer(bytes(amount))), amount)

    def leave_checksums_to_the_device(self):
        """As a veth does by default."""
        for namespace, device in ((self.lab.a, "a0"), (self.lab.b, "b0")):
            sh(f"ip netns exec {namespace} ethtool -K {device} tx on")

    def test_whole_on_xdp_with_checksums_left_to_the_device(self):
        """The veth default: packets whose checksum nobody has computed go to Linux, and TCP lives."""
        self.leave_checksums_to_the_device()
        self.lab.start(config=XDP)
        wait_until(lambda: self.lab.fast(hook="xdp"), what="fast")
        self.transfer(5_000_000)

    def test_whole_on_xdp_with_checksums_in_the_packets(self):
        self.lab.start(config=XDP)
        wait_until(lambda: self.lab.fast(hook="xdp"), what="fast")
        before = self.lab.counters()["fast_packets"]
        self.transfer(5_000_000)
        self.assertGreater(self.lab.counters()["fast_packets"] - before, 1000)

    def test_super_packets_stay_whole_on_tc(self):
        self.leave_checksums_to_the_device()
        self.lab.start(config=TC)
        before = self.lab.counters()["fast_packets"]
        self.transfer(20_000_000)
        packets = self.lab.counters()["fast_packets"] - before
        self.assertGreater(packets, 100)
        self.assertLess(packets, 20_000_000 / 1448, "fewer packets than segments: nobody has cut them up")


if __name__ == "__main__":
    run_tests()
