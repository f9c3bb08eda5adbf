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
# Seconds a port gets to answer before the next one is asked too.
_PATIENCE = 3.0
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


def _nonce() -> bytes:
    return b"S " + secrets.token_hex(8).encode()


def _line(kind: str, payload: bytes) -> bytes:
    return (f"{kind} {len(payload)} ".encode() + base64.b64encode(payload)
            + b"\n")


class _Port:
    """A port of a guest that this process has for itself."""

    def __init__(self, path: Path, lock: int) -> None:
        self.lock = lock
        self.buffer = b""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.connect(str(path))
        except OSError:
            self.close()
            raise

    @staticmethod
    def take(path: Path) -> "Optional[_Port]":
        """Connect with the port @path; None when another session has it."""
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
                       0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return _Port(path, lock)

    def close(self) -> None:
        """Hang up and let others have it."""
        self.sock.close()
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


class Agent:
    """
    A session with the agent of one guest.  One thread at a time; several
    sessions with one guest are independent of each other.

    @sockets names the guest's ports in turn; the first one that nobody uses
    is taken, or a later one when it does not answer.  @gone is a descriptor
    that becomes readable when the VM ends, or None.
    """

    def __init__(self, vm: str, sockets: list[Path], timeout: float,
                 gone: Optional[int] = None) -> None:
        self.vm = vm
        self._gone = gone
        self._port = self._connect(sockets, timeout)

    def _connect(self, sockets: list[Path], timeout: float) -> _Port:
        """A port whose server in the guest answers."""
        rest, asked = list(sockets), []
        nonce = _nonce()
        deadline = time.monotonic() + timeout
        try:
            while True:
                port = self._ask_next(rest, nonce)
                if port:
                    asked.append(port)
                elif not asked:
                    raise AgentError(
                        f"all {len(sockets)} sessions of {self.vm} are in "
                        "use; end one of the other `./lab exec`")
                until = min(deadline, time.monotonic() + _PATIENCE) \
                    if rest else deadline
                found = self._await_nonce(asked, nonce, until)
                if found:
                    asked.remove(found)
                    return found
                if time.monotonic() >= deadline:
                    raise AgentError(f"the agent of {self.vm} does not answer "
                                     f"after {timeout:.0f} s")
        finally:
            for port in asked:
                port.close()

    def _ask_next(self, rest: list[Path], nonce: bytes) -> Optional[_Port]:
        """Take the next free port of @rest and greet its server."""
        while rest:
            try:
                port = _Port.take(rest.pop(0))
            except OSError as e:
                raise AgentError(f"cannot reach the agent of {self.vm}: "
                                 f"{e.strerror}") from e
            if port:
                try:
                    self._send(b"\n" + nonce + b"\n", port)
                except BaseException:
                    port.close()
                    raise
                return port
        return None

    def _await_nonce(self, ports: list[_Port], nonce: bytes, deadline: float
                     ) -> Optional[_Port]:
        """The first of @ports that answers; None when none has by @deadline."""
        while True:
            for port in ports:
                # What another session left unread comes before our nonce.
                while b"\n" in port.buffer:
                    line, port.buffer = port.buffer.split(b"\n", 1)
                    if line == nonce:
                        return port
            try:
                self._fill(ports, deadline)
            except TimeoutError:
                return None

    def close(self) -> None:
        """End the session, and the command that runs in it."""
        self._port.close()

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _send(self, data: bytes, port: Optional[_Port] = None) -> None:
        sock = (port or self._port).sock
        try:
            sock.settimeout(30)
            sock.sendall(data)
        except OSError as e:
            raise AgentLost(f"lost the agent of {self.vm}: {e}") from e

    def _fill(self, ports: list[_Port], deadline: Optional[float]) -> None:
        """Read what one of @ports has; TimeoutError at @deadline."""
        wait = [p.sock for p in ports] + ([] if self._gone is None
                                          else [self._gone])
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        ready = select.select(wait, [], [], left)[0]
        port = next((p for p in ports if p.sock in ready), None)
        if port is None:
            if ready:
                raise AgentLost(f"{self.vm} ended")
            return
        try:
            piece = port.sock.recv(1 << 18)
        except OSError as e:
            raise AgentLost(f"lost the agent of {self.vm}: "
                            f"{e.strerror}") from e
        if not piece:
            raise AgentLost(f"lost the agent of {self.vm}: its VM has gone")
        port.buffer += piece

    def _receive(self, deadline: Optional[float]) -> bytes:
        """The next line, without its end; TimeoutError at @deadline."""
        port = self._port
        while b"\n" not in port.buffer:
            self._fill([port], deadline)
        line, port.buffer = port.buffer.split(b"\n", 1)
        return line

    def _sync(self, timeout: float) -> None:
        """End what runs, throw away what is unread."""
        nonce = _nonce()
        self._send(b"\n" + nonce + b"\n")
        if not self._await_nonce([self._port], nonce,
                                 time.monotonic() + timeout):
            raise AgentError(f"the agent of {self.vm} does not answer after "
                             f"{timeout:.0f} s")

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
        self._send(_line("X", os.fsencode(command)))
        for pos in range(0, len(stdin), _CHUNK):
            self._send(_line("I", stdin[pos:pos + _CHUNK]))
        if stdin_fd is None:
            self._send(b"E\n")
        try:
            while True:
                if stdin_fd is not None \
                        and b"\n" not in self._port.buffer:
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
        wait: list = [self._port.sock, fd]
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
        line = self._receive(deadline)
        self._port.buffer = line + b"\n" + self._port.buffer
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
