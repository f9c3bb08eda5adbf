# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's tools/testing/selftests/ntb/ntb_test.sh, across the two VMs."""

import re
from pathlib import Path
from typing import Optional

from lablib import peer_shell, selftests
from lablib.pair import Pair
from lablib.ui import LabError

_NAME = "ntb_test.sh"
_SCRIPT = f"/tmp/{_NAME}"
_FUNCTIONS = "/tmp/ntb_test.functions"
_PART = "/tmp/ntb_test.part"
# The first command behind the functions.
_MAIN = re.compile(r"^cleanup$", re.M)

# The order of 2 of the bytes that ntb_perf moves.
PERF_ORDER = 28
# Bytes of a window in ntb_tool's tests: what a resizable BAR has at least,
# and what the topology's has.
WINDOW = 1 << 20

# Runs part of the script: its functions are read from its first half, which
# also takes its options; a test that is not $part is left out, and so is the
# direction that does not start at $side. Its groups then run as they are.
_RUN_PART = r"""
part=$1 side=$2 groups=$3
shift 3
. /tmp/ntb_test.functions

starts_here() {
	case $1 in
	*:/*) [[ $side = ep ]] ;;
	*) [[ $side = rc ]] ;;
	esac
}
for name in link doorbell scratchpad message mw msi; do
	eval "kernel_$(declare -f ${name}_test)"
done
filter() {
	local name=$1
	shift
	if [[ $part = $name ]] && starts_here "$1"; then
		kernel_${name}_test "$@"
	elif [[ $name = link ]]; then
		# It leaves the link enabled for those that follow.
		write_file Y "$1/../link"
	fi
}
for name in link doorbell scratchpad message mw msi; do
	eval "${name}_test() { filter $name \"\$@\"; }"
done

# Hardware rings a doorbell in less time than ssh takes; here the host may hold
# a vCPU back. Give it time to arrive: the script looks for it only once.
eval "kernel_$(declare -f write_file)"
write_file() {
	kernel_write_file "$@"
	[[ $2 = */peer_db ]] || return 0
	local tries=100
	until [[ $(read_file "$REM/db") -eq $EXP ]] || ((--tries == 0)); do
		sleep 0.1
	done
}

cleanup
for group in $groups; do
	${group}_tests
done
"""


class NtbScript:
    """
    The script, in the RC's guest; the EP is its remote host.

    @both has the option "peer_shell", its NTB devices and no client on them.
    """

    def __init__(self, both: Pair, tree: Optional[Path]) -> None:
        text = (selftests.folder(tree, "ntb") / _NAME).read_text("utf-8")
        main = _MAIN.search(text)
        if not main:
            raise LabError(f"{tree}: cannot tell where the functions of {_NAME} "
                           "end: it has no line `cleanup`")
        self._both = both
        for path, content in ((_SCRIPT, text), (_PART, _RUN_PART),
                              (_FUNCTIONS, text[:main.start()])):
            both.rc.run(f"cat >{path}", stdin=content.encode())
        peer_shell.install(both.rc)
        self._devices = " ".join(
            vm.output("ls /sys/bus/ntb/devices") for vm in (both.rc, both.ep))

    def _options(self) -> str:
        return f"-r ep -m {WINDOW} -p {PERF_ORDER} {self._devices}"

    def run_all(self, timeout: float = 1200) -> str:
        """Run the script from its first line to its last."""
        return self._both.rc.run(f"bash {_SCRIPT} {self._options()}",
                                 timeout=timeout).stdout

    def run(self, part: str, side: str, groups: tuple[str, ...],
            timeout: float = 600) -> str:
        """
        Run the test @part of the script's @groups that starts at @side ("rc"
        or "ep"), or no test but what a group always does when @part is "".
        """
        return self._both.rc.run(
            f"bash {_PART} '{part}' {side} '{' '.join(groups)}' "
            f"{self._options()}", timeout=timeout).stdout

    def clean(self) -> None:
        """Take the test modules out of both kernels."""
        self.run("", "rc", ())
