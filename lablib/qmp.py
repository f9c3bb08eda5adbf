# SPDX-License-Identifier: GPL-2.0-or-later
"""QMP: talk to one QEMU over its monitor socket."""

import json
import socket
import time
from pathlib import Path
from typing import Any

from lablib.ui import LabError


class QmpError(LabError):
    """QEMU refused a command, or went away."""


class Qmp:
    """
    A connection to the monitor of a QEMU.  One thread at a time.  Nobody
    listens to events.
    """

    def __init__(self, path: Path, timeout: float = 10.0) -> None:
        self.path = path
        self._buffer = b""
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._sock.connect(str(path))
        except OSError as e:
            self._sock.close()
            raise QmpError(f"cannot reach the monitor {path}: "
                           f"{e.strerror}") from e
        try:
            self._receive(time.monotonic() + timeout)
            self.execute("qmp_capabilities", timeout=timeout)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Hang up; QEMU keeps running."""
        self._sock.close()

    def __enter__(self) -> "Qmp":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise QmpError(f"the monitor {self.path} does not answer")
            self._sock.settimeout(left)
            try:
                piece = self._sock.recv(65536)
            except TimeoutError:
                continue
            except OSError as e:
                raise QmpError(f"the monitor {self.path}: "
                               f"{e.strerror}") from e
            if not piece:
                raise QmpError(f"QEMU closed its monitor {self.path}")
            self._buffer += piece
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def execute(self, command: str, timeout: float = 10.0,
                **arguments: Any) -> Any:
        """
        Run @command; returns what it returned.  An underscore in the name of
        an argument stands for QMP's hyphen.
        """
        request: dict[str, Any] = {"execute": command}
        if arguments:
            request["arguments"] = {key.replace("_", "-"): value
                                    for key, value in arguments.items()}
        try:
            self._sock.sendall(json.dumps(request).encode() + b"\n")
        except OSError as e:
            raise QmpError(f"the monitor {self.path}: {e.strerror}") from e
        deadline = time.monotonic() + timeout
        while True:
            message = self._receive(deadline)
            if "error" in message:
                raise QmpError(f"QEMU refused {command}: "
                               f"{message['error']['desc']}")
            if "return" in message:
                return message["return"]

    def get(self, path: str, name: str) -> Any:
        """The property @name of the QOM object at @path."""
        return self.execute("qom-get", path=path, property=name)
