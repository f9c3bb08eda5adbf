# SPDX-License-Identifier: GPL-2.0-or-later
"""The two VMs together: start them, form their link, take them down."""

import contextlib
import fnmatch
import os
import time
from pathlib import Path
from typing import Any, Iterator, Optional

from lablib import (cache, endpoint, pci_endpoint, proc, state, stock_qemu,
                    topology, ui, vntb)
from lablib.topology import Topology
from lablib.ui import LabError
from lablib.vm import Vm

# Seconds a guest may take to boot, unless --timeout says otherwise.
BOOT_TIMEOUT = 120.0
_ORDER = ("ep", "rc")


def add_arguments(parser: Any) -> None:
    """The options of verbs that boot the VMs."""
    parser.add_argument("--topology", metavar="NAME", default=topology.DEFAULT,
                        help="a topology of configs/topologies, or a .toml "
                             "file (default: %(default)s)")
    parser.add_argument("--timeout", metavar="S", type=ui.time_limit,
                        default=BOOT_TIMEOUT,
                        help="seconds a guest may take to boot, and each step "
                             "of forming the NTB (default: %(default)g)")
    parser.add_argument("--net", action="store_true",
                        help="give each VM a user network (libslirp)")
    parser.add_argument("--gdb", action="store_true",
                        help="let gdb attach to each guest's kernel")
    parser.add_argument("--trace", metavar="PATTERN", action="append",
                        help="log QEMU's trace events that match, e.g. "
                             "'pcie_cable*'; may be given again")
    parser.add_argument("--append", metavar="WORDS",
                        help="words to add to the kernel command lines")


def options_of(args: Any, tp: Topology) -> dict[str, Any]:
    """What start() wants to know from the command line."""
    append = args.append
    if args.gdb:
        # The addresses of vmlinux are those of a kernel that stays in place.
        append = f"nokaslr {append}" if append else "nokaslr"
    return {"net": args.net, "gdb": args.gdb, "trace": args.trace,
            "append": append, "msi_parent": tp.ep.msi_parent}


class Pair:
    """
    The two VMs of a topology and what is known about them.

    Timestamps are of time.monotonic(); @started is when the first QEMU was
    started.
    """

    def __init__(self, tp: Topology, st: state.State, built: Any = None,
                 lock: Optional[state.Lock] = None) -> None:
        self.topology = tp
        self.st = st
        self.built = built
        self.lock = lock
        self.tied = False
        self.ep = Vm("ep", tp, st, built)
        self.rc = Vm("rc", tp, st, built)
        self.started = 0.0
        self.booted = 0.0

    def vm(self, role: str) -> Vm:
        """The VM that plays @role."""
        return self.ep if role == "ep" else self.rc

    def start(self, order: tuple[str, ...] = _ORDER) -> None:
        """Start the QEMUs in @order; they boot side by side."""
        assert self.lock
        self.started = time.monotonic()
        for role in order:
            self.vm(role).start(self.lock, self.tied)

    def tell_gdb(self) -> None:
        """With --gdb: how to attach, from the first instruction on."""
        if not self.st.options["gdb"]:
            return
        vmlinux = self.built.vmlinux or "VMLINUX"
        for vm in (self.ep, self.rc):
            ui.note(f"{vm.role}: gdb-multiarch {vmlinux} -ex 'target remote "
                    f"{self.st.socket(f'gdb-{vm.role}')}'")

    def boot(self, timeout: float = BOOT_TIMEOUT,
             order: tuple[str, ...] = _ORDER) -> None:
        """
        Start the VMs and wait until the guests are up.

        A stock RC is left out: connect() starts it.
        """
        if self.rc.spec.qemu == "stock":
            order = ("ep",)
        with ui.step("boot both VMs" if len(order) > 1 else
                     f"boot the {order[0].upper()}"):
            self.start(order)
            self.wait_boot(timeout)

    def wait_boot(self, timeout: float = BOOT_TIMEOUT) -> None:
        """Wait until the guests that were started are up."""
        deadline = time.monotonic() + timeout
        for role in _ORDER:
            if role in self.st.vms:
                self.vm(role).wait_boot(max(0.1,
                                            deadline - time.monotonic()))
        self.booted = time.monotonic()

    def connect(self, timeout: float = BOOT_TIMEOUT) -> None:
        """
        Let the RC have the endpoint whose controller has been started.

        The lab's own RC end notices by itself.  A stock one connects while
        its QEMU starts, gets no answer before the endpoint's link may train,
        and has no way back to one that it lost: its VM starts, anew if it
        runs already.
        """
        if self.rc.spec.qemu == "lab":
            return
        with ui.step("boot the RC"):
            self.rc.stop()
            self.revive("rc", timeout)
        self.booted = time.monotonic()

    def form(self, timeout: float = BOOT_TIMEOUT) -> None:
        """Form what the topology is for over the cable: NTB, endpoint test."""
        has_ntb = self.topology.has_ntb
        with ui.step("form the NTB" if has_ntb else "bind the endpoint test"):
            endpoint.configure(self.ep, self.topology, timeout)
            self.connect(timeout)
            if has_ntb:
                vntb.join(self.ep, self.rc, self.topology, timeout)
            else:
                pci_endpoint.join(self.rc, self.topology, timeout)

    def revive(self, role: str, timeout: float = BOOT_TIMEOUT) -> None:
        """Start the VM @role, also after a kill(); returns when it is up."""
        assert self.lock
        self.vm(role).start(self.lock, self.tied)
        self.vm(role).wait_boot(timeout)

    def reform(self) -> None:
        """Restart the endpoint and join the RC, whose drivers let it go."""
        endpoint.restart(self.ep, self.topology)
        self.connect()
        vntb.join(self.ep, self.rc, self.topology)

    def bring_back(self, role: str) -> None:
        """Start a VM that died and do what software has to on boards too."""
        if role == "ep":
            self.revive(role)
            self.form()
        else:
            if self.rc.spec.qemu == "lab":
                self.revive(role)
            # A stock RC is started by connect().
            self.reform()

    def leave(self) -> None:
        """It is ready and outlives this process."""
        self.st.launcher = None
        self.st.save()

    def down(self) -> None:
        """Take everything down; signals wait until it is done."""
        with state.signals_held():
            for vm in (self.ep, self.rc):
                vm.stop()
            self.st.forget()
            if self.lock:
                self.lock.release()
                self.lock = None


def _rc_emulator(tp: Topology, built: Any) -> Optional[stock_qemu.Emulator]:
    """What plays a stock RC; fetched unless the user named one."""
    if tp.rc.qemu == "lab":
        if built.rc_qemu:
            ui.warn(f"the RC of topology {tp.name} is the lab's own QEMU: "
                    "--rc-qemu is for topologies such as stock-rc")
        return None
    if built.rc_qemu:
        return stock_qemu.check(built.rc_qemu, tp.rc.cpu)
    with cache.locked():
        return stock_qemu.check(stock_qemu.fetch(), tp.rc.cpu)


def _check_traces(patterns: list[str], qemu: Path) -> None:
    """QEMU only says so in its log when a pattern matches no event."""
    events = proc.output([qemu, "-trace", "help"]).split()
    for pattern in patterns:
        # "-NAME" turns off again, "KEY=..." is QEMU's own business.
        if "=" not in pattern and not fnmatch.filter(events,
                                                     pattern.lstrip("-")):
            raise LabError(f"--trace '{pattern}': QEMU has no such event; "
                           f"`{qemu} -trace help` lists them")


def create(tp: Topology, options: dict[str, Any], built: Any,
           tied: bool) -> Pair:
    """
    Claim the lab and prepare a pair, nothing started yet.

    When @tied, the VMs die with this process.
    """
    _check_traces(options.get("trace") or [], built.qemu)
    rc_qemu = _rc_emulator(tp, built)
    if rc_qemu:
        options = options | {"rc_qemu": str(rc_qemu.path)}
    lock = state.claim()
    try:
        with state.signals_held():
            st = state.State(topology=tp.name, sockets=state.make_sockets(),
                             options=options, vms={}, facts={
                                 "qemu": str(built.qemu),
                                 "qemu_version": built.qemu_version,
                                 "rc_qemu_version":
                                     rc_qemu.version if rc_qemu else None,
                                 "kernel": str(built.kernel),
                                 "kernel_release": built.kernel_release},
                             launcher=state.Process.of(os.getpid()))
            st.save()
    except BaseException:
        lock.release()
        raise
    pair = Pair(tp, st, built, lock)
    pair.tied = tied
    return pair


@contextlib.contextmanager
def running(tp: Topology, options: dict[str, Any], built: Any,
            keep: bool = False) -> Iterator[Pair]:
    """
    A pair for the length of a block; taken down at its end, however it ends.

    With @keep the VMs outlive a block that ends well, and this process.
    """
    pair = create(tp, options, built, tied=not keep)
    try:
        yield pair
    except BaseException:
        pair.down()
        raise
    if keep:
        pair.leave()
    else:
        pair.down()


def attach() -> Pair:
    """The pair that runs, started by another command."""
    st = state.running()
    return Pair(topology.load(st.topology), st)
