# SPDX-License-Identifier: Apache-2.0
"""As many packets a second as the router of a Lab forwards: frames that circulate (tools/traffic)."""
import json
import os
import socket
import subprocess
import time

from lab import BIN, inside, sh, wait_until

FRAMES = 128  # half of a veth's ring: none is lost for want of room
CPU = 0       # all that happens to a frame happens on the CPU that it was sent by


def mac(namespace, device):
    return json.loads(sh(f"ip -n {namespace} -j link show dev {device}").stdout)[0]["address"]


class Circulation:
    """Host a's frames go to 11.0.0.1 through the router; whatever reaches host b starts again at host a."""

    def __init__(self, lab):
        self.lab = lab
        lab.router("ip route add 11.0.0.0/8 via 10.0.2.2")
        lab.router("ethtool -K in0 gro on")  # without NAPI a veth takes no frame that another device redirects to it
        command = [str(BIN / "fl-traffic"), "loop", "--source-ns", lab.a, "--source-dev", "a0", "--sink-ns", lab.b, "--sink-dev", "b0",
                   "--router-mac", mac(lab.r, "in0"), "--source-mac", mac(lab.a, "a0")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            raise AssertionError(f"fl-traffic ended with {self.process.wait()}")

    def close(self):
        if self.process.poll() is None:
            self.ask("end")
        self.process.stdin.close()
        self.process.wait(timeout=5)
        self.process.stdout.close()

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def drain(self):
        """Ends the frames that circulate."""
        self.ask("end")

        def silent():
            before = self.ask("seen")["frames"]
            time.sleep(0.01)
            return before == self.ask("seen")["frames"]
        wait_until(silent, what="no frame is left")

    def fill(self, stamped=False, frames=FRAMES):
        """Starts `frames` frames of 64 bytes (with the frame check sequence)."""
        self.ask("run-stamped" if stamped else "run")
        own = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {CPU})
        try:
            with inside(self.lab.a):
                source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            with source:
                for _ in range(frames):
                    source.sendto(bytes(18), ("11.0.0.1", 9))
        finally:
            os.sched_setaffinity(0, own)

    def rate(self, seconds):
        """Packets forwarded per second."""
        begin, first = time.monotonic(), self.ask("seen")["frames"]
        time.sleep(seconds)
        end, last = time.monotonic(), self.ask("seen")["frames"]
        return (last - first) / (end - begin)
