# SPDX-License-Identifier: GPL-2.0-or-later
"""First light with an RC that nobody here wrote: a QEMU with vfio-user-pci."""

import dataclasses
import re

import pytest

import conftest
from conftest import assert_traffic, ways
from lablib import pair, topology, traffic, vntb

MIB = 1 << 20


@pytest.fixture(scope="module")
def stock_rc(built):
    """The topology; skipped when there is no QEMU for its RC."""
    conftest.need_stock_qemu(built)
    return topology.load("stock-rc")


@pytest.fixture(scope="module")
def both(built, stock_rc):
    """A pair that has formed its NTB; the tests share it."""
    with pair.running(stock_rc, conftest.OPTIONS, built) as running:
        running.boot()
        running.form()
        traffic.first_ping(running.rc, running.ep)
        yield running


def interrupts(vm, what):
    """How often the interrupts whose line matches have come, on all CPUs."""
    return sum(int(count)
               for line in vm.output("cat /proc/interrupts").splitlines()
               if re.search(what, line)
               for count in re.match(r"\s*\S+:((?:\s+\d+)+)",
                                     line)[1].split())


# Two with a pair of their own, before the one that the others share starts.

def test_function_that_names_an_intx_pin(built, stock_rc):
    """vfio-user-pci insists on an INTx then; MSIs are used all the same."""
    function = stock_rc.function
    named = dataclasses.replace(
        stock_rc, function=dataclasses.replace(
            function, header=function.header | {"interrupt_pin": 1}))
    with pair.running(named, conftest.OPTIONS, built) as both:
        both.boot()
        both.form()
        said = both.rc.output("lspci -vv -nn -d 1912:0030")
        assert "Interrupt: pin A" in said
        assert "MSI: Enable+" in said
        assert_traffic(both, 1)


def test_memory_that_cannot_be_mapped(built, stock_rc, monkeypatch):
    """DMA by messages, in the layout that QEMU's client has."""
    with pair.running(stock_rc, conftest.OPTIONS, built) as both:
        command = both.rc.command
        monkeypatch.setattr(both.rc, "command", lambda: [
            re.sub("memory-backend-memfd(.*),share=on",
                   r"memory-backend-ram\1", word) for word in command()])
        both.boot()
        both.form()
        sent = both.ep.cable("messages-sent")
        assert_traffic(both, 1)
        assert both.ep.cable("messages-sent") - sent >= MIB // 8


def test_rc_is_another_qemu(both):
    command = both.rc.command()
    assert command[0] != str(both.built.qemu)
    assert any("vfio-user-pci" in word for word in command)
    assert not any("pcie-cable" in word for word in command)
    major, minor = both.st.facts["rc_qemu_version"].split(".")[:2]
    assert (int(major), int(minor)) >= (10, 1)


def test_rc_sees_the_function(both):
    said = both.rc.output("lspci -vv -nn -d 1912:0030")
    assert "[0500]" in said
    for bar, size in ((0, "1M"), (2, "1M"), (4, "256")):
        assert re.search(rf"Region {bar}: Memory at [0-9a-f]+ .*"
                         rf"\[size={size}\]", said), said
    assert re.search(r"MSI: Enable\+ Count=16/16 Maskable\+ 64bit\+", said)
    assert re.search(r"Express \(v2\) Endpoint", said)
    assert "Advanced Error Reporting" in said


def test_ping_both_ways(both):
    for source, to in ways(both):
        ping = traffic.ping(source, to, 50)
        assert (ping.sent, ping.received) == (50, 50)


def test_interrupts_of_both_are_of_their_its(both):
    doorbells, msis = r"ITS.*pci_epf_vntb_db", r"ITS.*ntb_epf"
    before = interrupts(both.ep, doorbells), interrupts(both.rc, msis)
    traffic.ping(both.rc, both.ep, 20)
    assert interrupts(both.ep, doorbells) >= before[0] + 20
    assert interrupts(both.rc, msis) >= before[1] + 20


def test_iperf_both_ways(both):
    for source, to in ways(both):
        assert traffic.iperf(source, to, "tcp", seconds=3).gbit_s > 0


def test_file_crosses_both_ways(both):
    for source, to in ways(both):
        file = traffic.transfer(source, to, 8)
        assert file.received_sha256 == file.sent_sha256


def test_bars_trap_and_memory_is_mapped(both):
    """Data to the EP goes over the socket, data to the RC does not."""
    received = both.ep.cable("messages-received")
    assert traffic.transfer(both.rc, both.ep, 4).ok()
    # Stores of 8 bytes, of which a message holds at most 200
    assert both.ep.cable("messages-received") - received > 4 * MIB // 1600
    sent = both.ep.cable("messages-sent")
    assert traffic.transfer(both.ep, both.rc, 4).ok()
    assert both.ep.cable("messages-sent") - sent < 4 * MIB // 64


def test_no_complaint_of_either_kernel(both):
    for vm in (both.ep, both.rc):
        said = vm.output("dmesg --level=emerg,alert,crit,err || :")
        bad = [line for line in said.splitlines()
               if re.search(r"Oops|BUG|Call trace|WARNING|rcar|ntb", line)]
        assert not bad


def test_endpoint_is_restarted(both):
    vntb.detach(both.rc, both.topology)
    both.reform()
    assert_traffic(both, 1)


def test_rc_is_killed_and_comes_back(both):
    both.rc.kill()
    both.bring_back("rc")
    assert_traffic(both, 1)


def test_ep_is_killed_and_comes_back(both):
    both.ep.kill()
    # The function stays and reads all ones; the RC's guest goes on.
    assert both.rc.output("od -An -tx4 -N4 /sys/bus/pci/devices/"
                          "0000:01:00.0/config").strip() == "ffffffff"
    both.bring_back("ep")
    assert_traffic(both, 1)
