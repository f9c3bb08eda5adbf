# SPDX-License-Identifier: GPL-2.0-or-later
"""
The kernel's own selftests (tools/testing/selftests), from the tree in use:
cross-compiled for the guests, listed, and their TAP read.
"""

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Iterator, Optional, Union

from lablib import cache, kernel_build, paths, proc, ui
from lablib.ui import LabError

LOG = "selftests.log"
_WHERE = Path("tools/testing/selftests")
# What the programs are compiled with: the harness, and the kernel's user
# space headers for arm64.
_SHARED = (_WHERE / "lib.mk", _WHERE / "kselftest.h",
           _WHERE / "kselftest_harness.h", Path("include/uapi"),
           Path("arch/arm64/include/uapi"))


class NoSelftests(LabError):
    """The kernel in use has no such selftest; the text says why."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A case of a kselftest harness program; @variant may be empty."""
    fixture: str
    variant: str
    test: str

    @property
    def name(self) -> str:
        """How the program names it in its TAP."""
        return ".".join(filter(None, (self.fixture, self.variant, self.test)))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a case gave: "ok", "not ok" or "skip", with all that was said."""
    status: str
    said: str

    @property
    def why(self) -> str:
        """What the harness and the case logged, in one line."""
        return "; ".join(re.findall(
            r"^# (?:\S+\.c:\d+:\w+:|\w+: (?=Test ))(.+)$", self.said, re.M))


def folder(tree: Optional[Path], name: str) -> Path:
    """
    The directory of selftest @name in the kernel tree @tree, which is None
    when the user gave an Image.
    """
    if tree is None:
        raise NoSelftests(f"the kernel's selftest {name} is taken from the "
                          "kernel's source, which --kernel-image has not")
    path = tree / _WHERE / name
    if not path.is_dir():
        raise NoSelftests(f"the kernel tree has no {_WHERE / name}")
    return path


def cases(tree: Optional[Path], name: str) -> list[Case]:
    """The cases of a harness program, as its source declares them."""
    text = "\n".join(p.read_text(encoding="utf-8")
                     for p in sorted(folder(tree, name).glob("*.c")))
    variants: dict[str, list[str]] = {}
    for fixture, variant in re.findall(
            r"^FIXTURE_VARIANT_ADD\((\w+),\s*(\w+)\)", text, re.M):
        variants.setdefault(fixture, []).append(variant)
    return [Case(fixture, variant, test) for fixture, test in re.findall(
                r"^TEST_F(?:_\w+)?\((\w+),\s*(\w+)", text, re.M)
            for variant in variants.get(fixture, [""])]


def _files(tree: Path, own: Path) -> Iterator[Path]:
    for top in (own, *(tree / name for name in _SHARED)):
        yield from ([top] if top.is_file() else
                    sorted(p for p in top.rglob("*") if p.is_file()))


def _key(tree: Path, own: Path) -> str:
    """What the programs of @own are made of, compiler included."""
    parts: list[Union[str, bytes]] = [
        *kernel_build.make_command(),
        proc.output(["aarch64-linux-gnu-gcc", "-dumpfullversion"])
        or proc.output(["gcc", "-dumpfullversion"])]
    for path in _files(tree, own):
        parts += [path.relative_to(tree).as_posix(), path.read_bytes()]
    return cache.key(*parts)


def _make(tree: Path, name: str, target: Path) -> None:
    """Compile into @target; the tree itself stays as it is."""
    make = kernel_build.make_command()
    headers = paths.ensure_dir(target / "headers")
    programs = paths.ensure_dir(target / "programs")
    proc.start_log(LOG)
    with ui.step(f"building the kernel's selftest {name}"):
        proc.run([*make, "-C", tree, f"O={headers}", "headers"], LOG,
                 what="the kernel's user space headers")
        # Static: the guests' libc is of another release than the compiler's.
        proc.run([*make, "-C", tree / _WHERE / name, f"OUTPUT={programs}",
                  f"KHDR_INCLUDES=-isystem {headers / 'usr/include'}",
                  "USERLDFLAGS=-static", "all"], LOG,
                 what=f"building the selftest {name}")
    shutil.rmtree(headers)


def build(tree: Optional[Path], name: str) -> dict[str, bytes]:
    """
    The programs of selftest @name, static and for arm64, by name; compiled
    again when their sources or the headers they include have changed.
    """
    own = folder(tree, name)
    assert tree
    target = paths.CACHE / "selftests" / _key(tree, own)
    if not target.is_dir():
        with cache.making(target) as scratch:
            _make(tree, name, scratch)
    programs = {p.name: p.read_bytes()
                for p in sorted((target / "programs").iterdir())
                if p.read_bytes()[:4] == b"\x7fELF"}
    if not programs:
        raise LabError(f"the selftest {name} of {tree} has built no program "
                       f"(log: {paths.LOGS / LOG})")
    return programs


def _columns(line: str) -> tuple[str, str, str]:
    """Split "%-20s %-25s %s"; a long word pushes the others on."""
    found = []
    for width in (20, 25):
        width = max(width, len(line.partition(" ")[0]))
        found.append(line[:width].strip())
        line = line[width + 1:]
    return found[0], found[1], line.strip()


def listed(text: str) -> list[Case]:
    """
    The cases in what a harness program prints for -l: a fixture's variants
    and tests stand side by side, in columns of their own.
    """
    found: list[Case] = []
    # The first line is the head of the table.
    for block in re.split(r"^-{20,}\n", text.partition("\n")[2], flags=re.M):
        rows = [_columns(line) for line in block.splitlines()]
        fixture = rows[0][0] if rows else ""
        variants = [row[1] for row in rows if row[1]] or [""]
        found += [Case(fixture, variant, row[2]) for row in rows if row[2]
                  for variant in variants]
    return found


def outcome(text: str, name: str) -> Outcome:
    """Read the TAP of a harness program: what became of case @name."""
    match = re.search(rf"^(ok|not ok) \d+ {re.escape(name)}(?: *# *(\w+).*)?$",
                      text, re.M)
    if not match:
        return Outcome("not ok", f"no result of {name}: {text.strip()}")
    status = "skip" if match[2] in ("SKIP", "XFAIL") else match[1]
    return Outcome(status, text)
