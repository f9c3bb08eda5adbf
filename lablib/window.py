# SPDX-License-Identifier: GPL-2.0-or-later
"""Reach a memory window from a program in the guest, with the NTB quiet."""

import contextlib
import dataclasses
import re
from typing import Any, Iterator

from lablib import guest_module, vntb
from lablib.pair import Pair
from lablib.topology import Topology
from lablib.ui import LabError
from lablib.vm import Vm

MODULE = "vntb-window"


@dataclasses.dataclass
class Rates:
    """Bytes a second: in the window and in the guest's own memory."""
    store_window: float
    store_own: float
    load_window: float
    load_own: float


def _bar(rc: Vm, number: int, tp: Topology) -> tuple[int, int]:
    """Physical address and size of a BAR of the NTB function."""
    header = tp.function.header
    text = rc.output(f"""
for f in /sys/bus/pci/devices/*; do
	read -r v <$f/vendor; read -r d <$f/device
	[ "$v $d" = "{header['vendorid']:#06x} {header['deviceid']:#06x}" ] &&
		cat $f/resource
done""")
    start, end, _flags = (int(word, 16)
                          for word in text.splitlines()[number].split())
    return start, end - start + 1


def _outbound(ep: Vm, size: int) -> tuple[int, int]:
    """
    Physical address and size of the window in the controller's addr_space.

    No file of the kernel says where it is, but the list of what is mapped has
    it, with its size and a guard page.
    """
    found = {int(phys, 16) for phys in re.findall(
        rf" {size + 4096} .* phys=(0x[0-9a-f]+) ioremap",
        ep.output("cat /proc/vmallocinfo"))}
    if len(found) != 1:
        raise LabError(f"cannot tell which of {len(found)} mappings of "
                       f"{ep.role} is the memory window")
    return found.pop(), size


def locate(vm: Vm, tp: Topology) -> tuple[int, int]:
    """Where the guest has its end of MW1: physical address and size."""
    attributes = tp.function.attributes
    if vm.role == "rc":
        return _bar(vm, attributes["mw1_bar"], tp)
    return _outbound(vm, attributes["mw1"])


@contextlib.contextmanager
def quiet(both: Pair) -> Iterator[None]:
    """
    Take the netdevs down for the block: nothing else uses the window then.

    What a program has left in the window must be as before at the end.
    """
    ends = (both.ep, both.rc)
    for vm in ends:
        vntb.set_link(vm, "down")
    try:
        yield
    finally:
        for vm in ends:
            vntb.set_link(vm, "up")
        for vm in ends:
            vntb.await_carrier(vm)


def copy(vm: Vm, built: Any, total: int) -> Rates:
    """
    Store to the window and load from it, @total bytes each, with the mapping
    that the NTB drivers use; the same within the guest's own memory.
    """
    guest_module.load(vm, MODULE, built)
    where, size = locate(vm, vm.topology)
    out = vm.output(f"window-copy /dev/{MODULE} {where:#x} {size:#x} "
                    f"{total:#x}", timeout=300)
    store, load = (line.split() for line in out.splitlines())
    return Rates(float(store[1]), float(store[2]),
                 float(load[1]), float(load[2]))
