# SPDX-License-Identifier: GPL-2.0-or-later
"""The netdev of the NTB in a guest: its queues, its MTU, their counters."""

import contextlib
import dataclasses
import re
import secrets
from typing import Iterator

from lablib import vntb
from lablib.agent import CommandError
from lablib.traffic import first_ping, listen
from lablib.ui import LabError
from lablib.vm import Vm

_STATS = "/sys/kernel/debug/ntb_transport/*/qp*/stats"
_SEQUENCE_PORT = 5401


def channels(vm: Vm) -> tuple[int, int]:
    """How many combined queues the netdev has, and may have at most."""
    said = vm.output(f"ethtool -l {vntb.name(vm)}")
    counts = re.findall(r"^Combined:\s+(\d+)$", said, re.M)
    if len(counts) != 2:
        raise LabError(f"ethtool -l of {vm.role} said: {said[-200:]}")
    return int(counts[1]), int(counts[0])


def set_channels(vm: Vm, count: int) -> None:
    """Give the netdev @count queues; @CommandError when it refuses."""
    vm.output(f"ethtool -L {vntb.name(vm)} combined {count}")


def set_both_channels(ep: Vm, rc: Vm, count: int) -> None:
    """The same at both ends; returns when each queue has its link."""
    for vm in (ep, rc):
        if channels(vm)[0] != count:
            set_channels(vm, count)
    for vm in (ep, rc):
        await_queues(vm, count)


def queues(vm: Vm) -> dict[int, dict[str, int]]:
    """
    What ntb_transport counts for each queue whose link is up, e.g. "rx_pkts",
    "tx_bytes".
    """
    said = vm.run(f"""
for file in {_STATS}; do
	number=${{file%/stats}}
	echo "queue ${{number##*/qp}}"
	cat $file
done""", check=False).stdout
    found = {}
    for number, text in re.findall(r"^queue (\d+)$\n((?:(?!queue ).*\n)*)",
                                   said + "\n", re.M):
        if text.strip():
            found[int(number)] = {
                key: int(value) for key, value in re.findall(
                    r"^(\w+) -\s+(\d+)$", text, re.M)}
    return found


def await_queues(vm: Vm, count: int, timeout: int = 30) -> None:
    """Wait until the links of @count queues are up."""
    try:
        vm.run(f"""
up() {{ grep -lE '^(QP Link|link) .*Up' {_STATS} 2>/dev/null | wc -l; }}
left={timeout * 100}
until [ "$(up)" -ge {count} ]; do
	[ $((left -= 1)) -gt 0 ] || exit 1
	busybox usleep 10000
done""", timeout=timeout + 60)
    except CommandError:
        raise LabError(f"of {count} queues of {vm.role} only "
                       f"{len(queues(vm))} have their link after "
                       f"{timeout} s; console: {vm.console_log}") from None


def counted(vm: Vm, key: str, before: dict[int, dict[str, int]]
            ) -> dict[int, int]:
    """How much the counter @key of each queue grew since @before."""
    return {number: values.get(key, 0) - before.get(number, {}).get(key, 0)
            for number, values in queues(vm).items()}


def mtu(vm: Vm) -> int:
    """The MTU of the netdev."""
    return int(vm.output(f"cat /sys/class/net/{vntb.name(vm)}/mtu"))


def set_mtu(vm: Vm, size: int) -> None:
    """Change the MTU; the links of all queues go down and come back."""
    vm.output(f"ip link set {vntb.name(vm)} mtu {size}")


@contextlib.contextmanager
def known(source: Vm, to: Vm) -> Iterator[None]:
    """
    For the length of the block @source needs no ARP to send to @to.

    Of what waits for ARP the kernel keeps little and counts nothing, and who
    only sends asks again after half a minute: behind what fills the queue.
    """
    address = to.output(f"cat /sys/class/net/{vntb.name(to)}/address")
    entry = f"{to.spec.address.ip} lladdr {address} dev {vntb.name(source)} nud"
    source.output(f"ip neigh replace {entry} permanent")
    try:
        yield
    finally:
        source.run(f"ip neigh change {entry} stale", check=False)


@dataclasses.dataclass
class Sequence:
    """
    What became of numbered datagrams.  @overflow were dropped because the
    receiver's socket was full, @backlog because its CPU's queue was.
    """
    sent: int
    received: int
    duplicates: int
    damaged: int
    overflow: int
    backlog: int

    def ok(self) -> bool:
        """All are accounted for, none came twice."""
        return (self.duplicates == self.damaged == 0 and self.sent ==
                self.received + self.overflow + self.backlog)


def _backlog_drops(vm: Vm) -> int:
    return sum(int(line.split()[1], 16) for line in
               vm.output("cat /proc/net/softnet_stat").splitlines())


def sequence(source: Vm, to: Vm, flows: int, count: int, size: int,
             timeout: int = 300) -> Sequence:
    """
    Send @count numbered datagrams of @size bytes on each of @flows.
    """
    first_ping(source, to)
    log = "/tmp/udp-seq." + secrets.token_hex(4)
    before = _backlog_drops(to)
    shape = f"{flows} {count} {size}"
    listen(to, _SEQUENCE_PORT, f"udp-seq receive 0.0.0.0 {_SEQUENCE_PORT} {shape}",
           log, "udp")
    with known(source, to):
        source.run(f"udp-seq send {to.spec.address.ip} {_SEQUENCE_PORT} "
                   f"{shape}", timeout=timeout)
    said = to.output(f"""
n={timeout * 100}
until grep -q received {log}; do
	[ $((n -= 1)) -gt 0 ] || exit 1
	busybox usleep 10000
done
cat {log}; rm {log}""", timeout + 10)
    values = dict(zip(said.split()[::2], map(int, said.split()[1::2])))
    return Sequence(sent=flows * count, backlog=_backlog_drops(to) - before,
                    **values)
