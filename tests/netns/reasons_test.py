# SPDX-License-Identifier: Apache-2.0
"""What is not modelled is left to Linux, and named; taken away again, the fast path is back. One row each."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab import Lab, run_tests, wait_until  # noqa: E402

BOTH = {"ipv4-forward", "ipv6-forward"}
V4 = {"ipv4-forward"}
V6 = {"ipv6-forward"}
CT = "iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP"
INGRESS = "add table netdev d; add chain netdev d c { type filter hook ingress device in0 priority 0; }; add rule netdev d c counter"
BPF = 'bpf da bytecode "1,6 0 0 0,"'
# what is configured in the router, what takes it away, the reason's code, what in0 still accelerates
ROWS = [
    ("ip link add br0 type bridge; ip link set in0 master br0", "ip link del br0", "bridge-port", set()),
    ("ip link set in0 down", "ip link set in0 up", "down", set()),
    ("ip rule add fwmark 7 table 100", "ip rule del fwmark 7 table 100", "policy-rule", V6),
    ("ip rule add ipproto udp dport 9 table 100", "ip rule del ipproto udp dport 9 table 100", "policy-rule", V6),
    ("ip -6 rule add fwmark 7 table 100", "ip -6 rule del fwmark 7 table 100", "policy-rule", V4),
    ("ip route add 10.9.0.0/24 via 10.0.2.2 realm 5", "ip route del 10.9.0.0/24", "realms", V6),
    ("sysctl -qw net.ipv4.ip_forward_use_pmtu=1", "sysctl -qw net.ipv4.ip_forward_use_pmtu=0", "forward-use-pmtu", V6),
    ("sysctl -qw net.ipv4.fib_multipath_hash_policy=2; ip route add 10.9.0.0/24 nexthop via 10.0.2.2 nexthop via 10.0.2.3",
     "ip route del 10.9.0.0/24; sysctl -qw net.ipv4.fib_multipath_hash_policy=0", "multipath-hash-policy", V6),
    ("sysctl -qw net.ipv6.conf.in0.proxy_ndp=1", "sysctl -qw net.ipv6.conf.in0.proxy_ndp=0", "proxy-ndp", V4),
    ("sysctl -qw net.ipv4.conf.in0.forwarding=0", "sysctl -qw net.ipv4.conf.in0.forwarding=1", "forwarding-off", V6),
    ("sysctl -qw net.ipv6.conf.all.forwarding=0", "sysctl -qw net.ipv6.conf.all.forwarding=1", "forwarding-off", V4),
    ("ip xfrm policy add dir fwd src 10.50.0.0/24 dst 10.51.0.0/24 action block", "ip xfrm policy flush", "xfrm", set()),
    (CT, "nft delete table ip filter", "conntrack", V6),
    (CT, "nft delete table ip filter", "nft-rules", V6),
    ("ip6tables -A FORWARD -p udp -j ACCEPT", "ip6tables -F FORWARD", "nft-rules", V4),
    ("iptables -P FORWARD DROP", "iptables -P FORWARD ACCEPT", "nft-policy", V6),
    ("iptables -t nat -A POSTROUTING -j MASQUERADE", "nft delete table ip nat", "nat", V6),
    ("iptables-legacy -A FORWARD -p udp -j ACCEPT", "iptables-legacy -F FORWARD", "iptables-legacy", V6),
    ("iptables-legacy -t mangle -A PREROUTING -j TTL --ttl-set 9", "iptables-legacy -t mangle -F", "iptables-legacy", V6),
    (f'nft "{INGRESS}"', "nft delete table netdev d", "nft-ingress", set()),
    (f"tc qdisc add dev in0 clsact; tc filter add dev in0 ingress {BPF}", "tc qdisc del dev in0 clsact", "tc-ingress", set()),
]


class Reasons(unittest.TestCase):
    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.lab.start()

    def state(self):
        one = self.lab.interface("in0")
        return one["accelerates"], one["reasons"]

    def is_now(self, accelerates, code=None):
        now, reasons = self.state()
        return set(now) == accelerates and (code is None or any(reason.startswith(f"{code}: ") for reason in reasons))

    def wait_for(self, accelerates, code, command):
        try:
            wait_until(lambda: self.is_now(accelerates, code), seconds=8)
        except AssertionError:
            self.fail(f"after `{command}`, {accelerates} {code or ''} expected, it says {self.state()}")

    def check(self, do, undo, code, left):
        self.lab.router_script(do)
        try:
            self.wait_for(left, code, do)
        finally:
            self.lab.router_script(undo)
        self.wait_for(BOTH, None, undo)

    def test_every_row(self):
        self.wait_for(BOTH, None, "nothing")
        for row in ROWS:
            with self.subTest(row[0]):
                self.check(*row)

    def check_where_there(self, create, *row):
        if self.lab.router_script(create, check=False).returncode:
            self.skipTest("this kernel does not have it")
        self.check(*row)

    def test_bond(self):
        self.check_where_there("ip link add bond0 type bond", "ip link set in0 down; ip link set in0 master bond0; ip link set in0 up",
                               "ip link del bond0; ip link set in0 up", "enslaved", set())

    def test_vrf(self):
        self.check_where_there("ip link add vrf0 type vrf table 10", "ip link set in0 master vrf0",
                               "ip link del vrf0; ip rule del pref 1000; ip -6 rule del pref 1000", "enslaved", set())

    def check_receiver_elsewhere(self, kind):
        """Its lower device's namespace shows no trace of it in any dump."""
        self.check_where_there(f"ip link add probe link out0 {kind}; ip link del probe",
                               f"ip link add link in0 name up0 netns {self.lab.b} {kind}",
                               f"ip -n {self.lab.b} link del up0", "rx-handler", set())

    def test_passthru_macvlan_in_another_namespace(self):
        self.check_receiver_elsewhere("type macvlan mode passthru")

    def test_ipvlan_in_another_namespace(self):
        self.check_receiver_elsewhere("type ipvlan mode l3")


if __name__ == "__main__":
    run_tests()
