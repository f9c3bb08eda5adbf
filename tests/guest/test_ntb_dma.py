# SPDX-License-Identifier: GPL-2.0-or-later
"""DMA into the peer's memory without a network: the client ntb_dma_test."""

import dataclasses
import re

import pytest

from lablib import endpoint, guest_script, kernel_log, topology, vntb

# CHAN SIZE OFFSET SRC_OFFSET SEGMENT COUNT
RUNS = [(0, 1, 4096, 0, 0, 4), (0, 4096, 4096, 0, 0, 16),
        (0, 65536, 4096, 4096, 4096, 8), (0, 65536, 4099, 3, 0, 8),
        (0, 4095, 8193, 5, 1000, 8), (0, 524288, 4096, 0, 65536, 2)]


@pytest.fixture(scope="module")
def client(patched_built, make_pair):
    """A pair on whose NTB ntb_dma_test is the only client."""
    assert patched_built.kernel
    edma = topology.load("two-vm-edma")
    tp = dataclasses.replace(
        edma, ep=dataclasses.replace(edma.ep, modules=("ntb_dma_test",),
                                     parameters={}),
        rc=dataclasses.replace(edma.rc, parameters={},
                               modules=("ntb_hw_epf", "ntb_dma_test")))
    with make_pair(tp) as running:
        running.boot()
        endpoint.configure(running.ep, tp)
        vntb.attach(running.rc, tp)
        for vm in (running.ep, running.rc):
            guest_script.run(vm, """
joined() { grep -qs 'peer 1' /sys/kernel/debug/ntb_dma_test/*/info; }
await 30 joined || fail "the test client has no peer"
""", "the test client", 60)
        yield running


def exercise(vm, words):
    """Run the client with @words; returns what it counted, by name."""
    said = vm.output(f"cd /sys/kernel/debug/ntb_dma_test/* && "
                     f"echo {' '.join(map(str, words))} >run && cat run",
                     timeout=120).split()
    return dict(zip(said[::2], map(int, said[1::2])))


@pytest.mark.parametrize("words", RUNS, ids=lambda words: "-".join(
    map(str, words)))
@pytest.mark.parametrize("role", ["rc", "ep"])
def test_blocks_arrive_whole(client, role, words):
    """The peer finds each block's checksum right and nothing changed around."""
    said = exercise(client.vm(role), words)
    assert (said["result"], said["done"], said["failed"]) == (0, words[-1], 0)


@pytest.mark.parametrize("role", ["rc", "ep"])
def test_every_channel(client, role):
    vm = client.vm(role)
    count = int(re.search(r"^channels (\d+)$", vm.output(
        "cat /sys/kernel/debug/ntb_dma_test/*/info"), re.M)[1])
    assert count == client.topology.ep.dma_channels
    for channel in range(count):
        said = exercise(vm, (channel, 65536, 4096, 0, 4096, 8))
        assert (said["result"], said["done"]) == (0, 8)


def test_both_sides_at_once(client):
    """The channels of the two directions do not disturb each other."""
    words = "0 65536 4096 0 0 200"
    for vm in (client.ep, client.rc):
        vm.run(f"cd /sys/kernel/debug/ntb_dma_test/* && (echo {words} >run; "
               "cat run >/tmp/both) >/tmp/both.log 2>&1 </dev/null &")
    for vm in (client.ep, client.rc):
        said = vm.output("n=6000; until grep -qs result /tmp/both; do "
                         "[ $((n -= 1)) -gt 0 ] || exit 1; "
                         "busybox usleep 10000; done; cat /tmp/both", 120)
        assert re.search(r"result 0 .* done 200 failed 0 ", said), said


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_kernels_stay_sane(client, role):
    vm = client.vm(role)
    kernel_log.check_leaks(vm)
    kernel_log.check(vm)
