# SPDX-License-Identifier: GPL-2.0-or-later
"""
netdev/*: ntb_netdev on each transport, and virtio-net between the same VMs.

Setups: "virtio", virtio-net with `-netdev stream`; "memcpy", the memcpy
transport with interrupts as doorbells; "edma", the transport by the endpoint's
DMA engine, where the kernel has it; "polled", the memcpy transport whose
doorbells are polled. The first three take turns in one pair of VMs. Whether
doorbells are interrupts is up to the machine (an MSI parent, channels of the
DMA engine), so "polled" has pairs of its own, right after the first.

All VMs have as many vCPUs as the host can run at the same time, or --cpus: one
that holds a spinlock and has to wait for a CPU of the host keeps the others of
its guest busy for nothing.
"""

import argparse
import dataclasses
import os
import re
from typing import Any, Optional

from lablib import (cache, endpoint, kernel_needs, kernel_tree, lan, netdev,
                    pair, paths, plot, setup, state, topology, traffic, ui,
                    vntb)
from lablib.pair import Pair
from lablib.topology import Topology
from lablib.vm import Vm

NEEDS_ARGUMENTS = True
STREAMS = (1, 2, 4)
QUEUES = (1, 2, 4)
PROTOCOLS = ("tcp", "udp")
PINGS = 100
LENGTH = 65480
# What iperf3 is told for TCP besides; UDP is as fast as the sender can.
TCP = f"-Z -l {LENGTH}"
SETUPS = ("virtio", "polled", "memcpy", "edma")
# What is compared with what.
BASELINES = {"edma": ("polled", "memcpy", "virtio"),
             "memcpy": ("polled", "virtio")}

# (setup, what, direction, streams, queues) -> Gbit/s, or ms of "ping"
Key = tuple[str, str, str, int, int]


@dataclasses.dataclass
class _Bench:
    """What has been measured so far."""
    seconds: int
    values: dict[Key, float] = dataclasses.field(default_factory=dict)

    def sample(self, setup_name: str, ends: dict[str, Vm], queues: int
               ) -> None:
        """Every figure of a setup with @queues queues."""
        ways = ((ends["rc"], ends["ep"]), (ends["ep"], ends["rc"]))
        for source, to in ways:
            way = traffic.direction(source, to)
            traffic.first_ping(source, to)
            median = traffic.ping(source, to, PINGS).median()
            if median is not None:
                self.values[setup_name, "ping", way, 1, queues] = median
            for protocol in PROTOCOLS:
                for streams in STREAMS:
                    got = traffic.iperf(source, to, protocol, self.seconds,
                                        streams, LENGTH, TCP)
                    self.values[setup_name, protocol, way, streams, queues] = \
                        got.gbit_s

    def sample_ntb(self, setup_name: str, both: Pair, tp: Topology,
                   queues: int) -> None:
        """The NTB of @tp with @queues queues, formed for that."""
        with ui.step(f"{setup_name}, {queues} queue" + "s" * (queues > 1)):
            _form(both, tp, queues)
            self.sample(setup_name, {"ep": both.ep, "rc": both.rc}, queues)


def _set_parameters(vm: Vm, tp: Topology, queues: int) -> None:
    """What modprobe gives to modules from now on."""
    lines = [f"options {module} {name}={value}\n"
             for module, values in tp.vm(vm.role).parameters.items()
             for name, value in values.items()]
    # Queues that nobody uses would only have their share of the window.
    lines.append(f"options ntb_transport max_num_clients={queues}\n")
    vm.run("mkdir -p /etc/modprobe.d && cat >/etc/modprobe.d/bench.conf",
           stdin="".join(lines).encode())


def _form(both: Pair, tp: Topology, queues: int) -> None:
    for vm in (both.ep, both.rc):
        _set_parameters(vm, tp, queues)
    endpoint.configure(both.ep, tp)
    vntb.join(both.ep, both.rc, tp)
    netdev.set_both_channels(both.ep, both.rc, queues)


def _dissolve(both: Pair, tp: Topology) -> None:
    vntb.detach(both.rc, tp)
    endpoint.remove(both.ep, tp)


def _host_cpus() -> int:
    return len(os.sched_getaffinity(0))


def _machine(tp: Topology, msi_parent: bool, channels: int,
             cpus: Optional[int]) -> Topology:
    """The VMs of @tp; parameters are set later, not for good."""
    if cpus is None:
        cpus = max(1, min(tp.ep.cpus, tp.rc.cpus, _host_cpus() // 2))
    return dataclasses.replace(
        tp, ep=dataclasses.replace(tp.ep, msi_parent=msi_parent, cpus=cpus,
                                   dma_channels=channels, parameters={}),
        rc=dataclasses.replace(tp.rc, cpus=cpus, parameters={}))


def _edma(built: Any) -> Optional[Topology]:
    tp = topology.load("two-vm-edma")
    try:
        kernel_needs.check(built, tp)
    except kernel_needs.Lacking as e:
        ui.note(f"no figures of remote eDMA: {e}")
        return None
    return tp


def _measure(args: argparse.Namespace, bench: _Bench) -> None:
    several = topology.load("two-vm-mq")
    try:
        built = setup.ensure(args, patched=True)
        edma = _edma(built)
    except kernel_tree.DoesNotApply as e:
        ui.note(f"no figures of remote eDMA: {e}")
        built, edma = setup.ensure(args), None
    setups = {"memcpy": several, "edma": edma}
    tp = _machine(several, True, topology.DMA_CHANNELS, args.cpus)
    options = pair.options_of(args, tp) | {"net": False, "lan": True}
    with pair.running(tp, options, built) as both:
        both.boot(args.timeout)
        with ui.step("virtio-net"):
            for vm in (both.ep, both.rc):
                lan.address(vm)
            bench.sample("virtio", lan.ends(both), 1)
        for name, chosen in setups.items():
            if chosen:
                for queues in QUEUES:
                    bench.sample_ntb(name, both, chosen, queues)
                    _dissolve(both, chosen)
    tp = _machine(several, False, 0, args.cpus)
    for queues in QUEUES:
        # Each has booted for this number of queues, as a user would.
        with pair.running(tp, options | {"msi_parent": False}, built) as both:
            both.boot(args.timeout)
            bench.sample_ntb("polled", both, several, queues)


def _name(key: Key) -> str:
    setup_name, what, way, streams, queues = key
    if what == "ping":
        return f"netdev/{setup_name}/ping/{way}/q{queues}"
    return f"netdev/{setup_name}/{what}/{way}/p{streams}/q{queues}"


def _rows(values: dict[Key, float]) -> list[dict[str, Any]]:
    rows = []
    for key, value in values.items():
        for baseline in BASELINES.get(key[0], ()):
            # virtio-net has one queue, whatever the others have.
            queues = 1 if baseline == "virtio" else key[4]
            other = values.get((baseline, *key[1:4], queues))
            if other:
                ping = key[1] == "ping"
                rows.append({
                    "name": _name(key), "value": round(value, 3),
                    "unit": "ms" if ping else "Gbit/s", "baseline": baseline,
                    "baseline_value": round(other, 3),
                    "ratio": round(value / other, 3),
                    "better": "lower" if ping else "higher"})
    return rows


def _figure(values: dict[Key, float]) -> str:
    """A chart a protocol and direction: the best number of queues of each."""
    names = [name for name in SETUPS if any(k[0] == name for k in values)]
    panels = []
    for what in (*PROTOCOLS, "ping"):
        for way in ("rc-to-ep", "ep-to-rc"):
            best = min if what == "ping" else max
            bars = [[best((v for k, v in values.items()
                           if k[:4] == (name, what, way, streams)),
                          default=None) for name in names]
                    for streams in (STREAMS if what != "ping" else (1,))]
            groups = [f"-P {n}" for n in STREAMS] if what != "ping" else [""]
            title = re.sub("-to-", " to ", way).upper().replace("TO", "to")
            panels.append(plot.Panel(
                f"{what.upper() if what != 'ping' else what} {title}",
                "median, ms" if what == "ping" else "Gbit/s", groups, bars))
    return plot.svg(names, panels)


def run(args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """
    Measure all setups and draw bench-netdev.svg; adds to @rows, also what was
    measured before something failed.
    """
    bench = _Bench(args.seconds)
    try:
        _measure(args, bench)
    finally:
        rows += _rows(bench.values)
    path = paths.ensure_dir(state.RESULTS) / "bench-netdev.svg"
    cache.write_if_changed(path, _figure(bench.values).encode())
    ui.note(f"figure: {path}")
