# SPDX-License-Identifier: GPL-2.0-or-later
"""
The NTB transport by the endpoint's DMA engine: patched kernels on both sides.

VNTB_LAB_EDMA_MIB is the size of the file that crosses each way while queues
change (1024 MiB takes minutes under TCG; the default is 256), and
VNTB_LAB_EDMA_RELOADS how often the modules are unloaded and loaded again.
"""

import dataclasses
import os
import re

import pytest

import conftest
from conftest import assert_traffic, ways
from lablib import (endpoint, guest_script, kernel_log, netdev, observed,
                    topology, traffic, vntb)


def _number(name, default):
    value = os.environ.get(name, default)
    if not re.fullmatch(r"0*[1-9][0-9]{0,5}", value):
        pytest.fail(f"{name}={value}: give a whole number from 1 on",
                    pytrace=False)
    return int(value)


FILE_MIB = _number("VNTB_LAB_EDMA_MIB", "256")
RELOADS = _number("VNTB_LAB_EDMA_RELOADS", "5")
QUEUES = 4


@pytest.fixture(scope="session")
def edma(patched_built):
    """The topology, on the kernel that `./lab test` has made."""
    assert patched_built.kernel
    tp = topology.load("two-vm-edma")
    if FILE_MIB <= 256:
        return tp
    # The file is in the memory of either VM, half of which /tmp may have.
    memory = 1024 + 2 * FILE_MIB
    return dataclasses.replace(
        tp, ep=dataclasses.replace(tp.ep, memory=memory),
        rc=dataclasses.replace(tp.rc, memory=memory))


@pytest.fixture(scope="module")
def both(edma, make_pair):
    """A pair with its NTB formed."""
    with make_pair(edma) as running:
        running.boot()
        running.form()
        traffic.first_ping(running.rc, running.ep)
        yield running


@pytest.fixture(autouse=True)
def sane(both):
    """Neither kernel complains in any of the tests."""
    yield
    for vm in (both.ep, both.rc):
        kernel_log.check(vm)


def provider(rc):
    """The dmaengine devices of the RC that are not platform devices."""
    return rc.run("for d in /sys/class/dma/dma*chan*; do "
                  "readlink -f $d; done 2>/dev/null | grep pci",
                  check=False).stdout.splitlines()


def await_provider(rc, there):
    rc.run(f"""
there() {{
	for d in /sys/class/dma/dma*chan*; do readlink -f $d; done | grep -q pci
}}
n=3000
until {'there' if there else '! there'}; do
	[ $((n -= 1)) -gt 0 ] || exit 1
	busybox usleep 10000
done""")


def await_packets(vm, count):
    """Traffic flows, however slow the guests are."""
    start = netdev.queues(vm)
    for _ in range(120):
        vm.run("busybox sleep 1")
        moved = netdev.counted(vm, "tx_pkts", start)
        if sum(moved.values()) > count:
            return
    raise AssertionError(f"{moved} packets of {vm.role} in two minutes")


def test_bring_up(both):
    assert observed.transport(both.ep, both.rc) == "remote-edma"
    assert both.rc.output("ls /sys/bus/auxiliary/devices")
    assert len(provider(both.rc)) == both.topology.ep.dma_channels


def test_provider_comes_and_goes_with_the_link(both):
    vntb.detach(both.rc, both.topology)
    endpoint.stop(both.ep, both.topology)
    await_provider(both.rc, False)
    assert not both.rc.output("ls /sys/bus/auxiliary/devices")
    endpoint.start(both.ep, endpoint.controller(both.ep), both.topology)
    vntb.join(both.ep, both.rc, both.topology)
    await_provider(both.rc, True)
    assert_traffic(both)


def test_ping_both_ways(both):
    for source, to in ways(both):
        ping = traffic.ping(source, to, 50)
        assert (ping.sent, ping.received) == (50, 50)


@pytest.mark.parametrize("streams", [1, 4])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_iperf_both_ways(both, protocol, streams):
    for source, to in ways(both):
        got = traffic.iperf(source, to, protocol, 3, streams)
        assert got.gbit_s > 0


def test_the_engine_moves_the_payload(both):
    """The interrupts of its channels, and few copies through the window."""
    for source, to in ways(both):
        vm, line = ((both.ep, "edma|dw-edma|dma") if source is both.ep
                    else (both.rc, "dw-edma|edma"))
        before, start = interrupts(vm, line), netdev.queues(vm)
        assert traffic.transfer(source, to, 32).ok()
        moved, copied, batches = (
            sum(netdev.counted(vm, what, start).values())
            for what in ("tx_bytes", "tx_copied", "tx_batches"))
        assert moved > 32 << 20
        # Only what has at most copy_bytes is copied: ACKs, not the file.
        assert moved - 256 * copied > 32 << 20
        # One packet has 64 KiB at most, and a batch 32 packets.
        assert batches >= (32 << 20) / (32 * 65536)
        assert interrupts(vm, line) - before >= 16


def interrupts(vm, what):
    total = 0
    for text in vm.output("cat /proc/interrupts").splitlines():
        if re.search(what, text):
            counts = re.match(r"\s*\S+:((?:\s+\d+)+)", text)
            total += sum(map(int, counts[1].split())) if counts else 0
    return total


def test_mtu_of_64_kib(both):
    for vm in (both.ep, both.rc):
        assert netdev.mtu(vm) >= 65000
    for source, to in ways(both):
        said = source.output(f"ping -M do -c 5 -w 30 -s "
                             f"{netdev.mtu(source) - 28} {to.spec.address.ip}")
        assert re.search(r" 0% packet loss", said), said


# A suite that says nothing for a quarter of an hour is taken to hang.
@pytest.mark.parametrize("way", [0, 1], ids=["ep-to-rc", "rc-to-ep"])
def test_file_crosses_while_queues_change(both, way):
    def change():
        for count in (2, 4, 1, 3):
            netdev.set_both_channels(both.ep, both.rc, count)
    source, to = ways(both)[way]
    file = traffic.transfer(source, to, FILE_MIB, timeout=800,
                            meanwhile=change)
    assert file.received_sha256 == file.sent_sha256
    netdev.set_both_channels(both.ep, both.rc, 1)


@pytest.mark.parametrize("queues", [1, QUEUES])
def test_numbered_datagrams(both, queues):
    netdev.set_both_channels(both.ep, both.rc, queues)
    for source, to in ways(both):
        for size, count in ((8, 500), (64, 500), (1400, 500), (65400, 100)):
            result = netdev.sequence(source, to, 8, count, size)
            assert result.ok(), (size, result)
    netdev.set_both_channels(both.ep, both.rc, 1)


# Ten in a test: a suite that says nothing for long is taken to hang.
@pytest.mark.parametrize("start", range(0, RELOADS, 10))
def test_modules_can_be_reloaded(both, start):
    for _ in range(min(10, RELOADS - start)):
        vntb.detach(both.rc, both.topology)
        both.reform()
        traffic.first_ping(both.rc, both.ep)
    assert_traffic(both)


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_one_side_without_the_parameter_is_refused(both, role):
    """No link, one message on the side that sees it, and no fallback."""
    tp = both.topology
    # attach() loads what it is told to anew, with the topology's parameters.
    early = dataclasses.replace(
        tp, rc=dataclasses.replace(tp.rc, modules=tp.rc.modules[:1]))
    vntb.detach(both.rc, tp)
    endpoint.stop(both.ep, tp)
    for vm in (both.ep, both.rc):
        kernel_log.check(vm)
        vm.run("dmesg -C")
    if role == "ep":
        both.ep.run("modprobe ntb_transport use_remote_edma=0")
    try:
        endpoint.start(both.ep, endpoint.controller(both.ep), tp)
        vntb.attach(both.rc, early)
        both.rc.run("modprobe ntb_transport use_remote_edma="
                    f"{int(role == 'ep')} && modprobe ntb_netdev")
        for vm in (both.ep, both.rc):
            vntb.address(vm)
        guest_script.run(both.vm("rc" if role == "ep" else "ep"), """
told() { dmesg | grep -q 'link refused'; }
await 30 told || fail "the kernel does not say that the link is refused"
[ "$(dmesg | grep -c 'link refused')" = 1 ] || fail "it says it again"
""", "the refusal", 60)
        for vm in (both.ep, both.rc):
            assert vm.output(f"cat /sys/class/net/{vntb.name(vm)}/carrier"
                             ) == "0"
    finally:
        vntb.detach(both.rc, tp)
        both.reform()
    for vm in (both.ep, both.rc):
        kernel_log.check(vm)
        vm.run("dmesg -C")
    assert_traffic(both)


def test_the_host_driver_is_unbound_under_traffic(both):
    """
    The endpoint has stopped its engine before the host frees what it has
    posted.
    """
    tp = both.topology
    function = endpoint.find(both.rc, tp)
    driver = "/sys/bus/pci/drivers/ntb_hw_epf"
    for _ in range(3):
        traffic.listen(both.rc, 5998, "iperf3 -s -p 5998 -1", "/tmp/u.log")
        both.ep.run(f"setsid iperf3 -p 5998 -c {both.rc.spec.address.ip} "
                    "-t 300 -P 4 --bidir >/tmp/u.log 2>&1 </dev/null &")
        await_packets(both.ep, 500)
        both.rc.run(f"echo {function} >{driver}/unbind")
        await_provider(both.rc, False)
        for vm in (both.ep, both.rc):
            vm.run("pkill -KILL iperf3", check=False)
            assert "does not stop" not in vm.output("dmesg")
            assert "not confirmed" not in vm.output("dmesg")
        both.rc.run(f"echo {function} >{driver}/bind")
        vntb.join(both.ep, both.rc, tp)
        traffic.first_ping(both.rc, both.ep)
    assert_traffic(both)


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_nothing_has_leaked(both, role):
    if not kernel_log.check_leaks(both.vm(role)):
        pytest.skip(conftest.NO_KMEMLEAK)


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_a_side_is_killed_under_traffic_and_returns(both, role):
    """The survivor gives everything back and carries on."""
    survivor, victim = ((both.rc, both.ep) if role == "ep"
                        else (both.ep, both.rc))
    before = float(survivor.output("cat /proc/uptime").split()[0])
    traffic.listen(victim, 5999, "iperf3 -s -p 5999 -1", "/tmp/kill.log")
    survivor.run(f"setsid iperf3 -p 5999 -c {victim.spec.address.ip} -t 300 "
                 "-P 4 --bidir >/tmp/kill.log 2>&1 </dev/null &")
    await_packets(survivor, 500)
    victim.kill()
    if role == "ep":
        await_provider(survivor, False)
    survivor.run("pkill -KILL iperf3", check=False)
    both.bring_back(role)
    assert_traffic(both)
    assert float(survivor.output("cat /proc/uptime").split()[0]) > before
    kernel_log.check_leaks(survivor)
