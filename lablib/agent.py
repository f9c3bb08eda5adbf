# SPDX-License-Identifier: GPL-2.0-or-later
"""Run commands in a guest, through guest-kernel/agent/vntb-agent.c."""

import base64
import dataclasses
import fcntl
import os
import secrets
import select
import socket
import time
from pathlib import Path
from typing import Callable, Optional

from lablib.ui import LabError

# Sessions a guest can serve at once; each is a virtio-serial port.
PORTS = 4
# Bytes of standard input a line carries.
_CHUNK = 24576

Sink = Callable[[bytes], None]


class AgentError(LabError):
    """The agent does not answer, or its VM has gone."""


class AgentLost(AgentError):
    """The connection with the agent broke, as when its VM ends."""


class CommandError(LabError):
    """A command in a guest failed."""

    def __init__(self, text: str, result: "Result") -> None:
        super().__init__(text)
        self.result = result


@dataclasses.dataclass
class Result:
    """How a command ended."""
    status: int
    stdout: str
    stderr: str


def _line(kind: str, payload: bytes) -> bytes:
    return (f"{kind} {len(payload)} ".encode() + base64.b64encode(payload)
            + b"\n")


class Agent:
    """
    A session with the agent of one guest.  One thread at a time; several
    sessions with one guest are independent of each other.

    @sockets names the guest's ports in turn; the first one that nobody uses
    is taken.  @gone is a descriptor that becomes readable when the VM ends,
    or None.
    """

    def __init__(self, vm: str, sockets: list[Path], timeout: float,
                 gone: Optional[int] = None) -> None:
        self.vm = vm
        self._gone = gone
        self._buffer = b""
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lock = -1
        try:
            self._connect(sockets)
            self._sync(timeout)
        except BaseException:
            self.close()
            raise

    def _connect(self, sockets: list[Path]) -> None:
        for path in sockets:
            lock = os.open(f"{path}.lock",
                           os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            self._lock = lock
            try:
                self._sock.connect(str(path))
            except OSError as e:
                raise AgentError(f"cannot reach the agent of {self.vm}: "
                                 f"{e.strerror}") from e
            return
        raise AgentError(f"all {len(sockets)} sessions of {self.vm} are in "
                         "use; end one of the other `./lab exec`")

    def close(self) -> None:
        """End the session, and the command that runs in it."""
        self._sock.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _send(self, data: bytes) -> None:
        try:
            self._sock.settimeout(30)
            self._sock.sendall(data)
        except OSError as e:
            raise AgentLost(f"lost the agent of {self.vm}: {e}") from e

    def _receive(self, deadline: Optional[float]) -> bytes:
        """The next line, without its end; TimeoutError at @deadline."""
        while b"\n" not in self._buffer:
            wait = [self._sock] + ([] if self._gone is None else [self._gone])
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            ready = select.select(wait, [], [], left)[0]
            if self._sock in ready:
                try:
                    piece = self._sock.recv(1 << 18)
                except OSError as e:
                    raise AgentLost(f"lost the agent of {self.vm}: "
                                    f"{e.strerror}") from e
                if not piece:
                    raise AgentLost(f"lost the agent of {self.vm}: its VM "
                                    "has gone")
                self._buffer += piece
            elif ready:
                raise AgentLost(f"{self.vm} ended")
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def _sync(self, timeout: float) -> None:
        # What another session left unread comes before our nonce.
        nonce = b"S " + secrets.token_hex(8).encode()
        deadline = time.monotonic() + timeout
        self._send(b"\n" + nonce + b"\n")
        try:
            while self._receive(deadline) != nonce:
                pass
        except TimeoutError:
            raise AgentError(f"the agent of {self.vm} does not answer after "
                             f"{timeout:.0f} s") from None

    def stream(self, command: str, out: Sink, err: Sink,
               timeout: Optional[float] = None, stdin: bytes = b"",
               stdin_fd: Optional[int] = None) -> int:
        """
        Run @command with the guest's shell, give its output away as it comes.

        Its standard input is @stdin, then what comes from @stdin_fd.  Returns
        the exit status.  A command that outlives @timeout is killed, with
        TimeoutError.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        self._send(_line("X", command.encode()))
        for pos in range(0, len(stdin), _CHUNK):
            self._send(_line("I", stdin[pos:pos + _CHUNK]))
        if stdin_fd is None:
            self._send(b"E\n")
        try:
            while True:
                if stdin_fd is not None and b"\n" not in self._buffer:
                    stdin_fd = self._pass_input(stdin_fd, deadline)
                    continue
                kind, _, rest = self._receive(deadline).partition(b" ")
                if kind == b"D":
                    return int(rest)
                if kind in (b"O", b"R"):
                    data = base64.b64decode(rest.partition(b" ")[2])
                    (out if kind == b"O" else err)(data)
        except BaseException:
            # Leave the session fit for the next command.
            try:
                self._sync(5)
            except LabError:
                pass
            raise

    def _pass_input(self, fd: int, deadline: Optional[float]) -> Optional[int]:
        """Wait for input on @fd or a line; returns @fd until its end."""
        wait: list = [self._sock, fd]
        if self._gone is not None:
            wait.append(self._gone)
        left = None if deadline is None else max(0, deadline - time.monotonic())
        ready = select.select(wait, [], [], left)[0]
        if fd in ready:
            data = os.read(fd, _CHUNK)
            self._send(_line("I", data) if data else b"E\n")
            return fd if data else None
        if not ready:
            raise TimeoutError
        # A line, or the end of the VM: make _receive() have a look.
        self._buffer = self._receive(deadline) + b"\n" + self._buffer
        return fd

    def run(self, command: str, timeout: float = 60, stdin: bytes = b"",
            check: bool = True) -> Result:
        """
        Run @command, wait for its end; @CommandError when it fails and @check
        is set.
        """
        out, err = bytearray(), bytearray()
        short = " ".join(command.split())[:80]
        try:
            status = self.stream(command, out.extend, err.extend,
                                 timeout, stdin)
        except TimeoutError:
            raise CommandError(
                f"{self.vm}: `{short}` did not end within {timeout:.0f} s",
                Result(-1, out.decode(errors="replace"),
                       err.decode(errors="replace"))) from None
        result = Result(status, out.decode(errors="replace"),
                        err.decode(errors="replace"))
        if check and status:
            said = (result.stderr.strip() or result.stdout.strip()
                    ).splitlines()
            raise CommandError(f"{self.vm}: `{short}` failed with status "
                               f"{status}: {said[-1] if said else 'no word'}",
                               result)
        return result

    def output(self, command: str, timeout: float = 60) -> str:
        """What @command prints, without the line end."""
        return self.run(command, timeout).stdout.rstrip("\n")
