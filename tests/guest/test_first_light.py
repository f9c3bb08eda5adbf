# SPDX-License-Identifier: GPL-2.0-or-later
"""First light: unmodified drivers on both ends, traffic across the cable."""

import re

import pytest

from conftest import ways
from lablib import guest_module, traffic, vntb, window


def interrupts(vm, what):
    """Counts of the interrupt lines whose text matches, summed over CPUs."""
    total = 0
    for line in vm.output("cat /proc/interrupts").splitlines():
        if re.search(what, line):
            counts = re.match(r"\s*\S+:((?:\s+\d+)+)", line)
            total += sum(map(int, counts[1].split())) if counts else 0
    return total


def test_ep_has_an_endpoint_controller(both):
    names = both.ep.output("ls /sys/class/pci_epc").split()
    assert len(names) == 1
    assert re.fullmatch(r"[0-9a-f]+\.pcie-ep", names[0])


def test_vntb_is_bound_through_configfs(both):
    driver = both.ep.output(
        "basename $(readlink /sys/bus/pci-epf/devices/pci_epf_vntb.0/driver)")
    assert driver == "pci_epf_vntb"
    started = both.ep.output(
        "cat /sys/kernel/config/pci_ep/controllers/*.pcie-ep/start")
    assert started == "1"


def test_rc_sees_the_function(both):
    said = both.rc.output("lspci -vv -nn -d 1912:0030")
    assert "[0500]" in said
    assert "[1912:0030]" in said
    for bar, size in ((0, "1M"), (2, "1M"), (4, "256")):
        assert re.search(rf"Region {bar}: Memory at [0-9a-f]+ .*"
                         rf"\[size={size}\]", said), said
    for bar in (1, 3, 5):
        assert f"Region {bar}:" not in said
    # vNTB asks for 16 vectors of the 32 that the controller has.
    assert re.search(r"MSI: Enable\+ Count=16/16 Maskable\+ 64bit\+", said)
    assert re.search(r"Express \(v2\) Endpoint", said)
    assert "Advanced Error Reporting" in said


def test_rc_drivers_are_bound(both):
    address = both.rc.output("basename $(dirname "
                             "/sys/bus/pci/drivers/ntb_hw_epf/0*/vendor)")
    assert re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:00\.0", address)


def test_ntb_drivers_are_bound_on_both(both):
    for vm in (both.ep, both.rc):
        assert vm.output("ls -d /sys/bus/ntb/drivers/ntb_transport/0*")
        assert vm.output("ls -d /sys/bus/ntb_transport/drivers/ntb_netdev/"
                         "ntb_netdev*")


def test_ping_both_ways(both):
    for source, to in ways(both):
        ping = traffic.ping(source, to, 50)
        assert (ping.sent, ping.received) == (50, 50)


def test_doorbells_are_its_interrupts(both):
    its = r"ITS.*pci_epf_vntb_db"
    before = interrupts(both.ep, its)
    traffic.ping(both.rc, both.ep, 20)
    assert interrupts(both.ep, its) >= before + 20


def test_msis_reach_the_rc_through_its_its(both):
    its = r"ITS.*ntb_epf"
    before = interrupts(both.rc, its)
    traffic.ping(both.rc, both.ep, 20)
    assert interrupts(both.rc, its) >= before + 20


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_iperf_both_ways(both, protocol):
    for source, to in ways(both):
        assert traffic.iperf(source, to, protocol, seconds=3).gbit_s > 0


def test_file_crosses_both_ways(both):
    for source, to in ways(both):
        file = traffic.transfer(source, to, 256)
        assert file.received_sha256 == file.sent_sha256


def test_window_accesses_do_not_leave_the_guest(both, built):
    try:
        guest_module.build(window.MODULE, built)
    except guest_module.NoKernelBuild as e:
        pytest.skip(str(e))
    with window.quiet(both):
        for vm in (both.rc, both.ep):
            window.copy(vm, built, 4096)    # modules, TLBs, page faults
            before = [both.vm(role).cable(name) for role in ("ep", "rc")
                      for name in ("messages-sent", "messages-received")]
            window.copy(vm, built, 64 << 20)
            after = [both.vm(role).cable(name) for role in ("ep", "rc")
                     for name in ("messages-sent", "messages-received")]
            assert after == before
    traffic.first_ping(both.rc, both.ep)


def test_form_leaves_no_complaint_of_the_kernel(both):
    for vm in (both.ep, both.rc):
        said = vm.output("dmesg --level=emerg,alert,crit,err || :")
        bad = [line for line in said.splitlines()
               if re.search(r"Oops|BUG|Call trace|WARNING|rcar|ntb", line)]
        assert not bad


def test_controller_can_be_stopped_and_started(both):
    vntb.detach(both.rc, both.topology)
    both.reform()
    traffic.first_ping(both.rc, both.ep)
    for source, to in ways(both):
        assert traffic.ping(source, to, 10).received == 10
