# SPDX-License-Identifier: GPL-2.0-or-later
"""
The kernel's selftest pci_endpoint on the RC against pci-epf-test on the EP.

From the kernel tree in use. Every case of it is run. A case that the hardware
cannot do must give exactly the answer that the lack predicts, and is then
reported as skipped, with the lack; any other answer is a failure.
"""

import dataclasses
import re

import pytest

import conftest
from lablib import kernel_log, pci_endpoint, selftests, topology

KERNEL_SELFTEST = "pci_endpoint"
PROGRAM = "/tmp/pci_endpoint_test"
# Seconds; the kernel's harness ends a case after 30.
CASE_TIMEOUT = 60
# Smallest region of the controllers' iATU.
IATU_REGION = 4096


@dataclasses.dataclass(frozen=True)
class Controller:
    """
    What an endpoint controller has, as the function of its topology shows it:
    BARs with their sizes, vectors, channels of its DMA engine.
    """
    name: str
    bars: dict[int, int]
    msi: int
    msix: int
    dma_channels: int


@dataclasses.dataclass(frozen=True)
class Lack:
    """
    What the hardware cannot do, and how the case shows it: its result and a
    regular expression for what it says.
    """
    reason: str
    status: str
    answer: str


CONTROLLERS = {
    "pci-endpoint": Controller(
        "R-Car Gen4", {0: 1 << 20, 2: 1 << 20, 4: 256}, msi=32, msix=0,
        dma_channels=8),
    "pci-endpoint-dw-plat": Controller(
        "dw-plat", {0: 64 << 10, 1: 128 << 10, 2: 128 << 10, 3: 128 << 10,
                    4: 128 << 10, 5: 1 << 20}, msi=32, msix=2048,
        dma_channels=8),
}
CONTROLLERS["pci-endpoint-stock-rc"] = CONTROLLERS["pci-endpoint"]
# Topologies, each with and without an MSI parent for the doorbells.
LABS = [(name, msi_parent) for name in CONTROLLERS
        for msi_parent in (True, False)]


def lab_name(lab):
    return lab[0] if lab[1] else f"{lab[0]}-no-msi-parent"


@dataclasses.dataclass
class Lab:
    """A running pair and what its hardware has."""
    controller: Controller
    ep: object
    rc: object
    function: str


@pytest.fixture(scope="module", params=LABS, ids=lab_name)
def lab(request, built, make_pair):
    name, msi_parent = request.param
    try:
        programs = selftests.build(built.kernel_src, KERNEL_SELFTEST)
    except selftests.NoSelftests as e:
        pytest.skip(str(e))
    tp = topology.load(name)
    if tp.rc.qemu == "stock":
        conftest.need_stock_qemu(built)
    with make_pair(tp, msi_parent=msi_parent) as both:
        both.boot()
        both.form()
        both.rc.run(f"cat >{PROGRAM} && chmod +x {PROGRAM}",
                    stdin=programs["pci_endpoint_test"])
        yield Lab(CONTROLLERS[name], both.ep, both.rc,
                  pci_endpoint.join(both.rc, both.topology))


def bar_lack(controller, number, subrange):
    name, size = controller.name, controller.bars.get(number, 0)
    if not size:
        return Lack(f"{name} has no BAR{number}", "skip", "BAR is disabled")
    if subrange and number == min(controller.bars):
        return Lack(f"BAR{number} carries the registers that give the test "
                    "its commands: no submap may take them away", "skip",
                    "BAR is test register space")
    if subrange and size < 2 * IATU_REGION:
        # dw_pcie_ep_validate_submap(): -EINVAL, the host sees EIO.
        return Lack(f"BAR{number} of {name} has {size} bytes, a region of its "
                    f"iATU {IATU_REGION} at least: it cannot be divided",
                    "not ok", r"== ret \(-5\)")
    return None


def lack_of(controller, case):
    """What keeps @controller from doing @case, None when nothing does."""
    bar = re.fullmatch(r"BAR(\d)", case.variant)
    if bar:
        return bar_lack(controller, int(bar[1]), "SUBRANGE" in case.test)
    if case.test == "LEGACY_IRQ_TEST":
        # dw_pcie_ep_raise_intx_irq(): "EP cannot raise INTX IRQs".
        return Lack(f"{controller.name} cannot raise INTx as an endpoint",
                    "not ok", r"== ret \(-110\)")
    if case.test == "MSIX_TEST" and not controller.msix:
        return Lack(f"{controller.name} has no MSI-X", "not ok",
                    "Can't set MSI-X IRQ type")
    if case.variant == "dma" and case.test == "COPY_TEST":
        # dw-edma is DMA_SLAVE only; pci_epf_test_copy() wants DMA_MEMCPY.
        return Lack(f"the DMA engine of {controller.name} moves data between "
                    "its memory and PCIe only, not from PCIe to PCIe",
                    "not ok", r"== ret \(-5\)")
    return None


def run_case(lab, case):
    """Run one case of the kernel's program; returns its outcome."""
    # A transfer that never completes cannot be killed and keeps the device.
    stuck = lab.rc.run(f"pgrep -fa '^{PROGRAM}'", check=False).stdout
    if stuck:
        pytest.fail(f"an earlier case has not ended: {stuck.strip()}")
    said = lab.rc.run(f"exec {PROGRAM} -r {case.name} 2>&1",
                      timeout=CASE_TIMEOUT, check=False).stdout
    return selftests.outcome(said, case.name)


def test_the_function_is_what_the_controller_has(lab):
    controller = lab.controller
    assert pci_endpoint.bars(lab.rc, lab.function) == controller.bars
    assert pci_endpoint.vectors(lab.rc, lab.function) == {
        "msi": controller.msi, "msix": controller.msix}
    assert pci_endpoint.dma_channels(lab.ep) == controller.dma_channels


def test_no_case_is_left_out(lab, built):
    listed = lab.rc.run(f"{PROGRAM} -l", check=False).stderr
    assert ({case.name for case in selftests.listed(listed)} ==
            {case.name for case in selftests.cases(built.kernel_src,
                                                   KERNEL_SELFTEST)})


def test_kernel(lab, kernel_case):
    lack = lack_of(lab.controller, kernel_case)
    outcome = run_case(lab, kernel_case)
    complaint = f"{outcome.why or outcome.status}\n{outcome.said}"
    if lack:
        assert outcome.status == lack.status, complaint
        assert re.search(lack.answer, outcome.said), complaint
        pytest.skip(lack.reason)
    assert outcome.status == "ok", complaint


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_kernels_stay_sane(lab, role):
    vm = getattr(lab, role)
    kernel_log.check_leaks(vm)
    kernel_log.check(vm)
