# SPDX-License-Identifier: Apache-2.0
"""A Linux router between two hosts, in network namespaces of its own, and a daemon in the router."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = pathlib.Path(os.environ.get("FASTLET_BIN", "build/bin"))
XDP = '[linuxfp]\nvirtual_hook = "xdp"\n'
TC = '[linuxfp]\nvirtual_hook = "tc"\n'
_libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000


def need_root():
    if os.geteuid() != 0:
        print("needs root: network namespaces")
        sys.exit(77)


def run_tests():
    need_root()
    unittest.main()


def sh(command, check=True):
    return subprocess.run(command, shell=True, check=check, capture_output=True, text=True)


def wait_until(condition, seconds=10.0, what="condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"{what}: not within {seconds} s")


@contextlib.contextmanager
def inside(namespace):
    """Sockets opened in this block belong to the namespace, also afterwards."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if _libc.setns(other, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        yield
    finally:
        if _libc.setns(own, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns back")
        os.close(own)
        os.close(other)


class Lab:
    """Host a - router r - host b. The router is configured with ip and sysctl only."""

    def __init__(self):
        tag = f"fl{os.getpid()}"
        self.a, self.r, self.b = f"{tag}a", f"{tag}r", f"{tag}b"
        self.directory = tempfile.mkdtemp(prefix="fastlet-lab-")
        self.daemon = None
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self):
        for name in (self.a, self.r, self.b):
            sh(f"ip netns add {name}; ip -n {name} link set lo up")
            sh(f"ip netns exec {name} sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0")
        sh(f"ip -n {self.r} link add in0 type veth peer name a0 netns {self.a}")
        sh(f"ip -n {self.r} link add out0 type veth peer name b0 netns {self.b}")
        sh(f"ip netns exec {self.r} sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        for name, device, number in ((self.r, "in0", "1.1"), (self.a, "a0", "1.2"), (self.r, "out0", "2.1"), (self.b, "b0", "2.2")):
            net, host = number.split(".")
            sh(f"ip -n {name} addr add 10.0.{net}.{host}/24 dev {device}")
            sh(f"ip -n {name} addr add 2001:db8:{net}::{host}/64 dev {device} nodad")
            sh(f"ip -n {name} link set {device} up")
        for name, gateway in ((self.a, "1"), (self.b, "2")):
            sh(f"ip -n {name} route add default via 10.0.{gateway}.1")
            sh(f"ip -n {name} -6 route add default via 2001:db8:{gateway}::1")
        wait_until(self.reachable, what="the plain router forwards")

    def make_ready_for_xdp(self):
        """A veth takes redirected frames only when its peer runs NAPI (GRO); and the hosts finish their checksums themselves."""
        for name, device in ((self.a, "a0"), (self.b, "b0")):
            sh(f"ip netns exec {name} ethtool -K {device} gro on tx off")

    def reachable(self):
        probe = sh(f"ip netns exec {self.a} ping -c1 -W1 10.0.2.2", check=False)
        probe6 = sh(f"ip netns exec {self.a} ping -6 -c1 -W1 2001:db8:2::2", check=False)
        return probe.returncode == 0 and probe6.returncode == 0

    def close(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGCONT)
            self.daemon.kill()
            self.daemon.wait()
        for name in (self.a, self.r, self.b):
            sh(f"ip netns del {name}", check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    # The daemon.
    @property
    def socket_path(self):
        return f"{self.directory}/control.sock"

    def command(self, *arguments, socket_path=None):
        return ["ip", "netns", "exec", self.r, str(BIN / "fastlet"), "run", "--socket", socket_path or self.socket_path,
                "--state-dir", f"{self.directory}/state", *arguments]

    def start(self, *arguments, config=TC, wait=True):
        """`config` empty: without a configuration file."""
        if config:
            path = pathlib.Path(self.directory, "fastlet.toml")
            path.write_text(config)
            arguments = ("--config", str(path), *arguments)
        with open(f"{self.directory}/log", "a") as log:
            self.daemon = subprocess.Popen(self.command(*arguments), stdout=log, stderr=log)
        if wait:
            wait_until(self.ready, what="the daemon is ready")

    def run_to_end(self, *arguments, socket_path=None, timeout=10):
        return subprocess.run(self.command(*arguments, socket_path=socket_path), capture_output=True, text=True, timeout=timeout)

    def ctl(self, *arguments, check=True):
        if "cleanup" in arguments:
            arguments = (*arguments, "--state-dir", f"{self.directory}/state")
        command = ["ip", "netns", "exec", self.r, str(BIN / "fastctl"), "--socket", self.socket_path, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        if check and done.returncode:
            raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stdout}{done.stderr}{self.daemon_log()}")
        return done

    def daemon_log(self):
        return pathlib.Path(self.directory, "log").read_text()[-2000:]

    def status(self):
        return json.loads(self.ctl("-j", "status").stdout)

    def interface(self, name):
        return next(one for one in self.status()["linuxfp"]["interfaces"] if one["name"] == name)

    def fast(self, name="in0", hook=None):
        """Does the interface forward IPv4 past Linux at this moment (on this hook)?"""
        found = [one for one in self.status()["linuxfp"]["interfaces"] if one["name"] == name]
        if not found:  # gone, or its event has not been read yet
            return False
        return "ipv4-forward" in found[0]["accelerates"] and self.ready() and hook in (None, found[0]["hook"])

    def counters(self):
        return self.status()["linuxfp"]["counters"]

    def ready(self):
        if self.daemon.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.daemon.returncode}: {self.daemon_log()}")
        done = self.ctl("-j", "status", check=False)
        if done.returncode:
            return False
        status = json.loads(done.stdout)
        return status["ready"] and not any(one["held"] for one in status["linuxfp"]["interfaces"])

    def terminate(self):
        self.daemon.terminate()
        return self.daemon.wait(timeout=10)

    def router(self, command, check=True):
        return sh(f"ip netns exec {self.r} {command}", check=check)

    def router_script(self, commands, check=True):
        """Several commands, without single quotes in them; ends at the first that fails."""
        return self.router(f"sh -ec '{commands}'", check=check)

    # Traffic.
    def receiver(self, port=9, family=socket.AF_INET):
        with inside(self.b):
            sink = socket.socket(family, socket.SOCK_DGRAM)
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sink.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", port))
        sink.settimeout(0.5)
        return sink

    def sender(self, family=socket.AF_INET):
        with inside(self.a):
            return socket.socket(family, socket.SOCK_DGRAM)

    def send(self, count, family=socket.AF_INET, port=9, pause=0.0005):
        """Sends `count` numbered datagrams from a to b; returns the numbers that arrived."""
        address = "2001:db8:2::2" if family == socket.AF_INET6 else "10.0.2.2"
        arrived = []
        with self.receiver(port, family) as sink, self.sender(family) as source:
            for number in range(count):
                source.sendto(number.to_bytes(4, "big") + bytes(18), (address, port))
                time.sleep(pause)
            while len(arrived) < count:
                try:
                    arrived.append(int.from_bytes(sink.recv(64)[:4], "big"))
                except socket.timeout:
                    break
        return arrived

    def transfer(self, data):
        """Sends it by TCP from a to b; returns what arrived."""
        with inside(self.b):
            server = socket.create_server(("10.0.2.2", 5201))
        with inside(self.a):
            client = socket.socket()
        with server, client:
            client.settimeout(30)
            client.connect(("10.0.2.2", 5201))
            sender = threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)))
            sender.start()
            connection, _ = server.accept()
            with connection:
                connection.settimeout(30)
                got = b"".join(iter(lambda: connection.recv(1 << 20), b""))
            sender.join()
        return got


class Stream:
    """Numbered datagrams from a to b as long as the block runs, and when those that arrived were sent."""

    def __init__(self, lab, pause=0.0005):
        self.lab, self.pause, self.sent, self.arrived = lab, pause, [], []
        self.stopping = threading.Event()

    def __enter__(self):
        self.sink = self.lab.receiver()
        self.sink.settimeout(0.1)
        self.threads = [threading.Thread(target=self._send), threading.Thread(target=self._receive)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        self.sink.close()

    def _send(self):
        with self.lab.sender() as source:
            while not self.stopping.is_set():
                self.sent.append(time.monotonic())
                try:
                    source.sendto((len(self.sent) - 1).to_bytes(4, "big") + bytes(18), ("10.0.2.2", 9))
                except OSError:
                    pass  # an answer of the router's (prohibited, unreachable) to an earlier one
                time.sleep(self.pause)

    def _receive(self):
        while True:
            try:
                self.arrived.append(int.from_bytes(self.sink.recv(64)[:4], "big"))
            except socket.timeout:
                if self.stopping.is_set():
                    return

    def lost(self):
        return len(self.sent) - len(self.arrived)

    def passed(self):
        """When each that arrived was sent."""
        return [self.sent[number] for number in list(self.arrived)]
