# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways to bring a pair up: either VM first, with no MSI parent."""

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


@pytest.mark.parametrize("channels, kind", [(4, "embedded"), (0, "polled")])
def test_doorbells_without_an_msi_parent(make_pair, channels, kind):
    """They are an interrupt of the DMA engine; without one vNTB polls."""
    with make_pair(msi_parent=False, dma_channels=channels) as both:
        both.boot()
        both.form()
        _, before = observed.doorbells(both.ep)
        assert_pings(both)
        found, after = observed.doorbells(both.ep)
        if "embedded (DMA) doorbell" not in both.ep.output("dmesg"):
            # Linux before 7.3 does not know such doorbells.
            kind = "polled"
        assert found == kind
        assert (after > before) == (kind == "embedded")
