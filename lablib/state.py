# SPDX-License-Identifier: GPL-2.0-or-later
"""What a running lab leaves on disk: one lock, processes, sockets, logs."""

import contextlib
import dataclasses
import fcntl
import json
import os
import re
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator, Optional

from lablib import paths, ui
from lablib.ui import LabError

# sun_path of sockaddr_un holds 108 bytes with the NUL.
SOCKET_PATH_MAX = 107
_SOCKET_DIR_PREFIX = "vntb-lab-"
# The longest name a VM gives a socket; see vm.py.
_LONGEST_SOCKET = "console-ep.sock"

# Tests give every lab of theirs a place of its own.
_OWN = os.environ.get("VNTB_LAB_RUN_DIR")
RUN = Path(_OWN).absolute() if _OWN else paths.BUILD / "run"
LOGS = RUN / "logs" if _OWN else paths.LOGS
RESULTS = RUN / "results" if _OWN else paths.RESULTS

_LOCK = RUN / "lock"
_STATE = RUN / "state.json"
_TESTS_LOCK = paths.BUILD / "test.lock"


def _start_time(pid: int, zombies: bool = False) -> Optional[int]:
    """
    When process @pid started, in clock ticks since boot; None without one.

    The pair (pid, start time) names a process for good, a pid alone is reused.
    A process whose first thread has ended looks like a zombie; others of its
    threads may still run.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the command in parentheses and may hold anything.
    fields = stat[stat.rindex(")") + 2:].split()
    if fields[0] in "ZX" and not zombies:
        return None
    return int(fields[19])


@dataclasses.dataclass
class Process:
    """A process that this lab started."""
    pid: int
    start: int

    @staticmethod
    def of(pid: int) -> "Process":
        """The process that has @pid now."""
        start = _start_time(pid)
        return Process(pid, -1 if start is None else start)

    def alive(self) -> bool:
        """Whether it still runs (a zombie does not)."""
        return _start_time(self.pid) == self.start

    def send(self, number: int) -> None:
        """Send signal @number to this process, and to no other ever."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            # The pidfd holds on to whoever has the pid; ask after opening it.
            if self.alive():
                signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(fd)

    def wait(self, timeout: float) -> None:
        """Wait until all of it has ended, @timeout seconds at most."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if _start_time(self.pid, zombies=True) == self.start:
                select.select([fd], [], [], max(0, timeout))
        finally:
            os.close(fd)


@dataclasses.dataclass
class State:
    """The lab that runs, or ran last."""
    topology: str
    sockets: str
    options: dict[str, Any]
    vms: dict[str, Process]
    # What the VMs are made of, for those who come later: status, exec.
    facts: dict[str, Any]
    # Who is bringing it up, or runs it; None once it is on its own.
    launcher: Optional[Process] = None

    def abandoned(self) -> bool:
        """Was its launcher killed before the lab was ready?"""
        return self.launcher is not None and not self.launcher.alive()

    def socket(self, name: str) -> Path:
        """Where the socket @name lives."""
        return Path(self.sockets) / f"{name}.sock"

    def save(self) -> None:
        """Write it down, at once or not at all."""
        scratch = _STATE.with_suffix(".new")
        scratch.write_text(json.dumps(dataclasses.asdict(self), indent=2))
        scratch.replace(_STATE)

    def end(self, patience: float = 5) -> list[str]:
        """End the VMs, kindly for @patience seconds; returns who ran."""
        ran = [role for role, process in self.vms.items() if process.alive()]
        for number, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 30)):
            for process in self.vms.values():
                process.send(number)
            deadline = time.monotonic() + wait
            for process in self.vms.values():
                process.wait(deadline - time.monotonic())
        return ran

    def forget(self) -> None:
        """Remove the sockets and the record; the processes are gone."""
        _remove_sockets(self.sockets)
        _STATE.unlink(missing_ok=True)


def load() -> Optional[State]:
    """The state on disk, None when there is none that can be read."""
    try:
        values = json.loads(_STATE.read_text())
        values["vms"] = {role: Process(**process)
                         for role, process in values["vms"].items()}
        if values.get("launcher"):
            values["launcher"] = Process(**values["launcher"])
        return State(**values)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remove_sockets(directory: str) -> None:
    # Only ever remove what make_sockets() made.
    path = Path(directory)
    if (re.fullmatch(_SOCKET_DIR_PREFIX + r"\w+", path.name)
            and not path.is_symlink()):
        shutil.rmtree(path, ignore_errors=True)


def make_sockets() -> str:
    """
    Make a private directory for the sockets, with a path short enough.

    It is under VNTB_LAB_SOCKET_DIR, XDG_RUNTIME_DIR or the directory for
    temporary files, the first of them that is set.
    """
    own = os.environ.get("VNTB_LAB_SOCKET_DIR")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if own is None and runtime and os.access(runtime, os.W_OK):
        own = runtime
    base = os.path.abspath(own or tempfile.gettempdir())
    # mkdtemp adds eight characters.
    longest = os.path.join(base, _SOCKET_DIR_PREFIX + "x" * 8, _LONGEST_SOCKET)
    if len(os.fsencode(longest)) > SOCKET_PATH_MAX:
        raise LabError(f"sockets below {base} would have paths of "
                       f"{len(os.fsencode(longest))} bytes, the system's limit "
                       f"is {SOCKET_PATH_MAX}; set VNTB_LAB_SOCKET_DIR to a "
                       "shorter directory, for example /tmp")
    try:
        return tempfile.mkdtemp(prefix=_SOCKET_DIR_PREFIX, dir=base)
    except OSError as e:
        raise LabError(f"cannot make a directory for sockets in {base}: "
                       f"{e.strerror}; set VNTB_LAB_SOCKET_DIR to one that is "
                       "writable") from e


class Lock:
    """
    The right to run the lab of this checkout.

    Every QEMU inherits the descriptor: the lock is held for as long as one of
    them lives, whatever became of the launcher.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @staticmethod
    def take(path: Path = _LOCK) -> Optional["Lock"]:
        """Take the lock; None when another lab has it."""
        paths.ensure_dir(path.parent)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        return Lock(fd)

    def release(self) -> None:
        """Let go of it in this process."""
        os.close(self.fd)


def claim() -> Lock:
    """
    Take the lock and clear away what a lab that died has left.

    @LabError when another lab runs.
    """
    lock = Lock.take()
    if lock is None:
        running = load()
        if running and running.abandoned():
            running.end()
            lock = Lock.take()
    if lock is None:
        what = f" (topology {running.topology})" if running else ""
        raise LabError(f"a lab of this checkout is running already{what}; "
                       "`./lab down` stops it, `./lab status` shows it")
    left = load()
    if left is not None:
        left.end(0)
        left.forget()
        ui.note("lab: cleared away what a lab that ended abruptly had left")
    return lock


def claim_tests() -> Lock:
    """The right to run the tests of this checkout, or to remove its build/."""
    lock = Lock.take(_TESTS_LOCK)
    if lock is None:
        raise LabError("`./lab test` runs in this checkout: wait for its end, "
                       "or use a checkout of your own (`git worktree add`)")
    return lock


def running() -> State:
    """The state of the running lab; @LabError when there is none."""
    current = load()
    if current is None or not any(p.alive() for p in current.vms.values()):
        raise LabError("no lab is running; `./lab up` starts one")
    return current


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Hold back the signals that end a command while the block runs."""
    wanted = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def write_result(verb: str, result: Any) -> Path:
    """Write build/results/<verb>.json; returns where it is."""
    path = paths.ensure_dir(RESULTS) / f"{verb}.json"
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(result, indent=2) + "\n")
    scratch.replace(path)
    return path
