# SPDX-License-Identifier: GPL-2.0-or-later
"""Form the NTB: configure the endpoint function, load drivers, bring up links."""

import time

from lablib import endpoint, guest_script
from lablib.topology import Topology
from lablib.vm import Vm

# Finds the network device of ntb_netdev; its name is in $found.
_NETDEV = r"""
netdev() {
	for found in /sys/class/net/*; do
		case $(busybox readlink "$found/device") in
		*/ntb_netdev*) found=${found##*/}; return ;;
		esac
	done
	false
}
"""


def attach(rc: Vm, topology: Topology, timeout: float = 30) -> str:
    """
    Wait until the RC has the function, load the drivers; returns its address.

    ntb_netdev finds its transport when it is loaded and only then: it is
    loaded last, and anew after the function has come back.
    """
    function = endpoint.find(rc, topology, timeout)
    first, *rest = topology.rc.modules
    again = " ".join(reversed(rest))
    guest_script.run(rc, f"""
bound() {{ any "/sys/bus/ntb/devices/*"; }}
modprobe {first} || fail "cannot load {first}"
await {timeout:.0f} bound || fail "{first} did not bind {function}"
for module in {again}; do modprobe -r $module 2>/dev/null; done
for module in {' '.join(rest)}; do
	modprobe $module || fail "cannot load $module"
done
""", "attaching the NTB", timeout + 20)
    return function


def detach(rc: Vm, topology: Topology) -> None:
    """Unload the RC's drivers, in good order while the EP is there."""
    modules = " ".join(reversed(topology.rc.modules))
    guest_script.run(rc, f"""
for module in {modules}; do
	modprobe -r $module || fail "cannot unload $module"
done
""", "detaching the NTB", 60)


def address(vm: Vm, timeout: float = 30) -> str:
    """Give the netdev its address and bring it up; returns its name."""
    return guest_script.run(vm, _NETDEV + f"""
await {timeout:.0f} netdev || fail "ntb_netdev made no network device"
ip addr replace {vm.spec.address} dev $found || fail "no address for $found"
ip link set $found up || fail "$found does not come up"
echo $found
""", "the network device", timeout + 10)


def name(vm: Vm) -> str:
    """The name of the netdev."""
    return guest_script.run(vm, _NETDEV + """
netdev || fail "there is no ntb_netdev device"
echo $found
""", "the network device", 30)


def await_carrier(vm: Vm, timeout: float = 30) -> None:
    """Wait until the netdev has a carrier: the transport's link is up."""
    guest_script.run(vm, _NETDEV + f"""
carrier() {{
	read -r on 2>/dev/null </sys/class/net/$found/carrier && [ "$on" = 1 ]
}}
netdev || fail "there is no ntb_netdev device"
await {timeout:.0f} carrier ||
	fail "$found has no carrier after {timeout:.0f} s"
""", "the link", timeout + 10)


def join(ep: Vm, rc: Vm, topology: Topology, timeout: float = 60) -> None:
    """
    Attach the RC to an endpoint that has started and wait until the netdevs
    of both have their carrier.
    """
    deadline = time.monotonic() + timeout
    attach(rc, topology, timeout)
    for vm in (ep, rc):
        address(vm, max(1, deadline - time.monotonic()))
    for vm in (ep, rc):
        await_carrier(vm, max(1, deadline - time.monotonic()))


def set_link(vm: Vm, state: str) -> None:
    """Take the netdev "up" or "down"."""
    guest_script.run(vm, _NETDEV + f"""
netdev || fail "there is no ntb_netdev device"
ip link set $found {state} || fail "$found does not go {state}"
""", "the network device", 30)
