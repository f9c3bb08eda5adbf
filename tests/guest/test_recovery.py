# SPDX-License-Identifier: GPL-2.0-or-later
"""Either VM may die and come back: the other one keeps running."""

import pytest

from conftest import assert_traffic


def uptime(vm):
    return float(vm.output("cat /proc/uptime").split()[0])


def await_function(rc, there):
    """Wait until the RC has, or no longer has, the NTB function."""
    test = "[ -e $f ]" if there else "[ ! -e $f ]"
    rc.run("n=2000; f=/sys/bus/pci/devices/0000:01:00.0; "
           f"until {test}; do n=$((n - 1)); [ $n -gt 0 ] || exit 1; "
           "busybox usleep 10000; done")


@pytest.mark.parametrize("load", ["idle", "pings"])
def test_ep_is_killed_and_comes_back(both, load):
    before = uptime(both.rc)
    if load == "pings":
        both.rc.run(f"setsid ping -f {both.ep.spec.address.ip} "
                    ">/dev/null 2>&1 </dev/null &")
    both.ep.kill()
    await_function(both.rc, False)
    both.rc.run("pkill -KILL ping", check=False)
    both.bring_back("ep")
    assert_traffic(both)
    assert uptime(both.rc) > before
    assert "Oops" not in both.rc.output("dmesg")


def test_rc_is_killed_and_comes_back(both):
    before = uptime(both.ep)
    both.rc.kill()
    both.bring_back("rc")
    assert_traffic(both)
    assert uptime(both.ep) > before
