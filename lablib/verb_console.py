# SPDX-License-Identifier: GPL-2.0-or-later
"""Attach to the console of a VM; Ctrl-] leaves it."""

import argparse
import contextlib
import fcntl
import os
import select
import socket
import sys
import termios
import tty
from typing import Iterator

from lablib import pair, ui
from lablib.ui import LabError
from lablib.vm import Vm

_LEAVE = b"\x1d"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of console."""
    parser.add_argument("vm", choices=("ep", "rc"), help="which one")


def _join(console: socket.socket) -> None:
    """Pass bytes both ways until one side ends or Ctrl-] is typed."""
    while True:
        ready = select.select([console, sys.stdin.fileno()], [], [])[0]
        if console in ready:
            data = console.recv(65536)
            if not data:
                ui.note("\r\nthe VM has ended")
                return
            os.write(sys.stdout.fileno(), data)
        if sys.stdin.fileno() in ready:
            data = os.read(sys.stdin.fileno(), 4096)
            before, leave, _ = data.partition(_LEAVE)
            console.sendall(before)
            if leave or not data:
                return


@contextlib.contextmanager
def _only_one(vm: Vm) -> Iterator[None]:
    """QEMU serves one client at a time and leaves others in its queue."""
    with open(f"{vm.console_socket()}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"the console of {vm.role} is in use by another "
                           "`./lab console`; Ctrl-] there leaves it, or use "
                           f"`./lab exec {vm.role} CMD`") from None
        yield


def _connect(vm: Vm) -> socket.socket:
    console = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    console.settimeout(2)
    try:
        console.connect(str(vm.console_socket()))
    except OSError as e:
        console.close()
        raise LabError(f"cannot attach to the console of {vm.role}: {e}; the "
                       f"log is {vm.console_log}") from e
    console.settimeout(None)
    return console


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise LabError("a console wants a terminal as its standard input; in "
                       f"scripts use ./lab exec {args.vm} CMD")
    vm = pair.attach().vm(args.vm)
    if not vm.alive():
        raise LabError(vm.why_ended())
    with _only_one(vm), _connect(vm) as console:
        ui.note(f"console of {args.vm}: Ctrl-] leaves, Enter shows the prompt")
        before = termios.tcgetattr(sys.stdin)
        # What was typed by now counts.
        tty.setraw(sys.stdin, termios.TCSADRAIN)
        try:
            _join(console)
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
            ui.note("")
    return 0
