# SPDX-License-Identifier: GPL-2.0-or-later
"""Bring up pci-epf-test on the EP and pci_endpoint_test on the RC."""

import re

from lablib import endpoint, guest_script
from lablib.topology import Topology
from lablib.vm import Vm

# The first device of pci_endpoint_test; the kernel's own test program opens it.
DEVICE = "/dev/pci-endpoint-test.0"


def join(rc: Vm, topology: Topology, timeout: float = 60) -> str:
    """Wait for the function, bind the RC's driver; returns its address."""
    function = endpoint.find(rc, topology, timeout)
    modules = " ".join(topology.rc.modules)
    guest_script.run(rc, f"""
for module in {modules}; do
	modprobe $module || fail "cannot load $module"
done
await {timeout:.0f} any {DEVICE} ||
	fail "no driver of {modules} has bound {function}"
""", "attaching the endpoint function", timeout + 20)
    return function


def bars(rc: Vm, function: str) -> dict[int, int]:
    """The memory BARs that @function has on the RC: sizes in bytes."""
    text = rc.output(f"cat /sys/bus/pci/devices/{function}/resource")
    found = {}
    for number, line in enumerate(text.splitlines()[:6]):
        start, end, _flags = (int(word, 16) for word in line.split())
        if end:
            found[number] = end - start + 1
    return found


def vectors(rc: Vm, function: str) -> dict[str, int]:
    """How many vectors @function offers: "msi" and "msix", 0 without."""
    said = rc.output(f"lspci -vv -s {function}")
    msi = re.search(r"MSI: Enable\S Count=\d+/(\d+)", said)
    msix = re.search(r"MSI-X: Enable\S Count=(\d+)", said)
    return {"msi": int(msi[1]) if msi else 0,
            "msix": int(msix[1]) if msix else 0}


def dma_channels(ep: Vm) -> int:
    """How many DMA channels the EP's endpoint controller has."""
    name = endpoint.controller(ep)
    return int(ep.output(f"""
n=0
for channel in /sys/class/dma/*; do
	case $(busybox readlink -f "$channel/device") in
	*/{name}) n=$((n + 1)) ;;
	esac
done
echo $n"""))
