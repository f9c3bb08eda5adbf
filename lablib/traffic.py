# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic between the guests: ping, iperf3, files with their checksums."""

import concurrent.futures
import contextlib
import dataclasses
import json
import re
import statistics
from typing import Any, Callable, Optional

from lablib.agent import CommandError, Result
from lablib.ui import LabError
from lablib.vm import Vm

_IPERF_PORT = 5201
_FILE_PORT = 5301
# Seconds after ping has ended in which answers still count.
_LATEST = 5


@dataclasses.dataclass
class Ping:
    """What a series of pings gave; the times are those that ping saw."""
    sent: int
    received: int
    rtt_ms: list[float]

    def median(self) -> Optional[float]:
        """The median round trip in ms."""
        return statistics.median(self.rtt_ms) if self.rtt_ms else None


@dataclasses.dataclass
class Iperf:
    """What one iperf3 run gave; @loss_pct is None for TCP."""
    direction: str
    protocol: str
    gbit_s: float
    loss_pct: Optional[float]


@dataclasses.dataclass
class Transfer:
    """A file that crossed, with the sha256 seen at both ends."""
    direction: str
    mib: int
    seconds: float
    sent_sha256: str
    received_sha256: str

    def ok(self) -> bool:
        """Whether it arrived as it left."""
        return self.sent_sha256 == self.received_sha256


def direction(source: Vm, to: Vm) -> str:
    """How results name a direction, "rc-to-ep"."""
    return f"{source.role}-to-{to.role}"


def first_ping(source: Vm, to: Vm, timeout: int = 30) -> None:
    """Ping until the first answer comes; @LabError when none does."""
    result = source.run(f"ping -c 1 -i 0.2 -w {timeout} {to.spec.address.ip}",
                        timeout=timeout + 10, check=False)
    if result.status:
        raise LabError(f"no answer to a ping from {source.role} to {to.role} "
                       f"({to.spec.address.ip}) within {timeout} s; consoles: "
                       f"{source.console_log}, {to.console_log}")


def ping(source: Vm, to: Vm, count: int = 50) -> Ping:
    """
    Send @count pings, 20 ms apart, and see which are answered.

    The answers are counted by the kernel. ping itself does not see them all:
    ntb_netdev receives into buffers of 128 KiB, which is what the socket of
    ping may hold, so that the second of two answers is dropped there when
    ping does not run in between.
    """
    result = source.run(f"""
answers() {{
	awk '/^Icmp:/ {{
		for (i = 1; i <= NF && !n; i++)
			if ($i == "InEchoReps")
				n = i
		answers = $n
	}} END {{ print answers }}' /proc/net/snmp
}}
before=$(answers)
ping -c {count} -i 0.02 {to.spec.address.ip}
left={_LATEST * 100}
until [ $(($(answers) - before)) -ge {count} ] || [ $((left -= 1)) = 0 ]; do
	busybox usleep 10000
done
echo "answers: $(($(answers) - before))"
""", timeout=count + 60, check=False)
    answers = re.search(r"^answers: (\d+)$", result.stdout, re.M)
    sent = re.search(r"(\d+) packets transmitted", result.stdout)
    if not sent or not answers:
        raise LabError(f"ping in {source.role} said: "
                       f"{(result.stderr or result.stdout).strip()[-200:]}")
    times = re.findall(r"icmp_seq=\d+ .*time=([\d.]+) ms", result.stdout)
    # An answer to a first_ping() may come late and is one too many.
    count = int(sent[1])
    return Ping(count, min(int(answers[1]), count), [float(t) for t in times])


def listen(vm: Vm, port: int, command: str, log: str,
           protocol: str = "tcp") -> None:
    """
    Start server @command in the guest with its output in @log; returns when
    @port is listened on.
    """
    state = "0A" if protocol == "tcp" else "07"
    heard = f"busybox grep -qi ':{port:04X} 0*:0000 {state}' " \
            f"/proc/net/{protocol}*"
    # One that served before may be about to go: it is not to be found.
    vm.run(f"""
n=1000
while {heard} && [ $n -gt 0 ]; do
	n=$((n - 1))
	busybox usleep 10000
done
setsid sh -c {json.dumps(command)} >{log} 2>&1 </dev/null &
n=1000
until {heard}; do
	n=$((n - 1))
	if [ $n = 0 ]; then tail -n 1 {log} >&2; exit 1; fi
	busybox usleep 10000
done
""", timeout=30)


def _iperf_report(source: Vm, text: str) -> dict[str, Any]:
    try:
        report = json.loads(text)
    except ValueError:
        raise LabError(f"iperf3 in {source.role} gave no report: "
                       f"{text.strip()[-200:]}") from None
    if report.get("error"):
        raise LabError(f"iperf3 in {source.role}: {report['error']}")
    return report["end"]


def _run(vm: Vm, command: str, meanwhile: Optional[Callable[[], None]],
         timeout: float, check: bool = True) -> Result:
    """
    Run @command in the guest; @meanwhile runs beside it, over and over when
    there is time, and what goes wrong in it is raised.
    """
    if meanwhile is None:
        return vm.run(command, timeout=timeout, check=check)
    with contextlib.closing(vm.session()) as own, \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(own.run, command, timeout, check=check)
        try:
            while True:
                meanwhile()
                if future.done():
                    return future.result()
        except BaseException:
            # The pool would wait for what may never end now.
            vm.run("pkill iperf3; pkill tcp-file", check=False)
            raise


def iperf(source: Vm, to: Vm, protocol: str, seconds: int = 10,
          streams: int = 1, length: int = 65480, tcp_options: str = "",
          meanwhile: Optional[Callable[[], None]] = None) -> Iperf:
    """
    Send for @seconds from @source to @to, "tcp" or "udp" at full rate.

    The rate and the loss are those that the receiver saw.  @meanwhile runs
    beside it, again and again.
    """
    listen(to, _IPERF_PORT, "iperf3 -s -1", "/tmp/iperf3.log")
    udp = f"-u -b 0 -l {length}" if protocol == "udp" else tcp_options
    result = _run(source, f"iperf3 -J -c {to.spec.address.ip} -t {seconds} "
                          f"-P {streams} {udp}", meanwhile, seconds + 60,
                  check=False)
    end = _iperf_report(source, result.stdout or result.stderr)
    if protocol == "tcp":
        return Iperf(direction(source, to), protocol,
                     end["sum_received"]["bits_per_second"] / 1e9, None)
    # Before 3.12 the receiver's figures were in "sum" alone.
    received = end.get("sum_received") or end["sum"]
    return Iperf(direction(source, to), protocol,
                 received["bits_per_second"] / 1e9, end["sum"]["lost_percent"])


def transfer(source: Vm, to: Vm, mib: int = 256, timeout: int = 300,
             meanwhile: Optional[Callable[[], None]] = None) -> Transfer:
    """
    Send a file of @mib MiB of random bytes over TCP, compare checksums.
    @meanwhile runs beside the sending, again and again.
    """
    sent = source.output(f"head -c {mib}M /dev/urandom >/tmp/lab.sent && "
                         "sha256sum </tmp/lab.sent", timeout).split()[0]
    try:
        listen(to, _FILE_PORT, f"tcp-file receive {_FILE_PORT} "
                                ">/tmp/lab.received && touch "
                                "/tmp/lab.complete", "/tmp/lab.receive.log")
        took = _run(source, f"""
read -r from _ </proc/uptime
tcp-file send {to.spec.address.ip} {_FILE_PORT} </tmp/lab.sent || exit 1
read -r until _ </proc/uptime
echo $from $until""", meanwhile, timeout).stdout.split()
        received = to.output("""
n=3000
until [ -e /tmp/lab.complete ]; do
	n=$((n - 1)); [ $n -gt 0 ] || exit 1
	busybox usleep 10000
done
sha256sum </tmp/lab.received""", timeout).split()[0]
    except CommandError as e:
        raise LabError(f"a file of {mib} MiB did not cross from {source.role} "
                       f"to {to.role}: {e}") from e
    finally:
        source.run("rm -f /tmp/lab.sent", check=False)
        to.run("rm -f /tmp/lab.received /tmp/lab.complete", check=False)
    return Transfer(direction(source, to), mib,
                    float(took[1]) - float(took[0]), sent, received)
