# SPDX-License-Identifier: GPL-2.0-or-later
"""Make everything that booting two guests takes, if it is not there yet."""

import argparse
import dataclasses
from pathlib import Path
from typing import Optional

from lablib import (apt, cache, graft, kernel_build, kernel_image,
                    kernel_tree, paths, proc, qemu_build, rootfs, stock_qemu,
                    ui)

# Debian packages that building and testing take.
_PACKAGES = [
    "bc", "binutils", "bison", "bzip2", "ca-certificates", "ccache",
    "debian-archive-keyring", "dpkg-dev", "flex", "gcc", "kmod", "libc6-dev",
    "libelf-dev", "libfdt-dev", "libglib2.0-dev", "libpixman-1-dev",
    "libslirp-dev", "libssl-dev", "make", "mmdebstrap", "ninja-build",
    "patch", "perl", "pkgconf", "python3-pyflakes", "python3-pytest",
    "python3-venv", "rsync", "xz-utils", "zlib1g-dev",
]
_CROSS_PACKAGES = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]
# QEMU wants newer ones of these than Debian 12 has.
_NEWER = {"meson": "1.5", "python3-pycotap": "1.1"}

# What a cold setup downloads and builds, in GiB.
_SPACE = 7.0
LOGS = (apt.LOG, graft.LOG, qemu_build.LOG, kernel_tree.LOG, kernel_build.LOG,
        rootfs.LOG)


@dataclasses.dataclass(frozen=True)
class Built:
    """What setup made; every path exists."""
    qemu: Path
    qemu_build: Path
    qemu_tree: Path
    qtests: Path
    qtest_names: tuple[str, ...]
    benches: Path
    qemu_version: str
    kernel: Path
    kernel_release: str
    kernel_src: Optional[Path]
    # Options of our fragments that are not set in the kernel.
    kernel_missing: tuple[str, ...]
    # The kernel's ELF file for gdb, where there is one.
    vmlinux: Optional[Path]
    modules: Path
    initramfs: Path
    # What the user wants to play the RC where that is not ours.
    rc_qemu: Optional[Path]
    # Words for the kernel command line without which it does not check.
    kernel_words: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of setup that every verb takes."""
    group = parser.add_argument_group("what to build and boot")
    group.add_argument("--kernel-src", metavar="DIR", type=Path,
                       help="build the guest kernel from this Linux tree "
                            "(6.12 or later)")
    group.add_argument("--kernel-image", metavar="FILE", type=Path,
                       help="boot this arm64 Image as it is")
    group.add_argument("--kernel-modules", metavar="DIR", type=Path,
                       help="the modules of --kernel-image: its "
                            "INSTALL_MOD_PATH or lib/modules/VERSION "
                            "(default: looked for beside the Image)")
    group.add_argument("--kernel-config", metavar="FILE", type=Path,
                       action="append", default=[],
                       help="a fragment to add to the guest kernel's "
                            "configuration; may be given again")
    group.add_argument("--kernel-debug", action="store_true",
                       help="build the guest kernel with KASAN, lockdep and "
                            "the like")
    group.add_argument("--qemu-src", metavar="DIR", type=Path,
                       help="build QEMU from this tree (10.0 or later); the "
                            "tree itself is not changed")
    group.add_argument("--qemu-suite", metavar="SUITE", default="",
                       help="take QEMU's source from this Debian suite "
                            f"(default {qemu_build.sources.QEMU_SUITES[0]})")
    group.add_argument("--rc-qemu", metavar="PATH", type=stock_qemu.program,
                       help="run the RC of topologies such as stock-rc in "
                            "this qemu-system-aarch64 (10.1 or later; "
                            "default: Debian's)")


def _backports(names: list[str]) -> list[str]:
    """Fetch packages from the release's backports; returns .deb files."""
    release = apt.codename()
    suite = apt.Suite(f"{release}-backports", "deb")
    folder = paths.ensure_dir(paths.CACHE / "downloads")
    files = []
    for name in names:
        for old in folder.glob(f"{name}_*.deb"):
            old.unlink()
        try:
            suite.run(["download", name], folder)
        except apt.NotInSuite as e:
            raise ui.LabError(
                f"QEMU needs {name} {_NEWER[name]} or later; neither {release}"
                f" nor {suite.name} has it on this machine's mirror") from e
        files += [str(path) for path in folder.glob(f"{name}_*.deb")]
    return files


def packages() -> None:
    """Install the Debian packages that are missing on this machine."""
    wanted = list(_PACKAGES)
    if apt.native_arch() != "arm64":
        wanted += _CROSS_PACKAGES
    have = apt.installed([*wanted, *_NEWER])
    missing = [name for name in wanted if name not in have]
    old = [name for name, minimum in _NEWER.items()
           if name not in have or not apt.at_least(have[name], minimum)]
    if not missing and not old:
        return
    proc.start_log(apt.LOG)
    if old and apt.codename() == "bookworm":
        missing += _backports(old)
    else:
        missing += old
    apt.install(missing)


def _wishes(opts: argparse.Namespace, patched: bool) -> kernel_build.Wishes:
    # Only the verbs that boot know --gdb.
    return kernel_build.Wishes(opts.kernel_debug, getattr(opts, "gdb", False),
                               tuple(opts.kernel_config), patched)


def _check_kernel(opts: argparse.Namespace,
                  wishes: kernel_build.Wishes) -> None:
    if opts.kernel_image:
        for option in ("kernel_src", "kernel_debug", "kernel_config"):
            if getattr(opts, option):
                raise ui.LabError(
                    f"--kernel-image and --{option.replace('_', '-')} exclude "
                    "each other: an Image is booted as it is; pass one")
    kernel_image.check(opts.kernel_image, opts.kernel_modules)
    kernel_build.check(opts.kernel_src, wishes)


def _kernel(opts: argparse.Namespace,
            wishes: kernel_build.Wishes) -> kernel_build.Kernel:
    if opts.kernel_image:
        if wishes.patched:
            ui.note("an Image is booted as it is: the patches of guest-kernel "
                    "that this topology is for are yours to have in it")
        return kernel_image.load(opts.kernel_image, opts.kernel_modules)
    if opts.kernel_src:
        kernel = kernel_build.from_tree(opts.kernel_src, wishes)
    else:
        kernel = kernel_build.default(wishes)
    if kernel.missing:
        ui.note(f"Linux {kernel.release} does not have, or cannot have "
                f"together, {', '.join(kernel.missing)}")
    return kernel


def ensure(opts: argparse.Namespace, sanitizer: Optional[str] = None,
           patched: bool = False) -> Built:
    """
    Build what is missing or out of date and say where it is; with @sanitizer
    ("asan", "tsan") a QEMU that is instrumented with it.  The kernel is
    upstream's unless it shall be @patched with what guest-kernel holds.

    Cheap when nothing changed.  Raises LabError with what to do.
    """
    wishes = _wishes(opts, patched)
    _check_kernel(opts, wishes)
    if opts.qemu_src:
        qemu_build.check_tree(opts.qemu_src.resolve())
    if opts.rc_qemu:
        stock_qemu.check(opts.rc_qemu)
    apt.codename()
    with cache.locked():
        if not (paths.CACHE / "kernel").is_dir():
            cache.need_space(_SPACE, "a first build")
        packages()
        qemu = qemu_build.build(opts.qemu_src, opts.qemu_suite, sanitizer)
        kernel = _kernel(opts, wishes)
        initramfs = rootfs.initramfs(kernel.modules)
    return Built(
        qemu=qemu.emulator, qemu_build=qemu.build, qemu_tree=qemu.tree,
        qtests=qemu.qtests, qtest_names=tuple(qemu_build.qtest_names()),
        benches=qemu.benches, qemu_version=qemu.version, kernel=kernel.image,
        kernel_release=kernel.release, kernel_src=kernel.source,
        kernel_missing=kernel.missing, vmlinux=kernel.vmlinux,
        modules=kernel.modules, initramfs=initramfs, rc_qemu=opts.rc_qemu,
        kernel_words="page_poison=1" if opts.kernel_debug else "")
