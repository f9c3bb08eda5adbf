# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache that all checkouts share: its lock, its keys, its space."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Iterator, Union

from lablib import paths, ui

# Directories of the cache whose entries are large and can be made again.
_BUILDS = ("guest-modules", "kernel", "kernel-image", "qemu")
# In such an entry, a file whose time is that of its last use.
_USED = ".used"


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Hold the cache: one launcher at a time downloads or builds."""
    path = paths.ensure_dir(paths.CACHE) / "lock"
    with open(path, "a+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "another process"
            with ui.step(f"waiting for {owner}, which is building"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(f"lab (pid {os.getpid()})")
        lock.flush()
        try:
            yield
        finally:
            lock.truncate(0)


def key(*parts: Union[str, bytes]) -> str:
    """A name for what is made of @parts: equal parts, equal name."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def making(target: Path) -> Iterator[Path]:
    """
    Make the directory @target whole or not at all: the block fills a
    temporary directory beside it, which then takes its name.
    """
    paths.ensure_dir(target.parent)
    scratch = Path(tempfile.mkdtemp(prefix=".making-", dir=target.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def mark_used(entry: Path) -> None:
    """Note that a launcher has just used the cache's directory @entry."""
    (entry / _USED).touch()


def unused(days: float) -> list[Path]:
    """
    What only takes space: builds that no launcher has used for @days, and
    sources unpacked before that which have been replaced by newer ones.
    """
    limit = time.time() - days * 86400
    found = []
    for name in _BUILDS:
        for entry in sorted((paths.CACHE / name).glob("*")):
            mark = entry / _USED
            seen = mark if mark.exists() else entry
            if entry.is_dir() and seen.stat().st_mtime < limit:
                found.append(entry)
    sources = paths.CACHE / "sources"
    # sources.py records there which tree it takes.
    records = "".join(record.read_text(encoding="utf-8")
                      for record in sources.glob("*.json"))
    found += [entry for entry in sorted(sources.glob("*"))
              if entry.is_dir() and f'"{entry.name}"' not in records
              and entry.stat().st_mtime < limit]
    return found


def write_if_changed(path: Path, data: bytes) -> bool:
    """Write @data to @path unless it is there already; was it new?"""
    if path.is_file() and path.read_bytes() == data:
        return False
    paths.ensure_dir(path.parent)
    scratch = path.with_name(path.name + ".new")
    scratch.write_bytes(data)
    scratch.replace(path)
    return True


def need_space(gib: float, what: str) -> None:
    """Fail early when the disk cannot hold what is about to be made."""
    free = shutil.disk_usage(paths.ensure_dir(paths.CACHE)).free / 2**30
    if free < gib:
        raise ui.LabError(
            f"the disk is too full: {what} takes about {gib:.0f} GiB in "
            f"{paths.CACHE}, {free:.1f} GiB are free; make room, or put the "
            "cache elsewhere with VNTB_LAB_CACHE=DIR")
