# SPDX-License-Identifier: GPL-2.0-or-later
"""Build qemu-system-aarch64, our qtests and benches from the grafted tree."""

import contextlib
import dataclasses
import os
import re
import shutil
from pathlib import Path
from typing import Optional

from lablib import apt, cache, graft, paths, proc, sources, ui

LOG = "setup-qemu.log"
EMULATOR = "qemu-system-aarch64"
OLDEST = (10, 0)

_CONFIGURE = [
    "--python=/usr/bin/python3",
    "--target-list=aarch64-softmmu",
    "--without-default-devices",
    "--with-devices-aarch64=vntb-lab",
    "--without-default-features",
    "--enable-system",
    "--enable-tcg",
    "--enable-slirp",
    "--enable-pixman",
    "--enable-fdt=system",
    "--enable-trace-backends=log",
    "--disable-install-blobs",
    "--disable-docs",
    "--disable-download",
]
# Configure's options of the builds that tests alone use.
_SANITIZERS = {
    "asan": ["--enable-asan", "--enable-ubsan"],
    "tsan": ["--enable-tsan"],
}
# Subprojects that QEMU's release tarballs bring and its git tree does not.
_SUBPROJECTS = ("keycodemapdb", "berkeley-softfloat-3",
                "berkeley-testfloat-3")


@dataclasses.dataclass(frozen=True)
class Qemu:
    """A build of QEMU with this checkout's models."""
    emulator: Path
    # Directories of the qtest and of the benchmark binaries.
    qtests: Path
    benches: Path
    # The grafted source tree and the build tree, shared by checkouts.
    tree: Path
    build: Path
    version: str


def _registered(kind: str) -> list[str]:
    """The programs of tests/qtest/pcie-cable whose names end in -@kind."""
    registry = paths.REPO / "tests" / "qtest" / "pcie-cable" / "meson.build"
    return re.findall(rf"^ +'([\w-]+-{kind})',$",
                      registry.read_text(encoding="utf-8"), re.MULTILINE)


def qtest_names() -> list[str]:
    """Our qtests, as their registry names them."""
    return _registered("test")


def bench_names() -> list[str]:
    """The programs of bench/, as their registry names them."""
    return _registered("bench")


def check_tree(source: Path) -> str:
    """Is @source a QEMU tree we can build?  Returns its version."""
    if not (source / "VERSION").is_file() or not (source / "qapi").is_dir():
        raise ui.LabError(f"--qemu-src {source}: not a QEMU source tree")
    version = (source / "VERSION").read_text(encoding="ascii").strip()
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        raise ui.LabError(f"--qemu-src {source}: QEMU {version} is too old, "
                          f"the lab needs {OLDEST[0]}.{OLDEST[1]} or later")
    for name in _SUBPROJECTS:
        if not (source / "subprojects" / name / "meson.build").is_file() \
                and not (source / "subprojects" / name / "README").is_file():
            raise ui.LabError(
                f"--qemu-src {source}: subprojects/{name} is not there; run: "
                f"cd {source} && meson subprojects download "
                f"{' '.join(_SUBPROJECTS)}")
    return version


def _environment() -> dict[str, str]:
    return {"CCACHE_BASEDIR": str(paths.CACHE), "CCACHE_NOHASHDIR": "1"}


def _configure(tree: Path, build: Path, options: list[str],
               version: str) -> None:
    """Run configure unless this build tree has been with these options."""
    stamp = build / "lab-configure"
    text = "\n".join(options)
    if stamp.is_file() and stamp.read_text(encoding="ascii") == text \
            and (build / "build.ninja").is_file():
        return
    shutil.rmtree(build, ignore_errors=True)
    paths.ensure_dir(build)
    with ui.step(f"configuring QEMU {version}"):
        proc.run([tree / "configure", *options], LOG, cwd=build,
                 env=_environment(), what="QEMU's configure")
    stamp.write_text(text, encoding="ascii")


def _compile(build: Path, targets: list[str], version: str) -> None:
    """Make @targets; says nothing when they are there and up to date."""
    with contextlib.ExitStack() as stack:
        steps: list[ui.Step] = []

        def watch(line: str) -> None:
            progress = proc.ninja_progress(line)
            # QEMU has this one written each time, and then compared.
            if not progress or "qemu-version.h" in line:
                return
            if not steps:
                steps.append(stack.enter_context(
                    ui.step(f"building QEMU {version}")))
            steps[0].update(progress)

        proc.run(["ninja", f"-j{os.cpu_count()}", *targets], LOG, cwd=build,
                 env=_environment(), watch=watch, what="building QEMU")


def _publish(source: Path, target: Path) -> None:
    """Copy a binary into the checkout's build directory if it changed."""
    if target.is_file():
        old, new = target.stat(), source.stat()
        if (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns):
            return
    paths.ensure_dir(target.parent)
    scratch = target.with_name(target.name + ".new")
    shutil.copy2(source, scratch)
    scratch.replace(target)


def build(source: Optional[Path], suite: str,
          sanitizer: Optional[str] = None) -> Qemu:
    """
    Build QEMU from the user's tree @source, or from Debian's of @suite.
    @sanitizer is "asan" or "tsan" for an instrumented one.

    The binaries are copied to build/, so that another checkout's build does
    not change them under a running VM.
    """
    if source:
        base, fixed = source.resolve(), False
        version = check_tree(base)
        identity = f"tree {base}"
    else:
        suites = [suite] if suite else sources.QEMU_SUITES
        debian = sources.qemu(suites)
        base, fixed = debian.path, True
        version = (base / "VERSION").read_text(encoding="ascii").strip()
        identity = f"debian {debian.version}"
    # The build trees name libraries of the release they are made on.
    home = paths.CACHE / "qemu" / cache.key(
        identity, apt.codename(), *(p.read_bytes() for p in graft.patches()))
    tree = home / "src"
    variant = sanitizer or "plain"
    options = [*_CONFIGURE, *_SANITIZERS.get(variant, [])]
    if shutil.which("ccache"):
        options = ["--cc=ccache gcc", *options]
    graft.assemble(base, tree, version, fixed)
    # The directory of each program in the build tree.
    tests = {name: "tests/qtest" for name in qtest_names()}
    benches = {name: "tests/qtest/pcie-cable" for name in bench_names()}
    programs = [f"{place}/{name}"
                for name, place in {**tests, **benches}.items()]
    proc.start_log(LOG)
    _configure(tree, home / variant, options, version)
    _compile(home / variant, [EMULATOR, *programs], version)
    out = paths.BUILD / (f"qemu-{sanitizer}" if sanitizer else "qemu")
    _publish(home / variant / EMULATOR, out / EMULATOR)
    for folder, names in (("qtest", tests), ("bench", benches)):
        for name, place in names.items():
            _publish(home / variant / place / name, out / folder / name)
    cache.mark_used(home)
    return Qemu(out / EMULATOR, out / "qtest", out / "bench", tree,
                home / variant, version)
