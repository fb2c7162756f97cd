# SPDX-License-Identifier: Apache-2.0
"""What linuxfp gains on a plain Linux router, and what it costs: printed, and as JSON. Nothing is asserted but that it works."""
import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import platform
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "netns"))
from lab import XDP, Lab, inside, need_root, wait_until  # noqa: E402
from traffic import Circulation  # noqa: E402

RULE = b"add table ip demo; add chain ip demo f { type filter hook forward priority 0; }; add rule ip demo f udp dport 9 drop"
NO_RULE = b"delete table ip demo"
SETTLE = 0.2  # seconds after a start, before anything is measured


def options():
    parser = argparse.ArgumentParser(prog="tools/demo")
    parser.add_argument("--rounds", type=int, default=7, help="of both rates, one after the other")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each rate")
    parser.add_argument("--tries", type=int, default=200, help="of a rule added while traffic runs")
    parser.add_argument("--idle", type=float, default=10, help="seconds of idling to measure")
    parser.add_argument("--json", metavar="FILE", help="the figures, as JSON")
    return parser.parse_args()


def measure_rate(traffic, seconds):
    traffic.fill()
    time.sleep(SETTLE)
    rate = traffic.rate(seconds)
    traffic.drain()
    if rate == 0:
        raise SystemExit("nothing came through the router")
    return rate


def measure_rates(lab, traffic, rounds, seconds):
    """Rounds of: plain Linux, then Fastlet. The daemon is started afresh for each."""
    linux, fast, starts = [], [], []
    for number in range(rounds):
        linux.append(measure_rate(traffic, seconds))
        begin = time.monotonic()
        lab.start(config=XDP)
        starts.append(time.monotonic() - begin)
        fast.append(measure_rate(traffic, seconds))
        if number == rounds - 1:
            print_status(lab)
        if lab.terminate() != 0:
            raise SystemExit(f"the daemon failed: {lab.daemon_log()}")
        print(f"  round {number + 1}: Linux {linux[-1] / 1e6:.2f} Mpps, Fastlet {fast[-1] / 1e6:.2f} Mpps", flush=True)
    return linux, fast, starts


def print_status(lab):
    print("\n$ fastctl status")
    print(lab.ctl("status").stdout)


class Nft:
    """libnftables in the router's namespace: it returns the moment the kernel has taken the rule, without a process to end."""

    def __init__(self, namespace):
        self.library = ctypes.CDLL("libnftables.so.1")
        self.library.nft_ctx_new.restype = ctypes.c_void_p
        with inside(namespace):
            self.context = ctypes.c_void_p(self.library.nft_ctx_new(0))

    def close(self):
        self.library.nft_ctx_free(self.context)

    def run(self, command):
        if self.library.nft_run_cmd_from_buffer(self.context, command):
            raise SystemExit(f"nft refuses {command.decode()}")


def stale_milliseconds(lab, traffic, nft):
    """From the kernel's answer to whoever adds a rule to the last packet that passed in spite of it."""
    wait_until(lambda: lab.fast(hook="xdp"), what="the fast path is back")
    traffic.fill(stamped=True, frames=32)
    if traffic.rate(0.02) == 0:
        raise SystemExit("no traffic before the rule")
    nft.run(RULE)
    returned = time.monotonic_ns()
    time.sleep(0.05)
    last = traffic.ask("seen")["last_ns"]
    traffic.drain()
    nft.run(NO_RULE)
    return max(0.0, (last - returned) / 1e6)


def measure_idle(pid, seconds):
    """Percent of one core, MiB."""
    def busy_ns():
        return sum(int(task.joinpath("schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    before, begin = busy_ns(), time.monotonic()
    time.sleep(seconds)
    share = (busy_ns() - before) / (time.monotonic() - begin) / 1e7
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return share, resident / 1024


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def run(arguments):
    with contextlib.closing(Lab()) as lab:
        lab.make_ready_for_xdp()
        with contextlib.closing(Circulation(lab)) as traffic:
            return measure(lab, traffic, arguments)


def measure(lab, traffic, arguments):
    print("\nA router between two hosts, made with ip and sysctl; 64 B UDP through it, first without Fastlet, then with it:", flush=True)
    linux, fast, starts = measure_rates(lab, traffic, arguments.rounds, arguments.seconds)
    lab.start(config=XDP)
    print(f"\nA firewall rule is added while traffic runs, {arguments.tries} times ...", flush=True)
    with contextlib.closing(Nft(lab.r)) as nft:
        stale = [stale_milliseconds(lab, traffic, nft) for _ in range(arguments.tries)]
    print(f"Nothing changes for {arguments.idle:g} s ...", flush=True)
    wait_until(lambda: lab.fast(hook="xdp"), what="the fast path is back")
    time.sleep(SETTLE)
    share, resident = measure_idle(lab.daemon.pid, arguments.idle)
    if lab.terminate() != 0:
        raise SystemExit(f"the daemon failed: {lab.daemon_log()}")
    return {"kernel": platform.release(), "cpus": os.cpu_count(), "rounds": arguments.rounds,
            "linux_packets_per_second": statistics.median(linux), "fastlet_packets_per_second": statistics.median(fast),
            "gain": statistics.median(fast) / statistics.median(linux),
            "start_to_ready_seconds": statistics.median(starts), "start_to_ready_seconds_max": max(starts),
            "rule_in_force_ms_p50": percentile(stale, 0.5), "rule_in_force_ms_p99": percentile(stale, 0.99),
            "rule_in_force_ms_max": max(stale), "rule_tries": len(stale),
            "idle_core_percent": share, "resident_mib": resident}


def table(figures):
    rows = [
        ("64 B UDP, plain Linux", f"{figures['linux_packets_per_second'] / 1e6:.2f} Mpps"),
        ("64 B UDP, with Fastlet (XDP on veth)", f"{figures['fastlet_packets_per_second'] / 1e6:.2f} Mpps"),
        ("gain", f"{figures['gain']:.2f}x"),
        ("start to ready", f"{figures['start_to_ready_seconds']:.2f} s (longest {figures['start_to_ready_seconds_max']:.2f} s)"),
        (f"rule added while traffic runs, in force after ({figures['rule_tries']} tries)",
         f"p50 {figures['rule_in_force_ms_p50']:.1f} ms, p99 {figures['rule_in_force_ms_p99']:.1f} ms, longest "
         f"{figures['rule_in_force_ms_max']:.1f} ms"),
        ("daemon when nothing changes", f"{figures['idle_core_percent']:.2f} % of a core, {figures['resident_mib']:.0f} MiB"),
    ]
    return "\n".join(["| what | measured |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def main():
    arguments = options()
    figures = run(arguments)
    print(f"\nLinux {figures['kernel']}, {figures['cpus']} CPUs, one flow; medians of {figures['rounds']} interleaved rounds:\n")
    print(table(figures))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    need_root()
    main()
