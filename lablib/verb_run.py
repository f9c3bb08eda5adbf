# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot both VMs, form the NTB, send traffic both ways, print a summary."""

import argparse
import dataclasses
import json
import time
from typing import Any

from lablib import (kernel_needs, observed, pair, setup, state, topology,
                    traffic, ui)
from lablib.pair import Pair

PINGS = 50
FILE_MIB = 256
# To an RC end that traps, each 8 bytes of a file are a write of their own.
TRAPPED_FILE_MIB = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of run."""
    pair.add_arguments(parser)
    parser.add_argument("--keep", action="store_true",
                        help="leave the VMs running (`./lab down` ends them)")
    parser.add_argument("--seconds", type=ui.whole_seconds, default=10, metavar="S",
                        help="length of each iperf3 run (default: "
                             "%(default)s)")


class _Report:
    """What the run found, as build/results/run.json has it."""

    def __init__(self, tp: topology.Topology, built: Any) -> None:
        self.result: dict[str, Any] = {
            "ok": False, "failed": [], "topology": tp.name,
            "boot_s": None, "first_ping_s": None, "total_s": None,
            "ping": {"sent": 0, "received": 0, "rtt_ms_median": None,
                     "directions": []},
            "iperf": [], "files": [], "transport": None, "doorbells": None,
            "doorbell_interrupts": None,
            "kernel": built.kernel_release, "qemu": built.qemu_version,
            "rc_qemu": None}

    def expect(self, good: bool, complaint: str) -> None:
        if not good:
            self.result["failed"].append(complaint)

    def add_ping(self, direction: str, ping: traffic.Ping) -> None:
        total = self.result["ping"]
        total["sent"] += ping.sent
        total["received"] += ping.received
        total["directions"].append(
            {"direction": direction, "sent": ping.sent,
             "received": ping.received, "rtt_ms_median": ping.median()})
        medians = [d["rtt_ms_median"] for d in total["directions"]
                   if d["rtt_ms_median"] is not None]
        total["rtt_ms_median"] = max(medians, default=None)
        self.expect(ping.sent == PINGS and ping.received == ping.sent,
                    f"ping {direction}: {ping.received} of {PINGS} answered")

    def add_iperf(self, iperf: traffic.Iperf) -> None:
        self.result["iperf"].append(dataclasses.asdict(iperf))
        self.expect(iperf.gbit_s > 0, f"iperf3 {iperf.protocol} "
                    f"{iperf.direction}: nothing arrived")

    def add_file(self, file: traffic.Transfer) -> None:
        self.result["files"].append(
            dataclasses.asdict(file) | {"ok": file.ok()})
        self.expect(file.ok(), f"file {file.direction}: sha256 differs")

    def add_drivers(self, both: Pair) -> None:
        """What the drivers did, not what the topology wants of them."""
        kind, count = observed.doorbells(both.ep)
        self.result["doorbells"] = kind
        self.result["doorbell_interrupts"] = count
        self.result["transport"] = observed.transport(both.ep, both.rc)
        self.expect(kind == "polled" or count > 0,
                    f"doorbells: {kind}, but there was no interrupt")

    def summary(self) -> str:
        r = self.result
        word = "passed" if r["ok"] else "FAILED"
        rc = f" (RC: {r['rc_qemu']})" if r["rc_qemu"] else ""
        lines = [f"{r['topology']}: {word}   Linux {r['kernel']}, QEMU "
                 f"{r['qemu']}{rc}, {r['transport']} transport, "
                 f"{r['doorbells']} doorbells"]
        lines += [f"  ** {complaint}" for complaint in r["failed"]]
        if r["first_ping_s"] is not None:
            lines.append(f"  boot {r['boot_s']:.1f} s, first ping after "
                         f"{r['first_ping_s']:.1f} s")
        rows = []
        for p in r["ping"]["directions"]:
            median = p["rtt_ms_median"]
            rows.append(("ping", p["direction"],
                         f"{p['received']}/{p['sent']}",
                         f"median {median:.2f} ms" if median else ""))
        for i in r["iperf"]:
            loss = i["loss_pct"]
            rows.append((f"iperf3 {i['protocol']}", i["direction"],
                         f"{i['gbit_s']:.2f} Gbit/s",
                         "" if loss is None else f"loss {loss:.1f} %"))
        for f in r["files"]:
            rows.append((f"{f['mib']} MiB file", f["direction"],
                         f"{f['mib'] / max(f['seconds'], 0.01):.0f} MiB/s",
                         "sha256 equal" if f["ok"] else "sha256 DIFFERS"))
        lines += [f"  {a:<13}{b:<10} {c:>12}   {d}".rstrip()
                  for a, b, c, d in rows]
        return "\n".join(lines)


def _traffic(both: Pair, report: _Report, seconds: int) -> None:
    ways = ((both.ep, both.rc), (both.rc, both.ep))
    with ui.step("ping"):
        for source, to in ways:
            report.add_ping(traffic.direction(source, to),
                            traffic.ping(source, to, PINGS))
    with ui.step("iperf3"):
        for protocol in ("tcp", "udp"):
            for source, to in ways:
                report.add_iperf(traffic.iperf(source, to, protocol, seconds))
    mib = FILE_MIB if both.rc.spec.qemu == "lab" else TRAPPED_FILE_MIB
    with ui.step(f"a file of {mib} MiB each way"):
        for source, to in ways:
            report.add_file(traffic.transfer(source, to, mib))


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    begin = time.monotonic()
    tp = topology.load_ntb(args.topology)
    built = setup.ensure(args, patched=tp.patched)
    kernel_needs.check(built, tp)
    report = _Report(tp, built)
    try:
        with pair.running(tp, pair.options_of(args, tp), built,
                          args.keep) as both:
            report.result["rc_qemu"] = both.st.facts["rc_qemu_version"]
            both.tell_gdb()
            both.boot(args.timeout)
            report.result["boot_s"] = round(both.booted - both.started, 2)
            both.form(args.timeout)
            # A stock RC booted only then.
            report.result["boot_s"] = round(both.booted - both.started, 2)
            traffic.first_ping(both.rc, both.ep)
            report.result["first_ping_s"] = round(
                time.monotonic() - both.started, 2)
            _traffic(both, report, args.seconds)
            report.add_drivers(both)
            report.result["ok"] = not report.result["failed"]
    except ui.LabError as e:
        report.result["failed"].append(str(e))
        raise
    finally:
        report.result["total_s"] = round(time.monotonic() - begin, 2)
        path = state.write_result("run", report.result)
    print(json.dumps(report.result, indent=2) if args.json
          else report.summary())
    if args.keep:
        ui.note("the VMs are running: ./lab exec, ./lab console, ./lab down")
    ui.note(f"results: {path}; consoles: {state.LOGS}")
    return 0 if report.result["ok"] else 1
