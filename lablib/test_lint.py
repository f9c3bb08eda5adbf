# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the style of the checkout's files; builds nothing."""

import re
import subprocess
from pathlib import Path
from typing import Callable, Iterator

from lablib import graft, kernel_tree, paths, qemu_build, setup, testrunner

_MAX_LINES = 800
_CODE = (".c", ".h", ".py", ".sh")
_SKIP_DIRS = {"build", "__pycache__"}
_MARKERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
_PRIVATE = re.compile(r"(?<![\w.])/(root|home/\w+)/")


class _NotHere(Exception):
    """A check has nothing to work with; the text says why."""


def _files() -> Iterator[Path]:
    """The files of the checkout, without what git ignores."""
    stack = [paths.REPO]
    while stack:
        for path in sorted(stack.pop().iterdir()):
            if path.name in _SKIP_DIRS or path.name == ".git":
                continue
            if path.is_dir():
                stack.append(path)
            elif not path.name.endswith("~"):
                yield path


def _name(path: Path) -> str:
    return path.relative_to(paths.REPO).as_posix()


def _is_code(path: Path) -> bool:
    # QEMU's trace.h files are one line, an include of a generated header.
    return path.name != "trace.h" and (
        path.suffix in _CODE or _name(path) in ("lab", ".ci/run",
                                                "tools/fresh-machine"))


def _tool(argv: list[object], cwd: Path) -> list[str]:
    """Complaints of a tool, one a line; none when it is content."""
    done = subprocess.run([str(a) for a in argv], cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines if done.returncode else []


def _checkpatch(built: setup.Built) -> list[str]:
    """QEMU's checkpatch on models, qtests and benches, and on our patches."""
    names = [name for name in graft.own_files() if name.endswith((".c", ".h"))]
    check = ["perl", "scripts/checkpatch.pl", "--no-tree", "--terse",
             "--no-summary"]
    return [line for name in names for line in
            _tool([*check, "-f", name], built.qemu_tree)] + \
           [line for patch in graft.patches() for line in
            _tool([*check, "--no-signoff", patch], built.qemu_tree)]


def _kernel_checkpatch(built: setup.Built) -> list[str]:
    """
    Linux's checkpatch, of the kernel in use, on what runs in guests and on the
    patches and new files of patched kernels.
    """
    if built.kernel_src is None:
        raise _NotHere("the kernel in use came without its source")
    # Programs are no kernel code: they have neither its types nor its macros.
    alien = ["--ignore", "PREFER_KERNEL_TYPES,BIT_MACRO,VOLATILE,"
                         "PREFER_DEFINED_ATTRIBUTE_MACRO"]
    check = ["perl", "scripts/checkpatch.pl", "--no-tree", "--terse",
             "--no-summary", "--strict"]
    folder = paths.REPO / "guest-kernel"
    series = kernel_tree.series(debug=True)
    new = set(series.files.values())
    complaints = []
    for path in _files():
        if folder not in path.parents or (path not in new and
                                          path.suffix not in (".c", ".h")):
            continue
        kernels = path in new or folder / "modules" in path.parents
        complaints += _tool([*check, *([] if kernels else alien), "-f", path],
                            built.kernel_src)
    for patch in series.patches:
        # New files have their place in guest-kernel, not in MAINTAINERS.
        ignored = "FILE_PATH_CHANGES"
        if patch.parent.name == "debug":
            # What they are for: keep lockdep from an upstream problem.
            ignored += ",LOCKDEP"
        complaints += _tool([*check, "--ignore", ignored, patch],
                            built.kernel_src)
    return complaints


def _pyflakes(_built: setup.Built) -> list[str]:
    files = [p for p in _files() if p.suffix == ".py"
             or p.read_bytes().startswith(b"#!/usr/bin/python3")]
    return _tool(["/usr/bin/python3", "-m", "pyflakes", *files], paths.REPO)


def _length(_built: setup.Built) -> list[str]:
    counts = ((p, len(p.read_bytes().splitlines())) for p in _files()
              if _is_code(p))
    return [f"{_name(p)}: {n} lines, at most {_MAX_LINES}"
            for p, n in counts if n > _MAX_LINES]


def _licence(_built: setup.Built) -> list[str]:
    return [f"{_name(p)}: no SPDX-License-Identifier in the first lines"
            for p in _files() if (_is_code(p) or p.suffix == ".md")
            and b"SPDX-License-Identifier:" not in p.read_bytes()[:400]]


def _unfinished(_built: setup.Built) -> list[str]:
    own = Path(__file__)
    return [f"{_name(p)}:{number}: {line.strip()}"
            for p in _files() if _is_code(p) and p != own
            for number, line in enumerate(
                p.read_text("utf-8", "replace").splitlines(), 1)
            if _MARKERS.search(line)]


def _private(_built: setup.Built) -> list[str]:
    """Paths of one person's machine have no place in the project."""
    found = []
    for path in _files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{_name(path)}:{number}: {line.strip()}"
                  for number, line in enumerate(lines, 1)
                  if _PRIVATE.search(line)]
    return found


def _registry(_built: setup.Built) -> list[str]:
    """The registry names every qtest and bench there is, and none besides."""
    files = {*(paths.REPO / "tests/qtest").glob("*-test.c"),
             *(paths.REPO / "bench").glob("*-bench.c")}
    known = {*qemu_build.qtest_names(), *qemu_build.bench_names()}
    return [f"tests/qtest/pcie-cable/meson.build and the files differ: {name}"
            for name in sorted({p.stem for p in files} ^ known)]


_CHECKS: dict[str, Callable[[setup.Built], list[str]]] = {
    "checkpatch": _checkpatch,
    "kernel-checkpatch": _kernel_checkpatch,
    "pyflakes": _pyflakes,
    "length": _length,
    "licence": _licence,
    "unfinished": _unfinished,
    "private-paths": _private,
    "registry": _registry,
}


def run(suite: testrunner.Suite, built: setup.Built) -> None:
    """Run every check; each is one test."""
    for name, check in _CHECKS.items():
        try:
            complaints = check(built)
        except _NotHere as e:
            print(f"ok - lint/{name} # SKIP {e}", flush=True)
            suite.add(name, testrunner.SKIPPED, str(e))
            continue
        for line in complaints:
            print(f"# {line}", flush=True)
        print(f"{'not ok' if complaints else 'ok'} - lint/{name}", flush=True)
        suite.add(name, testrunner.FAILED if complaints else testrunner.PASSED,
                  complaints[0] if complaints else "")
