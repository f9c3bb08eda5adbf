# SPDX-License-Identifier: GPL-2.0-or-later
"""Shell scripts that set a guest up, and why they failed in one line."""

import re

from lablib.agent import CommandError
from lablib.ui import LabError
from lablib.vm import Vm

# Shell that every script can use.  Nothing in a guest tells a shell when a
# file of sysfs appears, so await looks again and again; $1 is a limit in
# seconds.
_PRELUDE = r"""
read -r began _ </proc/uptime; echo "$began" >&2
fail() { echo "$*" >&2; exit 9; }
put() {
	printf '%s\n' "$2" 2>/tmp/lab.err >"$1" && return
	IFS= read -r why </tmp/lab.err
	fail "${1#/sys/kernel/config/pci_ep/} = $2: ${why##*: }"
}
await() {
	read -r now _ </proc/uptime
	end=$((${now%.*} + $1)); shift
	until "$@"; do
		read -r now _ </proc/uptime
		[ ${now%.*} -lt $end ] || return 1
		busybox usleep 10000
	done
}
any() {
	for found in $1; do
		[ -e "$found" ] && return
	done
	false
}
# What is built in need not be loaded and cannot be unloaded.
modprobe() {
	case $1 in
	-r) [ -e /sys/module/$2/initstate ] || return 0 ;;
	*)
		for driver in /sys/module/$1 /sys/bus/*/drivers/$1; do
			[ ! -d "$driver" ] || return 0
		done ;;
	esac
	command modprobe "$@"
}
"""


class ConfigurationError(LabError):
    """A guest's kernel refused something; the text has its own words."""


def _kernel_says(vm: Vm, since: str) -> str:
    """The kernel's last complaint after @since seconds of uptime."""
    log = vm.run("dmesg --level=emerg,alert,crit,err,warn", check=False).stdout
    lines = re.findall(r"^\[ *([\d.]+)\] (.*)$", log, re.M)
    recent = [text for stamp, text in lines if float(stamp) >= float(since)]
    return f"; kernel: {recent[-1]}" if recent else ""


def run(vm: Vm, body: str, what: str, timeout: float) -> str:
    """
    Run shell @body in the guest; returns what it prints.

    It has the functions fail, put, await and any.  @what names the step in
    the ConfigurationError that a failure raises.
    """
    try:
        return vm.run(_PRELUDE + body, timeout=timeout).stdout.strip()
    except CommandError as e:
        began, *said = e.result.stderr.strip().splitlines() or ["0"]
        if e.result.status < 0:
            said = [f"no end within {timeout:.0f} s"]
        raise ConfigurationError(
            f"{what} of {vm.role} failed: {said[-1] if said else e}"
            f"{_kernel_says(vm, began)}; console: {vm.console_log}") from e
