# SPDX-License-Identifier: Apache-2.0
"""The daemon as its users meet it: an unmodified Linux router, accelerated."""
import hashlib
import json
import os
import pathlib
import platform
import random
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab import BIN, TC, XDP, Lab, Stream, run_tests, sh, wait_until  # noqa: E402



class RouterCase(unittest.TestCase):
    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)


class Forwarding(RouterCase):
    def test_status_keeps_its_contract(self):
        self.lab.start()
        status = self.lab.status()
        self.assertIs(status["ready"], True)
        one = self.lab.interface("in0")
        self.assertEqual(one["hook"], "tc")
        self.assertEqual(one["mode"], "tc")
        self.assertEqual(sorted(one["accelerates"]), ["ipv4-forward", "ipv6-forward"])
        self.assertIs(one["held"], False)
        self.assertIsInstance(one["ifindex"], int)
        self.assertEqual(self.lab.interface("lo")["hook"], "none")
        self.assertTrue(self.lab.interface("lo")["reasons"])
        self.assertEqual(set(status["linuxfp"]["counters"]), {"fast_packets", "slow_packets", "held_packets"})
        self.assertGreaterEqual(status["linuxfp"]["generation"], 1)

    def test_without_a_configuration_veth_is_left_to_linux(self):
        self.lab.start(config="")
        one = self.lab.interface("in0")
        self.assertEqual((one["hook"], one["accelerates"]), ("none", []))
        self.assertTrue(any(reason.startswith("tc-not-faster: ") for reason in one["reasons"]), one)

    def check_both_families(self):
        for family in (socket.AF_INET, socket.AF_INET6):
            before = self.lab.counters()["fast_packets"]
            arrived = self.lab.send(300, family)
            self.assertEqual(arrived, list(range(300)), "all of them, in order")
            self.assertGreaterEqual(self.lab.counters()["fast_packets"] - before, 280)

    def test_tc(self):
        self.lab.start()
        self.check_both_families()

    def test_xdp(self):
        self.lab.make_ready_for_xdp()
        self.lab.start(config=XDP)
        if tuple(map(int, platform.release().split(".")[:2])) < (6, 3):  # nobody tells there which device takes redirected packets
            self.assertEqual(self.lab.interface("in0")["hook"], "none")
            self.assertTrue(any(reason.startswith("no-xdp-target: ") for reason in self.lab.interface("in0")["reasons"]))
            return
        wait_until(lambda: self.lab.interface("in0")["hook"] == "xdp" and self.lab.ready(), what="XDP")
        self.check_both_families()

    def test_tcp_bulk_arrives_whole(self):
        self.lab.start()
        want = random.Random(1).randbytes(20_000_000)
        got = self.lab.transfer(want)
        self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(want).digest())
        self.assertGreater(self.lab.counters()["fast_packets"], 100)

    def test_observe_attaches_nothing(self):
        self.lab.start("--observe")
        self.assertEqual(self.lab.interface("in0")["hook"], "tc", "it says what it would do")
        self.lab.send(50)
        self.assertEqual(self.lab.counters()["fast_packets"], 0)
        self.assertEqual(json.loads(self.lab.ctl("-j", "cleanup", "--dry-run").stdout)["removed"], [])

    def test_off_and_on(self):
        self.lab.start()
        self.lab.ctl("fp", "off", "in0")
        before = self.lab.counters()["fast_packets"]
        self.assertEqual(len(self.lab.send(50)), 50)
        self.assertEqual(self.lab.counters()["fast_packets"], before)
        self.lab.ctl("fp", "on", "in0")
        self.lab.send(50)
        self.assertGreater(self.lab.counters()["fast_packets"], before)

    def test_explain_says_fast_and_where_to(self):
        self.lab.start()
        said = json.loads(self.lab.ctl("-j", "fp", "explain", "in0", "--src", "10.0.1.2", "--dst", "10.0.2.2", "--proto", "udp",
                                       "--sport", "1", "--dport", "9", "--size", "100").stdout)
        self.assertTrue(said["fast"], said)
        self.assertEqual(said["egress"], "out0")
        local = json.loads(self.lab.ctl("-j", "fp", "explain", "in0", "--dst", "10.0.2.1").stdout)
        self.assertFalse(local["fast"], local)


class Coherence(RouterCase):
    def assert_stops(self, command):
        with Stream(self.lab) as stream:
            time.sleep(0.1)
            self.lab.router(command)
            returned = time.monotonic()
            time.sleep(0.4)
        passed = stream.passed()
        self.assertTrue(any(when < returned for when in passed), "nothing passed before the change")
        late = [when - returned for when in passed if when > returned]
        self.assertLess(max(late, default=0), 0.05, f"{len(late)} packets passed after `{command}` had returned")

    def test_nft_rule_is_obeyed(self):
        self.lab.router("nft add table ip t")
        self.lab.router("nft 'add chain ip t f { type filter hook forward priority 0; }'".replace("'", '"'))
        self.lab.start()
        self.assertIn("ipv4-forward", self.lab.interface("in0")["accelerates"], "an empty chain that accepts does nothing")
        self.assert_stops("nft add rule ip t f drop")
        wait_until(lambda: "ipv4-forward" not in self.lab.interface("in0")["accelerates"], what="IPv4 is left to Linux")
        self.assertTrue(any("nft-rules" in reason for reason in self.lab.interface("in0")["reasons"]))
        self.assertIn("ipv6-forward", self.lab.interface("in0")["accelerates"])
        self.lab.router("nft flush ruleset")
        wait_until(self.lab.fast, what="fast again")

    def test_iptables_rule_is_obeyed(self):
        self.lab.start()
        self.assert_stops("iptables -A FORWARD -p udp -j DROP")

    def test_iptables_legacy_rule_is_obeyed(self):
        if self.lab.router("iptables-legacy -L -n", check=False).returncode:
            self.skipTest("this kernel has no iptables-legacy")
        self.lab.start()
        wait_until(lambda: "ipv4-forward" in self.lab.interface("in0")["accelerates"], what="an empty legacy table does nothing")
        self.assert_stops("iptables-legacy -A FORWARD -p udp -j DROP")

    def test_blackhole_route_takes_effect_at_once(self):
        self.lab.start()
        self.assert_stops("ip route add blackhole 10.0.2.2/32")

    def test_forwarding_sysctl_is_obeyed(self):
        self.lab.start()
        self.assert_stops("sysctl -qw net.ipv4.conf.in0.forwarding=0")

    def test_rule_added_while_the_daemon_is_stopped(self):
        self.lab.start()
        self.lab.daemon.send_signal(signal.SIGSTOP)
        time.sleep(0.1)  # longer than the heartbeat's lifetime: from now on all goes to Linux
        self.assert_stops("iptables -A FORWARD -p udp -j DROP")
        self.lab.daemon.send_signal(signal.SIGCONT)
        wait_until(lambda: "ipv4-forward" not in self.lab.interface("in0")["accelerates"], what="it has noticed")

    def test_interface_made_anew_is_accelerated_anew(self):
        self.lab.start()
        self.lab.router("ip link del out0")
        wait_until(lambda: all(one["name"] != "out0" for one in self.lab.status()["linuxfp"]["interfaces"]), what="out0 is gone")
        sh(f"ip -n {self.lab.r} link add out0 type veth peer name b0 netns {self.lab.b}")
        for command in (f"ip -n {self.lab.r} addr add 10.0.2.1/24 dev out0", f"ip -n {self.lab.r} link set out0 up",
                        f"ip -n {self.lab.b} addr add 10.0.2.2/24 dev b0", f"ip -n {self.lab.b} link set b0 up",
                        f"ip -n {self.lab.b} route add default via 10.0.2.1"):
            sh(command)
        wait_until(lambda: sh(f"ip netns exec {self.lab.a} ping -c1 -W1 10.0.2.2", check=False).returncode == 0, what="ping")
        wait_until(self.lab.ready, what="ready again")
        before = self.lab.counters()["fast_packets"]
        self.assertEqual(len(self.lab.send(100)), 100)
        self.assertGreaterEqual(self.lab.counters()["fast_packets"] - before, 90)

    def test_mtu_change_and_capture_work_as_before(self):
        self.lab.start()
        self.lab.router("ip link set in0 mtu 9000")
        self.lab.router("ip link set in0 mtu 1500")
        wait_until(self.lab.ready, what="ready again")
        capture = subprocess.Popen(["ip", "netns", "exec", self.lab.r, "tcpdump", "-ni", "out0", "-c", "20", "udp", "port", "9"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: "out0" in capture.stderr.readline(), what="tcpdump listens")
        self.lab.send(50)
        output, _ = capture.communicate(timeout=10)
        self.assertEqual(len(output.strip().splitlines()), 20)


class Lifecycle(RouterCase):
    def residue(self):
        done = self.lab.ctl("-j", "cleanup", "--dry-run")
        return json.loads(done.stdout)["removed"]

    def test_sigterm_detaches_everything(self):
        self.lab.start()
        self.assertEqual(self.lab.terminate(), 0, self.lab.daemon_log())
        self.assertEqual(self.residue(), [])
        self.assertEqual(len(self.lab.send(50)), 50)
        self.assertFalse(os.path.exists(self.lab.socket_path))

    def reload(self, config):
        pathlib.Path(self.lab.directory, "fastlet.toml").write_text(config)
        self.lab.daemon.send_signal(signal.SIGHUP)

    def test_sighup_reads_the_configuration_again(self):
        self.lab.start(config=TC)
        self.reload(TC + 'exclude = ["in0"]\n')
        wait_until(lambda: self.lab.interface("in0")["hook"] == "none", what="in0 is excluded")
        self.assertEqual(self.lab.interface("out0")["hook"], "tc")
        self.reload("[linuxfp]\nexclude = 7\n")
        wait_until(lambda: "the configuration stays as it was" in self.lab.daemon_log(), what="the invalid one is refused")
        self.assertIn("fastlet.toml:2", self.lab.daemon_log())
        self.assertEqual((self.lab.interface("in0")["hook"], self.lab.interface("out0")["hook"]), ("none", "tc"))
        self.reload(TC)
        wait_until(lambda: self.lab.interface("in0")["hook"] == "tc" and self.lab.ready(), what="in0 is back")
        self.assertEqual(len(self.lab.send(50)), 50)

    def test_sighup_without_a_configuration_changes_nothing(self):
        self.lab.start(config="")
        self.lab.daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: "no configuration file" in self.lab.daemon_log(), what="it says so")
        self.assertTrue(self.lab.ready())

    def test_killed_daemon_leaves_a_working_router(self):
        self.lab.make_ready_for_xdp()
        for config in (XDP, TC):
            self.lab.start(config=config)
            self.lab.send(20)
            self.lab.daemon.kill()
            self.lab.daemon.wait()
            time.sleep(0.1)
            self.assertEqual(len(self.lab.send(100)), 100)
            self.lab.ctl("cleanup")
            self.assertEqual(self.residue(), [])

    def test_next_daemon_takes_over_what_a_killed_one_left(self):
        self.lab.make_ready_for_xdp()
        self.lab.start(config=XDP)
        self.lab.daemon.kill()
        self.lab.daemon.wait()
        self.lab.start(config=XDP)
        self.assertEqual(len(self.lab.send(50)), 50)
        self.assertEqual(self.lab.terminate(), 0)
        self.assertEqual(self.residue(), [])

    def assert_refused(self, done, *words):
        self.assertNotEqual(done.returncode, 0)
        for word in (*words, "HINT"):
            self.assertIn(word, done.stdout + done.stderr)

    def test_second_daemon_is_refused(self):
        self.lab.start()
        self.assert_refused(self.lab.run_to_end(socket_path=f"{self.lab.directory}/other.sock"), "another fastlet")
        self.assertTrue(self.lab.ready())

    def test_taken_socket_is_refused_and_kept(self):
        pathlib.Path(self.lab.socket_path).write_text("precious")
        self.assert_refused(self.lab.run_to_end(), self.lab.socket_path)
        self.assertEqual(pathlib.Path(self.lab.socket_path).read_text(), "precious")
        self.assertEqual(self.residue(), [])

    def test_bad_configuration_is_refused(self):
        path = pathlib.Path(self.lab.directory, "bad.toml")
        for text, word in (("[linuxfp]\nenabeld = true\n", "enabeld"), ("[linuxfp\n", "bad.toml"), ("[linuxfp]\nenabled = 3\n", "enabled")):
            path.write_text(text)
            self.assert_refused(self.lab.run_to_end("--config", str(path)), word)
            done = subprocess.run([str(BIN / "fastlet"), "--check-config", str(path)], capture_output=True, text=True)
            self.assert_refused(done, word)

    def test_missing_privileges_are_said(self):
        command = ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", *self.lab.command()[4:]]
        os.chmod(self.lab.directory, 0o777)
        done = subprocess.run(["ip", "netns", "exec", self.lab.r, *command], capture_output=True, text=True, timeout=10)
        self.assert_refused(done)

    def test_missing_type_information_is_said(self):
        hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]
        inside_router, program = self.lab.command()[:4], self.lab.command()[4:]
        self.assert_refused(subprocess.run([*inside_router, *hide, *program], capture_output=True, text=True, timeout=10), "BTF")
        self.assert_refused(subprocess.run([*inside_router, *hide, str(BIN / "fastctl"), "doctor"], capture_output=True, text=True,
                                           timeout=10), "btf")
        self.assertEqual(self.residue(), [])

    def test_ctl_without_a_daemon(self):
        self.assert_refused(self.lab.ctl("status", check=False), self.lab.socket_path)


class ControlSocket(RouterCase):
    """Whatever a client does, the next one is answered, and packets pass."""

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(10)
        client.connect(self.lab.socket_path)
        self.addCleanup(client.close)
        return client

    def assert_alive(self):
        self.assertTrue(self.lab.ready())
        self.assertEqual(len(self.lab.send(20)), 20)

    def test_hostile_requests(self):
        self.lab.start()
        for request in (b"\0", b"{\0", b"[]\0", b"\xff\xfe\0", b'{"method":7}\0', b'{"method":"x.y.Z"}\0', b"[" * 5000 + b"\0",
                        b'{"method":"' + b"a" * 3000 + b'"}\0'):
            with self.subTest(request[:20]):
                client = self.connect()
                client.sendall(request)
                answer = client.recv(1 << 16)
                self.assertTrue(answer == b"" or b'"error"' in answer, answer)
        self.assert_alive()

    def test_oversized_request_is_cut_off(self):
        self.lab.start()
        client = self.connect()
        with self.assertRaises(OSError):
            for _ in range(10_000):
                client.sendall(b"x" * 10_000)
        self.assert_alive()

    def test_truncated_requests_and_hanging_clients_stop_nobody(self):
        self.lab.start()
        for _ in range(50):
            client = self.connect()
            client.sendall(b'{"method":"org.varl')
            client.close()
        hanging = []
        for _ in range(10):
            hanging.append(self.connect())
            hanging[-1].sendall(b'{"meth')
        self.assert_alive()

    def test_requests_of_other_users_are_refused(self):
        self.lab.start()
        os.chmod(self.lab.directory, 0o755)
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", str(BIN / "fastctl"), "--socket", self.lab.socket_path, "fp",
                               "off"], capture_output=True, text=True, timeout=10)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("HINT", done.stderr)
        self.assert_alive()


if __name__ == "__main__":
    run_tests()
