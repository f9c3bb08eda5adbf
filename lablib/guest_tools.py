# SPDX-License-Identifier: GPL-2.0-or-later
"""The checkout's own programs for the guests, compiled for arm64, static."""

from pathlib import Path

from lablib import cache, kernel_build, paths, proc

LOG = "setup-guest-tools.log"
_FLAGS = ("-static", "-O2", "-s", "-Wall", "-Wextra")
# Each C file is a program of its own, named after the file.
_SOURCES = (paths.REPO / "guest-kernel" / "agent",
            paths.REPO / "guest-kernel" / "tools")


def _build(source: Path) -> Path:
    compiler = [f"{kernel_build.tool_prefix()}gcc", *_FLAGS]
    target = (paths.CACHE / "guest-tools"
              / cache.key(*compiler, source.read_bytes()))
    program = target / source.stem
    if not program.is_file():
        with cache.making(target) as scratch:
            proc.start_log(LOG)
            proc.run([*compiler, "-o", scratch / source.stem, source], LOG)
    return program


def programs() -> dict[str, bytes]:
    """The programs by name, for usr/bin of the guests."""
    sources = [source for directory in _SOURCES
               for source in sorted(directory.glob("*.c"))]
    return {source.stem: _build(source).read_bytes() for source in sources}
