# SPDX-License-Identifier: GPL-2.0-or-later
"""Write cpio archives ("newc") as the kernel unpacks them at boot."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

_ALIGN = 4


class Writer:
    """
    One archive.  Everything belongs to root and carries no time, so that
    equal trees give equal archives.  Archives may simply be concatenated.
    """

    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self.inode = 0

    def _pad(self, length: int) -> None:
        self.out.write(b"\0" * (-length % _ALIGN))

    def _entry(self, name: str, mode: int, data: bytes = b"",
               device: tuple[int, int] = (0, 0)) -> None:
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0,
                  device[0], device[1], len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self.out.write(header + encoded)
        self._pad(len(header) + len(encoded))
        self.out.write(data)
        self._pad(len(data))

    def directory(self, name: str, mode: int = 0o755) -> None:
        """Add a directory."""
        self._entry(name, stat.S_IFDIR | mode)

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add a regular file."""
        self._entry(name, stat.S_IFREG | mode, data)

    def symlink(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def char_device(self, name: str, mode: int, major: int,
                    minor: int) -> None:
        """Add a character device."""
        self._entry(name, stat.S_IFCHR | mode, device=(major, minor))

    def tree(self, top: Path, prefix: str = "") -> None:
        """Add everything below the directory @top under @prefix."""
        for path in sorted(top.iterdir()):
            name = f"{prefix}{path.name}"
            if path.is_symlink():
                self.symlink(name, os.readlink(path))
            elif path.is_dir():
                self.directory(name)
                self.tree(path, f"{name}/")
            else:
                executable = path.stat().st_mode & 0o111
                self.file(name, path.read_bytes(),
                          0o755 if executable else 0o644)

    def close(self) -> None:
        """End the archive; the file stays open."""
        self._entry("TRAILER!!!", 0)
