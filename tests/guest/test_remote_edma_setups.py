# SPDX-License-Identifier: GPL-2.0-or-later
"""
The NTB transport by the endpoint's DMA engine in other setups than two-vm-edma.
"""

import dataclasses
import re

import pytest

from lablib import endpoint, kernel_log, netdev, topology, traffic, vntb


def without_copies(tp):
    """All packets by DMA, also the small ones."""
    def vm(spec):
        own = dict(spec.parameters["ntb_transport"], copy_bytes=0)
        return dataclasses.replace(
            spec, parameters=dict(spec.parameters, ntb_transport=own))
    return dataclasses.replace(tp, ep=vm(tp.ep), rc=vm(tp.rc))


SETUPS = {
    "by-dma": (without_copies, {}),
    "doorbells-polled": (lambda tp: tp, {"msi_parent": False}),
}


@pytest.fixture(scope="module")
def edma(patched_built):
    """The topology, on the kernel that `./lab test` has made."""
    assert patched_built.kernel
    return topology.load("two-vm-edma")


@pytest.fixture(scope="module", params=SETUPS)
def other(request, edma, make_pair):
    """A pair that differs."""
    change, options = SETUPS[request.param]
    with make_pair(change(edma), **options) as running:
        running.boot()
        running.form()
        traffic.first_ping(running.rc, running.ep)
        yield running


def ways(pair):
    return ((pair.ep, pair.rc), (pair.rc, pair.ep))


def assert_traffic(pair, mib=16):
    for source, to in ways(pair):
        traffic.first_ping(source, to)
        assert traffic.ping(source, to, 10).received == 10
        assert traffic.transfer(source, to, mib).ok()


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
        kernel_log.check(vm)


def test_the_function_can_be_bound_again(other):
    for _ in range(2):
        vntb.detach(other.rc, other.topology)
        endpoint.remove(other.ep, other.topology)
        endpoint.configure(other.ep, other.topology)
        vntb.join(other.ep, other.rc, other.topology)
    assert_traffic(other)


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_another_setup_leaks_nothing(other, role):
    kernel_log.check_leaks(other.vm(role))
