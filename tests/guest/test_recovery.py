# SPDX-License-Identifier: GPL-2.0-or-later
"""Either VM may start first, die and come back: the other one keeps running."""

import pytest

from lablib import traffic, vntb


def uptime(vm):
    return float(vm.output("cat /proc/uptime").split()[0])


def assert_traffic(both):
    for source, to in ((both.ep, both.rc), (both.rc, both.ep)):
        traffic.first_ping(source, to)
        ping = traffic.ping(source, to, 10)
        assert (ping.sent, ping.received) == (10, 10)
    file = traffic.transfer(both.rc, both.ep, 8)
    assert file.ok()


def await_function(rc, there):
    """Wait until the RC has, or no longer has, the NTB function."""
    test = "[ -e $f ]" if there else "[ ! -e $f ]"
    rc.run("n=2000; f=/sys/bus/pci/devices/0000:01:00.0; "
           f"until {test}; do n=$((n - 1)); [ $n -gt 0 ] || exit 1; "
           "busybox usleep 10000; done")


@pytest.mark.parametrize("first", ["ep", "rc"])
def test_either_may_start_first(make_pair, first):
    second = "rc" if first == "ep" else "ep"
    with make_pair() as both:
        both.start((first,))
        both.vm(first).wait_boot(120)
        if first == "ep":
            vntb.configure(both.ep, both.topology)
        both.start((second,))
        both.wait_boot()
        if first == "rc":
            vntb.configure(both.ep, both.topology)
        vntb.join(both.ep, both.rc, both.topology)
        assert_traffic(both)


def test_ep_is_killed_and_comes_back(both):
    before = uptime(both.rc)
    both.ep.kill()
    await_function(both.rc, False)
    both.revive("ep")
    both.form()
    assert_traffic(both)
    assert uptime(both.rc) > before


def test_rc_is_killed_and_comes_back(both):
    before = uptime(both.ep)
    both.rc.kill()
    both.revive("rc")
    vntb.restart(both.ep, both.topology)
    vntb.join(both.ep, both.rc, both.topology)
    assert_traffic(both)
    assert uptime(both.ep) > before


def test_ep_is_killed_under_traffic(both):
    both.rc.run(f"setsid ping -f {both.ep.spec.address.ip} "
                ">/dev/null 2>&1 </dev/null &")
    both.ep.kill()
    await_function(both.rc, False)
    both.rc.run("pkill -KILL ping", check=False)
    both.revive("ep")
    both.form()
    assert_traffic(both)
