# SPDX-License-Identifier: GPL-2.0-or-later
"""
The NTB transport by the endpoint's DMA engine in other setups than two-vm-edma.
"""

import dataclasses
import re

import pytest

import conftest
from conftest import assert_traffic, ways
from lablib import (endpoint, kernel_log, netdev, observed, topology, traffic,
                    vntb)


def without_copies(tp):
    """All packets by DMA, also the small ones."""
    def vm(spec):
        own = dict(spec.parameters["ntb_transport"], copy_bytes=0)
        return dataclasses.replace(
            spec, parameters=dict(spec.parameters, ntb_transport=own))
    return dataclasses.replace(tp, ep=vm(tp.ep), rc=vm(tp.rc))


# What is changed, the options of the pair, what its doorbells are
SETUPS = {
    "by-dma": (without_copies, {}, "ITS"),
    "doorbells-polled": (lambda tp: tp, {"msi_parent": False}, "polled"),
}


@pytest.fixture(scope="module")
def edma(patched_built):
    """The topology, on the kernel that `./lab test` has made."""
    assert patched_built.kernel
    return topology.load("two-vm-edma")


@pytest.fixture(scope="module", params=SETUPS)
def other(request, edma, make_pair):
    """A pair that differs."""
    change, options, doorbells = SETUPS[request.param]
    with make_pair(change(edma), **options) as running:
        running.boot()
        running.form()
        traffic.first_ping(running.rc, running.ep)
        assert observed.doorbells(running.ep)[0] == doorbells
        yield running


@pytest.fixture(autouse=True)
def sane(other):
    """Neither kernel complains in any of the tests."""
    yield
    for vm in (other.ep, other.rc):
        kernel_log.check(vm)


def copied(vm):
    said = vm.output("cat /sys/kernel/debug/ntb_transport/*/qp0/stats")
    return int(re.search(r"tx_copied - \s*(\d+)", said)[1])


def test_traffic_of_another_setup(other):
    assert_traffic(other)
    for source, to in ways(other):
        for size, count in ((8, 200), (1400, 200), (65400, 50)):
            result = netdev.sequence(source, to, 8, count, size)
            assert result.ok(), (size, result)
    small_by_dma = "copy_bytes" in \
        other.topology.ep.parameters["ntb_transport"]
    for vm in (other.ep, other.rc):
        assert (copied(vm) == 0) == small_by_dma


def without_engine(tp):
    """The function as upstream has it: one window, whose BAR is its own."""
    attributes = dict(tp.function.attributes, num_mws=1, mw1=0x100000)
    for name in ("mw2", "mw2_offset", "mw2_bar"):
        del attributes[name]
    return dataclasses.replace(
        tp, function=dataclasses.replace(tp.function, attributes=attributes),
        ep=dataclasses.replace(tp.ep, parameters={}),
        rc=dataclasses.replace(tp.rc, parameters={}))


def test_the_function_can_be_bound_again(other):
    for _ in range(2):
        vntb.detach(other.rc, other.topology)
        endpoint.remove(other.ep, other.topology)
        endpoint.configure(other.ep, other.topology)
        vntb.join(other.ep, other.rc, other.topology)
    assert_traffic(other)


def test_another_function_is_bound_between(other):
    """
    The engine is the doorbell of a function that does not export it, where
    there is no MSI parent, and is not any more when it is exported again.
    """
    tp = other.topology
    plain = without_engine(tp)
    vntb.detach(other.rc, tp)
    endpoint.remove(other.ep, tp)
    polled = other.ep.spec.msi_parent is False
    endpoint.configure(other.ep, plain)
    vntb.attach(other.rc, plain)
    assert observed.doorbells(other.ep)[0] == ("embedded" if polled
                                               else "ITS")
    vntb.detach(other.rc, plain)
    endpoint.remove(other.ep, plain)
    endpoint.configure(other.ep, tp)
    vntb.join(other.ep, other.rc, tp)
    assert observed.doorbells(other.ep)[0] == ("polled" if polled else "ITS")
    assert_traffic(other)


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_another_setup_leaks_nothing(other, role):
    if not kernel_log.check_leaks(other.vm(role)):
        pytest.skip(conftest.NO_KMEMLEAK)
