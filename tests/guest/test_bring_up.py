# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways to bring a pair up: either VM first, doorbells without an ITS."""

import re

import pytest

from lablib import traffic, vntb


def assert_pings(both):
    traffic.first_ping(both.rc, both.ep)
    for source, to in ((both.ep, both.rc), (both.rc, both.ep)):
        ping = traffic.ping(source, to, 20)
        assert (ping.sent, ping.received) == (20, 20)


@pytest.mark.parametrize("first", ["ep", "rc"])
def test_either_may_start_first(make_pair, first):
    second = "rc" if first == "ep" else "ep"
    with make_pair() as both:
        both.start((first,))
        both.vm(first).wait_boot(120)
        if first == "ep":
            # The link trains while nobody is there yet.
            vntb.configure(both.ep, both.topology)
        both.start((second,))
        both.wait_boot()
        if first == "rc":
            vntb.configure(both.ep, both.topology)
        vntb.join(both.ep, both.rc, both.topology)
        assert_pings(both)


def test_embedded_doorbells(make_pair):
    """Without an MSI parent the eDMA's emulated interrupt is the doorbell."""
    with make_pair(msi_parent=False) as both:
        both.boot()
        both.form()
        assert "Using embedded (DMA) doorbell" in both.ep.output("dmesg")
        assert re.search(r"dw-edma-emul .*pci_epf_vntb_db",
                         both.ep.output("cat /proc/interrupts"))
        assert_pings(both)
