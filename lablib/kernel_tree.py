# SPDX-License-Identifier: GPL-2.0-or-later
"""
The lab's own copy of a kernel tree, with the patches and the new files of
guest-kernel in it or without them.

It is built in a directory inside itself: kbuild then names every source
relative to that, so that ccache has the objects of one copy for all others.
"""

import dataclasses
import fcntl
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Iterator

from lablib import cache, paths, proc, ui

LOG = "setup-kernel-patches.log"
OWN = paths.REPO / "guest-kernel"
# Where the copy is built; such a directory of the original is not copied.
BUILD = "build"
# Directories of guest-kernel whose files go into the tree, and where.
_MIRRORED = {"drivers": "drivers", "include": "include",
             "docs": "Documentation"}
_LEFT_OUT = {".git", BUILD}
# Beside the copy: what it was copied from, and what was left out of it.
_MANIFEST = "src.files"
_SKIPPED = "src.skipped"
# ioctl of Linux that makes a file share the blocks of another one.
_FICLONE = 0x40049409


class DoesNotApply(ui.LabError):
    """A tree is too different for a patch of the lab's series."""


@dataclasses.dataclass(frozen=True)
class Series:
    """What the lab adds to a kernel: patches in order, whole new files."""
    patches: tuple[Path, ...]
    files: dict[str, Path]
    top: Path = OWN

    def content(self) -> list[bytes]:
        """Equal lists, equal trees."""
        return [part for path in self.patches
                for part in (path.name.encode(), path.read_bytes())] + \
               [part for name, path in self.files.items()
                for part in (name.encode(), path.read_bytes())]


def series(own: Path = OWN, debug: bool = False) -> Series:
    """
    The patches and the new files of guest-kernel; @debug: and the patches for
    kernels that check themselves.
    """
    files = {f"{there}/{path.relative_to(own / here).as_posix()}": path
             for here, there in _MIRRORED.items()
             for path in sorted((own / here).rglob("*"))
             if path.is_file() and not path.name.startswith(".")
             and not path.name.endswith("~")}
    patches = sorted((own / "patches").glob("*.patch"))
    if debug:
        patches += sorted((own / "patches" / "debug").glob("*.patch"))
    return Series(tuple(patches), files, own)


def _walk(top: Path, place: str = "") -> Iterator[tuple[str, os.DirEntry]]:
    """Files and links below @top with their names in it, no directories."""
    with os.scandir(top / place) as entries:
        for entry in entries:
            name = f"{place}{entry.name}"
            if entry.name in _LEFT_OUT and not place:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(top, name + "/")
            else:
                yield name, entry


def _clone(source: Path, target: Path) -> None:
    """Copy a file; it gets today's date, for make to see that it is new."""
    target.unlink(missing_ok=True)
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
        return
    with open(source, "rb") as old, open(target, "wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            shutil.copyfileobj(old, new, 1 << 20)
    shutil.copymode(source, target)


def _link(base: Path, tree: Path) -> None:
    """Fill @tree with the files of @base, which nobody ever writes to."""
    made = set()
    for name, entry in _walk(base):
        target = tree / name
        if target.parent not in made:
            made.add(paths.ensure_dir(target.parent))
        try:
            os.link(entry.path, target, follow_symlinks=False)
        except OSError:
            _clone(Path(entry.path), target)


def _recall(manifest: Path) -> dict[str, str]:
    if not manifest.is_file():
        return {}
    lines = manifest.read_text(encoding="utf-8", errors="surrogateescape")
    return dict(line.split("\t", 1)[::-1] for line in lines.split("\n")[:-1])


def _update(base: Path, tree: Path, manifest: Path, kept: set[str]) -> None:
    """
    Copy to @tree what changed in @base since the last time and delete what
    was deleted there, but for the names in @kept, which the caller writes.
    """
    before = _recall(manifest)
    now = {}
    # What is interrupted is done again, from the start.
    manifest.unlink(missing_ok=True)
    for name, entry in _walk(base):
        if name in kept:
            continue
        st = entry.stat(follow_symlinks=False)
        now[name] = f"{st.st_size} {st.st_mtime_ns} {st.st_mode:o}"
        if before.get(name) != now[name]:
            paths.ensure_dir((tree / name).parent)
            _clone(Path(entry.path), tree / name)
    for name, _entry in list(_walk(tree)):
        if name not in now and name not in kept:
            (tree / name).unlink()
    manifest.write_text("".join(f"{state}\t{name}\n"
                                for name, state in now.items()),
                        encoding="utf-8", errors="surrogateescape")


def touched(patches: tuple[Path, ...]) -> list[str]:
    """The files that @patches change, add or delete."""
    names = set()
    for patch in patches:
        text = patch.read_text(encoding="utf-8", errors="replace")
        names |= set(re.findall(r"^(?:--- a|\+\+\+ b)/(\S+)", text, re.M))
    return sorted(names)


def _copy_files(names: list[str], base: Path, to: Path) -> None:
    for name in names:
        if (base / name).is_file():
            paths.ensure_dir((to / name).parent)
            shutil.copyfile(base / name, to / name)


def _patch(folder: Path, patch: Path, *options: str) -> bool:
    try:
        proc.run(["patch", "-p1", "-s", "-f", "--no-backup-if-mismatch",
                  "-r", "-", *options, "-d", folder, "-i", patch], LOG)
    except proc.ToolFailed:
        return False
    return True


def _there(patches: tuple[Path, ...], base: Path, names: list[str]
           ) -> list[Path]:
    """Those of @patches that @base has: they can be taken back, last first."""
    with tempfile.TemporaryDirectory(prefix="vntb-lab-") as scratch:
        folder = Path(scratch)
        _copy_files(names, base, folder)
        return [patch for patch in reversed(patches)
                if _patch(folder, patch, "-R", "--dry-run")
                and _patch(folder, patch, "-R")]


def _apply(base: Path, tree: Path, own: Series, version: str) -> list[str]:
    """Put @own into @tree, a copy of @base; returns what @base has already."""
    proc.start_log(LOG)
    names = touched(own.patches)
    there = _there(own.patches, base, names)
    with tempfile.TemporaryDirectory(prefix="vntb-lab-") as scratch:
        folder = Path(scratch)
        _copy_files(names, base, folder)
        for patch in own.patches:
            if patch not in there and not (_patch(folder, patch, "--dry-run")
                                           and _patch(folder, patch)):
                own_name = patch.relative_to(own.top)
                raise DoesNotApply(
                    f"guest-kernel/{own_name} does not apply to Linux "
                    f"{version}: mend it, take it away, or use a tree that "
                    f"has it (log: {paths.LOGS / LOG})")
        for name in names:
            target = tree / name
            if (folder / name).is_file():
                cache.write_if_changed(target, (folder / name).read_bytes())
                if (base / name).is_file():
                    shutil.copymode(base / name, target)
            else:
                target.unlink(missing_ok=True)
    skipped = [patch.name for patch in own.patches if patch in there]
    for name, path in own.files.items():
        if not (base / name).exists():
            cache.write_if_changed(tree / name, path.read_bytes())
        elif (base / name).read_bytes() != path.read_bytes():
            skipped.append(name)
    return skipped


def _tell(skipped: list[str], version: str) -> None:
    if skipped:
        ui.note(f"Linux {version} has these of guest-kernel of its own, they "
                f"were skipped: {', '.join(skipped)}")


def fixed(base: Path, target: Path, own: Series, version: str) -> Path:
    """
    target/src: @base, which never changes, with @own in it; made once.

    The files are links to those of @base: write to none of them in place.
    """
    tree, record = target / "src", target / _SKIPPED
    if not tree.is_dir():
        with cache.making(tree) as scratch:
            _link(base, scratch)
            skipped = _apply(base, scratch, own, version)
            record.write_text(json.dumps(skipped), encoding="utf-8")
    _tell(json.loads(record.read_text(encoding="utf-8")), version)
    return tree


def follow(base: Path, target: Path, own: Series, version: str) -> Path:
    """
    target/src: a copy of the user's tree @base with @own in it, brought up to
    date; what has not changed keeps its date.  @base is only read.
    """
    tree = paths.ensure_dir(target / "src")
    kept = {*touched(own.patches),
            *(name for name in own.files if not (base / name).exists())}
    _update(base, tree, target / _MANIFEST, kept)
    _tell(_apply(base, tree, own, version), version)
    return tree
