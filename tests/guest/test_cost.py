# SPDX-License-Identifier: GPL-2.0-or-later
"""What the endpoint device costs a VM that does nothing."""

import os
import re
import time
from pathlib import Path

# Seconds to watch; long enough that one stray tick does not decide.
WATCH = 15
LIMIT_CPU = 0.01
LIMIT_MIB = 32


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_mib(pid):
    """Memory of the process without what it shares: guest RAM is shared."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kb) for kb in
               re.findall(r"^Private_Dirty:\s+(\d+)", text, re.M)
               ) / 1024 - shared_ram_mib(pid)


def shared_ram_mib(pid):
    """Guest RAM, a memfd that only this process has mapped by now."""
    total = 0
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = "memfd:" in line or "memory-backend" in line
        elif inside and line.startswith("Private_Dirty:"):
            total += int(line.split()[1])
    return total / 1024


def idle_cost(make_pair, cable):
    """CPU share and memory of an EP's QEMU that does nothing."""
    with make_pair(cable=cable) as pair:
        pair.start(("ep",))
        pair.ep.wait_boot(120)
        # The boot is over when the guest has gone idle.
        pair.ep.run("sleep 3")
        pid = pair.st.vms["ep"].pid
        before = cpu_seconds(pid)
        time.sleep(WATCH)
        return (cpu_seconds(pid) - before) / WATCH, private_mib(pid)


def test_idle_cost_of_the_endpoint_device(make_pair, record_property):
    with_cpu, with_mib = idle_cost(make_pair, True)
    without_cpu, without_mib = idle_cost(make_pair, False)
    for name, value in (("with_cpu", with_cpu), ("without_cpu", without_cpu),
                        ("with_mib", with_mib), ("without_mib", without_mib)):
        record_property(name, value)
        print(f"{name}: {value:.4f}")
    assert with_cpu - without_cpu < LIMIT_CPU
    assert with_mib - without_mib < LIMIT_MIB
