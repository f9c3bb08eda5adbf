# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel modules of the checkout that a bench or a test loads by itself."""

import shutil
from pathlib import Path
from typing import Any, Optional

from lablib import cache, kernel_build, paths, proc
from lablib.ui import LabError
from lablib.vm import Vm

LOG = "guest-module.log"
DRIVERS = paths.REPO / "guest-kernel" / "drivers"
PATCHES = paths.REPO / "guest-kernel" / "patches"


class NoKernelBuild(LabError):
    """There is no build of the guest's kernel to compile modules against."""


def _kernel_build(built: Any, name: str) -> Path:
    """The tree that the guest's kernel was built in."""
    tree = built.kernel.parent / "build"
    if built.kernel_src is None or not tree.is_dir():
        raise NoKernelBuild(f"module {name} needs a kernel that the lab built,"
                            " not --kernel-image")
    return tree


def _compile(name: str, built: Any, sources: list[Path],
             patch: Optional[Path] = None) -> Path:
    """
    Compile @sources, with @patch applied, as the modules of their Kbuild;
    returns @name.ko.
    """
    tree = _kernel_build(built, name)
    inputs = sources + ([patch] if patch else [])
    target = paths.CACHE / "guest-modules" / cache.key(
        str(tree), built.kernel_release,
        str(built.kernel.stat().st_mtime_ns),
        *(p.read_bytes() for p in inputs))
    module = target / f"{name}.ko"
    if module.is_file():
        return module
    with cache.making(target) as scratch:
        for source in sources:
            shutil.copy(source, scratch)
        proc.start_log(LOG)
        if patch:
            proc.run(["patch", "-s", "-i", patch, "-d", scratch,
                      sources[0].name], LOG)
            (scratch / "Kbuild").write_text(f"obj-m += {name}.o\n")
        proc.run([*kernel_build.make_command(), "-C", built.kernel_src,
                  f"O={tree}", f"M={scratch}", "modules"], LOG,
                 what=f"building the module {name}")
    return module


def build(name: str, built: Any) -> Path:
    """
    Compile the module @name of guest-kernel/drivers against the kernel that
    `lablib.setup.ensure` has @built; returns the .ko file.
    """
    sources = sorted(p for p in (DRIVERS / name).iterdir() if p.is_file())
    return _compile(name, built, sources)


def build_patched(source: str, patch: str, built: Any) -> Path:
    """
    Compile the kernel's own driver of one file, @source, with @patch of
    guest-kernel/patches; returns the .ko file.
    """
    name = Path(source).stem
    _kernel_build(built, name)
    return _compile(name, built, [built.kernel_src / source],
                    PATCHES / f"{patch}.patch")


def load(vm: Vm, name: str, built: Any) -> None:
    """Load the module @name in the guest unless it is there already."""
    if vm.run(f"[ -d /sys/module/{name.replace('-', '_')} ]",
              check=False).status == 0:
        return
    vm.run(f"cat >/tmp/{name}.ko && insmod /tmp/{name}.ko && "
           f"rm /tmp/{name}.ko", stdin=build(name, built).read_bytes())
