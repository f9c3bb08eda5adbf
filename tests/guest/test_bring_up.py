# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways to bring a pair up: either VM first, with no MSI parent."""

import re

import pytest

from lablib import endpoint, observed, traffic, vntb

pytestmark = pytest.mark.usefixtures("ntb_kernel")


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
            endpoint.configure(both.ep, both.topology)
        both.start((second,))
        both.wait_boot()
        if first == "rc":
            endpoint.configure(both.ep, both.topology)
        vntb.join(both.ep, both.rc, both.topology)
        assert_pings(both)


def test_doorbells_without_an_msi_parent(make_pair):
    with make_pair(msi_parent=False) as both:
        both.boot()
        both.form()
        _, before = observed.doorbells(both.ep)
        assert_pings(both)
        kind, after = observed.doorbells(both.ep)
        # A kernel that can takes interrupts of the endpoint's DMA engine where
        # that has channels; the others poll.
        says = both.ep.output("dmesg")
        channels = re.search(r"eDMA: unroll \w, ([1-9]\d* wr|0 wr, [1-9])",
                             says)
        if channels and "embedded (DMA) doorbell" in says:
            assert (kind, after > before) == ("embedded", True)
        else:
            assert (kind, after) == ("polled", 0)
