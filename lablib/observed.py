# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guests' drivers made of the NTB: its doorbells, its transport."""

import re

from lablib.vm import Vm

_DOORBELL = "pci_epf_vntb_db"
_STATS = "/sys/kernel/debug/ntb_transport/*/qp0/stats"


def doorbells(ep: Vm) -> tuple[str, int]:
    """
    How the RC's doorbells reach the EP, and how many interrupts that took.

    "ITS": they are MSIs; "embedded": interrupts of the endpoint's own DMA
    engine; "polled": pci-epf-vntb has no interrupt for them.
    """
    lines = [line for line in ep.output("cat /proc/interrupts").splitlines()
             if _DOORBELL in line]
    count = 0
    for line in lines:
        # "57:  12  3  ITS-pMSI-...": one count for each CPU.
        counts = re.match(r"\s*\d+:((?:\s+\d+)+)\s", line)
        count += sum(map(int, counts[1].split())) if counts else 0
    if not lines:
        return "polled", 0
    return ("ITS" if any("ITS" in line for line in lines) else "embedded",
            count)


def _transport_of(vm: Vm) -> str:
    """Who moves the payload at one end, as ntb_transport says."""
    said = vm.run(f"cat {_STATS}", check=False).stdout
    # Only the backend of remote eDMA tells this, while its link is up.
    if re.search(r"^dma_channels -\s+[1-9]", said, re.M):
        return "remote-edma"
    used = dict(re.findall(r"^Using ([RT]X) DMA -\s+(\w+)", said, re.M))
    if not used:
        return "unknown"
    return "dma" if "Yes" in used.values() else "memcpy"


def transport(ep: Vm, rc: Vm) -> str:
    """
    Who moves the payload: "memcpy", "dma" (a channel of the end's own),
    "remote-edma", or what each end does.
    """
    ends = {vm.role: _transport_of(vm) for vm in (ep, rc)}
    if ends["ep"] == ends["rc"]:
        return ends["ep"]
    return ", ".join(f"{role} {kind}" for role, kind in ends.items())
