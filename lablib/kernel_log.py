# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest's kernel says when something is wrong with it."""

import re

from lablib.vm import Vm

# What KASAN, lockdep and DMA-API debugging find are a BUG: or a WARNING:.
# They and kmemleak name themselves when they start, too.
_TROUBLE = re.compile(
    r"Oops|Internal error|BUG:|Call trace|WARNING:|DMA-API: .*(error|driver)|"
    r"ODEBUG:|INFO: task .* blocked|INFO: trying to register|"
    r"suspected memory leak|kmemleak: .*(disabled|Cannot|Error)|"
    r"Freeing item from non-empty|NETDEV WATCHDOG|refcount_t:")
_LEAKS = "/sys/kernel/debug/kmemleak"
# Lines of the log that a report gets
_LINES = 120


def trouble(vm: Vm) -> str:
    """The kernel's log from its first complaint on, "" without any."""
    lines = vm.output("dmesg").splitlines()
    for i, line in enumerate(lines):
        if _TROUBLE.search(line):
            return "\n".join(lines[i:i + _LINES])
    return ""


def leaks(vm: Vm) -> str:
    """
    What kmemleak reports, "" on a kernel without it. An object has to be
    without a reference in each of three looks: registers are not looked at.
    """
    return vm.output(f"""
[ -e {_LEAKS} ] || exit 0
for n in 1 2 3; do
	echo scan >{_LEAKS}
	busybox sleep 6
done
cat {_LEAKS}""", 600)
