# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest's kernel says when something is wrong with it."""

import re

from lablib.vm import Vm

# What KASAN, lockdep and DMA-API debugging find are a BUG: or a WARNING:.
# They and kmemleak name themselves when they start, too. What a device writes
# to memory that is free is seen when that is allocated again: "pagealloc:".
_TROUBLE = re.compile(
    r"Oops|Internal error|BUG:|Call trace|WARNING:|"
    r"DMA-API: .*(error|driver|disabling)|ODEBUG:|INFO: task .* blocked|INFO: trying to register|"
    r"suspected memory leak|kmemleak: .*(disabled|Cannot|Error)|"
    r"pagealloc: (memory corruption|single bit error)|"
    r"Freeing item from non-empty|NETDEV WATCHDOG|refcount_t:")
_LEAKS = "/sys/kernel/debug/kmemleak"
# Lines of the log that a report gets
_LINES = 120


def check(vm: Vm) -> None:
    """Raise @AssertionError with the kernel's log from a complaint on."""
    lines = vm.output("dmesg").splitlines()
    for i, line in enumerate(lines):
        if _TROUBLE.search(line):
            raise AssertionError(f"the kernel of {vm.role} complains:\n" +
                                 "\n".join(lines[i:i + _LINES]))


def check_leaks(vm: Vm) -> bool:
    """
    Raise @AssertionError with what kmemleak reports. An object has to be
    without a reference in two looks: memory of which only a register knows is
    not lost. Returns whether this kernel has kmemleak.
    """
    if vm.run(f"[ -e {_LEAKS} ]", check=False).status:
        return False
    said = vm.output(f"""
for n in 1 2; do
	echo scan >{_LEAKS}
	busybox sleep 6
done
cat {_LEAKS}""", 600)
    if said:
        raise AssertionError(f"memory of {vm.role} is lost:\n{said}")
    return True
