# SPDX-License-Identifier: GPL-2.0-or-later
"""The NTB over the generic DesignWare controller instead of R-Car's."""

import re

import pytest

from conftest import OPTIONS
from lablib import pair, topology, traffic, vntb


@pytest.fixture(scope="module")
def plat(built):
    """A pair of the topology dw-plat with its NTB formed."""
    with pair.running(topology.load("dw-plat"), OPTIONS, built) as running:
        running.boot()
        running.form()
        traffic.first_ping(running.rc, running.ep)
        yield running


def test_ep_is_bound_by_the_generic_driver(plat):
    name = plat.ep.output("ls /sys/class/pci_epc")
    assert re.fullmatch(r"[0-9a-f]+\.pcie-ep", name)
    driver = plat.ep.output(
        f"basename $(readlink /sys/bus/platform/devices/{name}/driver)")
    assert driver == "dw-pcie"
    said = plat.ep.output("dmesg")
    assert re.search(r"dw-pcie .*iATU: unroll T, 16 ob, 16 ib, align 4K, "
                     r"limit 1024G", said)
    assert re.search(r"dw-pcie .*eDMA: unroll T, 4 wr, 4 rd", said)


def test_rc_sees_what_the_controller_can(plat):
    said = plat.rc.output("lspci -vv -nn -d 1912:0030")
    # The sizes that vNTB asks for: programmable BARs take any.
    for bar, size in ((0, "2K"), (2, "1M"), (4, "128")):
        assert re.search(rf"Region {bar}: Memory at [0-9a-f]+ .*"
                         rf"\[size={size}\]", said), said
    for bar in (1, 3, 5):
        assert f"Region {bar}:" not in said
    assert re.search(r"MSI: Enable\+ Count=16/16 Maskable\+ 64bit\+", said)
    assert re.search(r"MSI-X: Enable- Count=1 Masked-", said)
    assert re.search(r"LnkCap:.*Speed 16GT/s, Width x4", said)


def test_doorbells_are_its_interrupts(plat):
    assert re.search(r"ITS.*pci_epf_vntb_db",
                     plat.ep.output("cat /proc/interrupts"))


def test_traffic_both_ways(plat):
    for source, to in ((plat.ep, plat.rc), (plat.rc, plat.ep)):
        ping = traffic.ping(source, to, 20)
        assert (ping.sent, ping.received) == (20, 20)
        assert traffic.transfer(source, to, 64).ok()


def test_controller_can_be_stopped_and_started(plat):
    vntb.detach(plat.rc, plat.topology)
    plat.reform()
    traffic.first_ping(plat.rc, plat.ep)
    assert traffic.transfer(plat.rc, plat.ep, 8).ok()
