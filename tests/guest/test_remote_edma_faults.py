# SPDX-License-Identifier: GPL-2.0-or-later
"""
A peer that writes nonsense into the rings, or stands still.
"""

import contextlib

import pytest

import conftest
from conftest import assert_traffic
from lablib import (guest_script, kernel_log, netdev, topology, traffic,
                    vntb)
from lablib.qmp import Qmp

# The block of queue pair 0 (ntb_edma_internal.h) is at the start of window 1.
FREE_HEAD, DONE_HEAD, FREE = 0x0, 0x4, 0x40
RING = 256
FREE_ENTRY = 16


@pytest.fixture(scope="module")
def edma(patched_built):
    """The topology, on the kernel that `./lab test` has made."""
    assert patched_built.kernel
    return topology.load("two-vm-edma")


@pytest.fixture(scope="module")
def both(edma, make_pair):
    """A pair as the topology has it."""
    with make_pair(edma) as running:
        running.boot()
        running.form()
        traffic.first_ping(running.rc, running.ep)
        yield running


def window(rc):
    """The RC's address of the window."""
    line = rc.output("sed -n 3p /sys/bus/pci/drivers/ntb_hw_epf/0*/resource")
    return int(line.split()[0], 16)


def poke(rc, *writes):
    """What a peer gone wrong does: 32-bit writes to the EP's block."""
    base = window(rc)
    rc.run("\n".join(f"busybox devmem {base + offset:#x} 32 {value:#x}"
                     for offset, value in writes))


def everywhere(ring, size, offset, value):
    return [(ring + size * n + offset, value) for n in range(RING)]


WILD = {
    "done-head": ([(DONE_HEAD, 0x7fffffff)], "done ring runs wild"),
    # More than the buffers that are published
    "done-head-a-little": ([(DONE_HEAD, RING + 1)], "done ring runs wild"),
    "free-head": ([(FREE_HEAD, 0x80000000)], "free ring runs wild"),
    "empty-buffers": (everywhere(FREE, FREE_ENTRY, 8, 0), "an empty buffer"),
    "nowhere": (everywhere(FREE, FREE_ENTRY, 4, 0x7fff),
                "DMA into the peer's memory failed"),
}


@pytest.mark.parametrize("case", WILD)
def test_wild_values_take_the_link_down_and_no_more(both, case):
    writes, why = WILD[case]
    assert_traffic(both, 4)
    for vm in (both.ep, both.rc):
        kernel_log.check(vm)
    both.ep.run("dmesg -C")
    poke(both.rc, *writes)
    if not case.startswith("done"):
        # Only who sends looks there: packets of more than copy_bytes.
        both.ep.run(f"ping -c 300 -i 0.02 -s 4000 {both.rc.spec.address.ip} "
                    ">/dev/null 2>&1", check=False)
    guest_script.run(both.ep, f"""
told() {{ dmesg | grep -q "{why}, link down"; }}
await 30 told || fail "$(dmesg | tail -n 20)"
""", "the word about it", 60)
    for vm in (both.ep, both.rc):
        vntb.await_carrier(vm)
    assert_traffic(both)
    for vm in (both.ep, both.rc):
        kernel_log.check(vm)


@contextlib.contextmanager
def standing_still(vm):
    """The VM's CPUs stop; its devices and the link do not."""
    with Qmp(vm.qmp_socket()) as qmp:
        qmp.execute("stop")
    try:
        yield
    finally:
        with Qmp(vm.qmp_socket()) as qmp:
            qmp.execute("cont")


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_buffers_that_a_peer_kept_are_not_used_again(both, role):
    """
    The client could not have them back and has posted larger ones. The old
    ones come back when the peer has stopped: nothing is received into them.
    """
    other, vm = ((both.rc, both.ep) if role == "ep" else (both.ep, both.rc))
    large = netdev.mtu(vm)
    netdev.set_mtu(vm, 1500)
    vntb.await_carrier(vm)
    traffic.first_ping(vm, other)
    vm.run("dmesg -C")
    with standing_still(other):
        vntb.set_link(vm, "down")
        assert "it keeps our buffers" in vm.output("dmesg")
        netdev.set_mtu(vm, large)
        vntb.set_link(vm, "up")
    for each in (both.ep, both.rc):
        vntb.await_carrier(each)
    traffic.first_ping(vm, other)
    said = other.output(f"ping -i 0.05 -c 250 -w 120 -s {large - 28} "
                        f"{vm.spec.address.ip}")
    assert " 0% packet loss" in said, said
    assert_traffic(both)
    for each in (both.ep, both.rc):
        kernel_log.check(each)


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_buffers_that_a_peer_kept_come_back_when_the_queue_goes(both, role):
    """Also when the interface is not used again: no leak, see below."""
    other, vm = ((both.rc, both.ep) if role == "ep" else (both.ep, both.rc))
    vm.run("dmesg -C")
    with standing_still(other):
        vntb.set_link(vm, "down")
        assert "it keeps our buffers" in vm.output("dmesg")
    # This waits until its queue has stopped.
    vntb.set_link(other, "down")
    vm.run("modprobe -r ntb_netdev")
    said = vm.output("dmesg")
    assert "lost to the peer" not in said
    assert "with a receive buffer" not in said
    vntb.detach(both.rc, both.topology)
    both.reform()
    traffic.first_ping(both.rc, both.ep)
    assert_traffic(both)


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_nothing_leaks(both, role):
    if not kernel_log.check_leaks(both.vm(role)):
        pytest.skip(conftest.NO_KMEMLEAK)
