# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel modules of the checkout that a bench or a test loads by itself."""

import shutil
from pathlib import Path
from typing import Any

from lablib import cache, kernel_build, paths, proc
from lablib.ui import LabError
from lablib.vm import Vm

LOG = "guest-module.log"
MODULES = paths.REPO / "guest-kernel" / "modules"


class NoKernelBuild(LabError):
    """There is no build of the guest's kernel to compile modules against."""


def build(name: str, built: Any) -> Path:
    """
    Compile the module @name of guest-kernel/modules against the kernel that
    `lablib.setup.ensure` has @built; returns the .ko file.
    """
    kernel_tree = built.kernel.parent / "build"
    if built.kernel_src is None or not kernel_tree.is_dir():
        raise NoKernelBuild(f"module {name} needs a kernel that the lab built,"
                            " not --kernel-image")
    sources = sorted(p for p in (MODULES / name).iterdir() if p.is_file())
    target = paths.CACHE / "guest-modules" / cache.key(
        str(kernel_tree), built.kernel_release,
        str(built.kernel.stat().st_mtime_ns),
        *(p.read_bytes() for p in sources))
    module = target / f"{name}.ko"
    if not module.is_file():
        with cache.making(target) as scratch:
            for source in sources:
                shutil.copy(source, scratch)
            proc.start_log(LOG)
            proc.run([*kernel_build.make_command(), "-C", built.kernel_src,
                      f"O={kernel_tree}", f"M={scratch}", "modules"], LOG,
                     what=f"building the module {name}")
    cache.mark_used(target)
    return module


def load(vm: Vm, name: str, built: Any) -> None:
    """Load the module @name in the guest unless it is there already."""
    if vm.run(f"[ -d /sys/module/{name.replace('-', '_')} ]",
              check=False).status == 0:
        return
    vm.run(f"cat >/tmp/{name}.ko && insmod /tmp/{name}.ko && "
           f"rm /tmp/{name}.ko", stdin=build(name, built).read_bytes())
