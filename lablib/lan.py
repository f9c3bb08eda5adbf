# SPDX-License-Identifier: GPL-2.0-or-later
"""
A virtio-net device in each guest and a stream of QEMU's between them: what
users would have without a cable, and what benches compare it with.
"""

import copy
import dataclasses
import ipaddress

from lablib import guest_script
from lablib.pair import Pair
from lablib.vm import LAN_MACS, LAN_MTU, Vm

ADDRESSES = {"ep": ipaddress.IPv4Interface("10.78.0.1/24"),
             "rc": ipaddress.IPv4Interface("10.78.0.2/24")}


def address(vm: Vm, timeout: float = 30) -> str:
    """Give the device its address instead of the one init gave it."""
    return guest_script.run(vm, f"""
there() {{
	for found in /sys/class/net/*; do
		read -r mac <$found/address && [ $mac = {LAN_MACS[vm.role]} ] &&
			[ -n "$(ip -4 addr show dev ${{found##*/}} scope global)" ] &&
			return
	done
	false
}}
await {timeout:.0f} there || fail "no virtio-net device of the bench"
dev=${{found##*/}}
ip addr flush dev $dev
ip link set $dev mtu {LAN_MTU} up || fail "$dev does not take an MTU of {LAN_MTU}"
ip addr add {ADDRESSES[vm.role]} dev $dev || fail "no address for $dev"
echo $dev
""", "the virtio-net device", timeout + 10)


def ends(both: Pair) -> dict[str, Vm]:
    """The two VMs as they are known on this network, by their roles."""
    found = {}
    for vm in (both.ep, both.rc):
        assert vm.agent     # one session for both of its names
        found[vm.role] = copy.copy(vm)
        found[vm.role].spec = dataclasses.replace(
            vm.spec, address=ADDRESSES[vm.role])
    return found
