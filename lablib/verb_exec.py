# SPDX-License-Identifier: GPL-2.0-or-later
"""
Run a command in a VM; the exit status is the command's, or 124 when it had
to be killed.

    ./lab exec rc lspci -vv
    ./lab exec ep 'dmesg | tail'
    tar c driver | ./lab exec rc tar x -C /tmp
"""

import argparse
import json
import shlex
import sys
from typing import BinaryIO

from lablib import pair, ui
from lablib.ui import LabError

# As timeout(1) has it.
_TIMED_OUT = 124


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of exec; they come before the VM."""
    parser.add_argument("--timeout", type=ui.time_limit, metavar="S",
                        help="kill the command after S seconds; the exit "
                             "status is 124 then")
    parser.add_argument("vm", choices=("ep", "rc"), help="where")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD",
                        help="what; one word is given to the guest's shell "
                             "as it is, several are quoted")


def _writer(stream: BinaryIO):
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()
    return write


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the command's exit status."""
    if args.command and args.command[0].startswith("--") \
            and args.command[0] != "--":
        raise LabError(f"{args.command[0]}: options of exec come before the "
                       f"VM: ./lab exec {args.command[0]} ... {args.vm} CMD")
    words = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not words:
        raise LabError("what shall run? for example: ./lab exec rc lspci")
    command = words[0] if len(words) == 1 else shlex.join(words)
    vm = pair.attach().vm(args.vm)
    if not vm.alive():
        raise LabError(vm.why_ended())
    stdin = None if sys.stdin is None or sys.stdin.closed else 0
    out, err = bytearray(), bytearray()
    with vm.session() as agent:
        try:
            status = agent.stream(
                command,
                out.extend if args.json else _writer(sys.stdout.buffer),
                err.extend if args.json else _writer(sys.stderr.buffer),
                args.timeout, stdin_fd=stdin)
        except TimeoutError:
            ui.error(f"`{command}` in {args.vm} did not end within "
                     f"{args.timeout:g} s and was killed")
            status = _TIMED_OUT
    if args.json:
        print(json.dumps({"status": status,
                          "stdout": out.decode(errors="replace"),
                          "stderr": err.decode(errors="replace")}))
    return status
