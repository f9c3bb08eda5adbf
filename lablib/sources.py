# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's and Linux's sources, unpacked once in the cache."""

import dataclasses
import json
import re
import urllib.parse
from pathlib import Path
from typing import Callable

from lablib import apt, cache, paths, proc, ui

QEMU_SUITES = ["trixie"]
LINUX_PACKAGE = "linux-source-7.3"
LINUX_SUITES = ["trixie-backports", "forky", "sid"]
LOG = "setup-sources.log"


@dataclasses.dataclass(frozen=True)
class Tree:
    """An unpacked source tree; @version tells equal trees."""
    path: Path
    version: str


def _remembered(name: str) -> Path:
    return paths.CACHE / "sources" / f"{name}.json"


def _recall(name: str) -> "Tree | None":
    try:
        record = json.loads(_remembered(name).read_text(encoding="utf-8"))
        tree = Tree(paths.CACHE / "sources" / record["dir"],
                    record["version"])
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return tree if tree.path.is_dir() else None


def _remember(name: str, tree: Tree) -> Tree:
    record = {"version": tree.version, "dir": tree.path.name}
    cache.write_if_changed(_remembered(name), json.dumps(record).encode())
    return tree


def _directory(package: str, version: str) -> Path:
    safe = re.sub(r"[^A-Za-z0-9.+-]", "_", f"{package}_{version}")
    return paths.CACHE / "sources" / safe


def _from_suites(package: str, suites: list[str], option: str,
                 fetch: Callable[[str], Tree]) -> Tree:
    for suite in suites:
        try:
            return fetch(suite)
        except apt.NotInSuite:
            continue
    raise ui.LabError(
        f"the mirror has no package {package} (tried the suites "
        f"{', '.join(suites)}); unpack a source tree yourself and pass it "
        f"with {option} DIR")


def _fetch_qemu(suite: str) -> Tree:
    source = apt.Suite(suite, "deb-src")
    listing = source.run(["--print-uris", "source", "qemu"], paths.CACHE)
    match = re.search(r"/qemu_(\S+)\.dsc'", "\n".join(listing))
    if not match:
        raise apt.NotInSuite(f"no qemu in {suite}")
    version = urllib.parse.unquote(match.group(1))
    target = _directory("qemu", version)
    if not target.is_dir():
        with ui.step(f"unpacking QEMU {version}"), \
                cache.making(target) as scratch:
            source.run(["source", "--only-source", "qemu"], scratch)
            unpacked = next(p for p in scratch.iterdir() if p.is_dir())
            for path in scratch.iterdir():
                if path != unpacked:
                    path.unlink()
            for path in list(unpacked.iterdir()):
                path.rename(scratch / path.name)
            unpacked.rmdir()
    return Tree(target, version)


def qemu(suites: list[str]) -> Tree:
    """Debian's QEMU source, with Debian's patches, from one of @suites."""
    name = f"qemu@{suites[0]}"
    return _recall(name) or _remember(
        name, _from_suites("qemu (source)", suites, "--qemu-src",
                           _fetch_qemu))


def _fetch_linux(suite: str) -> Tree:
    binary = apt.Suite(suite, "deb")
    downloads = paths.ensure_dir(paths.CACHE / "downloads")
    with ui.step(f"downloading {LINUX_PACKAGE}"):
        binary.run(["download", LINUX_PACKAGE], downloads)
    package = max(downloads.glob(f"{LINUX_PACKAGE}_*_all.deb"),
                  key=lambda p: p.stat().st_mtime)
    version = proc.output(["dpkg-deb", "-f", package, "Version"]).strip()
    target = _directory(LINUX_PACKAGE, version)
    if not target.is_dir():
        with ui.step(f"unpacking Linux {version}"), \
                cache.making(target) as scratch:
            tar = f"./usr/src/{LINUX_PACKAGE}.tar.xz"
            proc.run(["sh", "-ec",
                      'dpkg-deb --fsys-tarfile "$1" | tar -xO "$2" '
                      '| tar -xJ --strip-components=1', "sh", package, tar],
                     LOG, cwd=scratch, what="unpacking Linux")
            if not (scratch / "Makefile").is_file():
                raise ui.LabError(f"{package.name} holds no Linux tree; "
                                  f"delete {package} and run this again")
    package.unlink()
    return Tree(target, version)


def linux() -> Tree:
    """Debian's Linux 7.3 source."""
    return _recall(LINUX_PACKAGE) or _remember(
        LINUX_PACKAGE, _from_suites(LINUX_PACKAGE, LINUX_SUITES,
                                    "--kernel-src", _fetch_linux))
