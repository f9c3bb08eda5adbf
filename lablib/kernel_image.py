# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's own Image: is it one, and where are its modules?"""

import re
import shutil
from pathlib import Path
from typing import Optional

from lablib import cache, kernel_build, paths, proc, ui
from lablib.kernel_build import Kernel

LOG = "setup-kernel.log"

# The arm64 Image header (Documentation/arch/arm64/booting.rst).
_MAGIC_OFFSET = 56
_MAGIC = b"ARM\x64"
_OTHER_IMAGES = (
    (0, b"\x1f\x8b", "a gzip file (Image.gz?); unpack it with gunzip"),
    (0, b"\x7fELF", "an ELF file (vmlinux?); pass arch/arm64/boot/Image"),
    (0x202, b"HdrS", "an x86 kernel; pass an arm64 Image"),
    (0x24, b"\x18\x28\x6f\x01", "a 32-bit ARM zImage; pass an arm64 Image"),
    (4, b"zimg", "a compressed EFI image (vmlinuz.efi); pass the Image"),
)
# Where an Image is in a tree that has been built.
_IN_TREE = ("arch", "arm64", "boot")
# Links of lib/modules/VERSION to the tree; the guests cannot follow them.
_TREE_LINKS = ("build", "source")


def _read(image: Path) -> bytes:
    """The content of @image, which must be an arm64 Image."""
    if not image.is_file():
        raise ui.LabError(f"--kernel-image {image}: no such file")
    data = image.read_bytes()
    if data[_MAGIC_OFFSET:_MAGIC_OFFSET + len(_MAGIC)] == _MAGIC:
        return data
    for offset, magic, meaning in _OTHER_IMAGES:
        if data[offset:offset + len(magic)] == magic:
            raise ui.LabError(f"--kernel-image {image}: this is {meaning}")
    raise ui.LabError(f"--kernel-image {image}: not an arm64 Image (no "
                      f"ARM\\x64 at offset {_MAGIC_OFFSET}); pass "
                      "arch/arm64/boot/Image")


def _release(image: Path) -> str:
    banner = re.search(rb"Linux version (\S+)", _read(image))
    return banner.group(1).decode() if banner else "unknown"


def _build_tree(image: Path) -> Optional[Path]:
    """The tree or O= directory that @image was built in and still is."""
    if image.parent.parts[-len(_IN_TREE):] != _IN_TREE:
        return None
    tree = image.parents[len(_IN_TREE)]
    return tree if (tree / "modules.order").is_file() else None


def _given(directory: Path, release: str) -> Path:
    """lib/modules/VERSION of --kernel-modules @directory."""
    if (directory / "kernel").is_dir():
        return directory
    for place in (directory / "lib" / "modules", directory):
        if (place / release / "kernel").is_dir():
            return place / release
    have = sorted(p.parent.name for p in
                  directory.glob("lib/modules/*/kernel"))
    raise ui.LabError(
        f"--kernel-modules {directory}: " +
        (f"has modules of Linux {', '.join(have)}, the Image is {release}"
         if have else f"has no lib/modules/{release}; pass what "
                      "modules_install had as INSTALL_MOD_PATH"))


def _beside(image: Path, release: str) -> Optional[Path]:
    """lib/modules/VERSION in a directory that an Image is commonly near."""
    for top in (image.parent / "modules", image.parent, image.parent.parent):
        place = top / "lib" / "modules" / release
        if (place / "kernel").is_dir():
            return place
    return None


def _tree_files(tree: Path, release: str) -> dict[str, Path]:
    """What modules_install would install from the built @tree."""
    record = tree / "include" / "config" / "kernel.release"
    built = record.read_text("ascii").strip() if record.is_file() else release
    if built != release:
        raise ui.LabError(f"{tree} holds Linux {built} now, its Image is "
                          f"{release}: build it again (make Image modules)")
    names = (tree / "modules.order").read_text(encoding="utf-8").split()
    # Older trees name what is installed, newer ones what is compiled.
    objects = [Path(name.removeprefix("kernel/")).with_suffix(".ko")
               for name in names]
    files = {f"kernel/{name}": tree / name for name in objects}
    for path in files.values():
        if not path.is_file():
            raise ui.LabError(f"{path} is missing: build the modules too "
                              "(make Image modules)")
    files |= {name: tree / name for name in
              ("modules.order", "modules.builtin", "modules.builtin.modinfo")
              if (tree / name).is_file()}
    return files


def _installed_files(place: Path) -> dict[str, Path]:
    """The files of the lib/modules/VERSION @place."""
    return {path.relative_to(place).as_posix(): path
            for path in sorted(place.rglob("*"))
            if path.is_file() and path.relative_to(place).parts[0]
            not in _TREE_LINKS}


def _copy(files: dict[str, Path], release: str) -> Path:
    """
    Copy modules into the cache, without debug information, which would fill
    the guests' memory; returns the directory that lib/modules is in.
    """
    state = [f"{name} {path} {path.stat().st_size} {path.stat().st_mtime_ns}"
             for name, path in files.items()]
    entry = paths.CACHE / "kernel-image" / cache.key(release, *state)
    target = entry / "modules"
    if target.is_dir():
        cache.mark_used(entry)
        return target
    proc.start_log(LOG)
    with ui.step(f"copying the modules of Linux {release}"), \
            cache.making(target) as scratch:
        top = scratch / "lib" / "modules" / release
        for name, path in files.items():
            paths.ensure_dir((top / name).parent)
            shutil.copy(path, top / name)
        modules = sorted(top.rglob("*.ko"))
        for i in range(0, len(modules), 500):
            proc.run([f"{kernel_build.tool_prefix()}strip", "--strip-debug",
                      *modules[i:i + 500]], LOG)
        proc.run(["depmod", "-b", scratch, release], LOG)
    return target


def _modules(image: Path, directory: Optional[Path], release: str) -> Path:
    """The directory that has lib/modules/VERSION; an empty one without."""
    if directory:
        return _copy(_installed_files(_given(directory, release)), release)
    tree = _build_tree(image)
    if tree:
        return _copy(_tree_files(tree, release), release)
    place = _beside(image, release)
    if place is None:
        return paths.ensure_dir(paths.BUILD / "no-modules")
    top = place.parents[2]
    # A kernel that the lab has built is used as it is.
    if paths.CACHE.resolve() in top.parents:
        cache.mark_used(top.parent)
        return top
    return _copy(_installed_files(place), release)


def _build(image: Path) -> Path:
    """Where @image was compiled, in a tree of the user's or by the lab."""
    return _build_tree(image) or image.parent / "build"


def _vmlinux(image: Path) -> Optional[Path]:
    """The ELF file of @image, for gdb."""
    vmlinux = _build(image) / "vmlinux"
    return vmlinux if vmlinux.is_file() else None


def _source(image: Path) -> Optional[Path]:
    """The source of @image, if kbuild has left a trace of it."""
    for tree in (_build(image), _build(image) / "source"):
        if (tree / "Kconfig").is_file():
            return tree.resolve()
    return None


def load(image: Path, directory: Optional[Path]) -> Kernel:
    """
    The user's @image, booted as it is.

    Its modules come from @directory, an INSTALL_MOD_PATH or the directory
    lib/modules/VERSION itself.  When that is None they are looked for in the
    tree that the Image is in, and beside it.
    """
    image = image.resolve()
    release = _release(image)
    return Kernel(image, release, _modules(image, directory, release),
                  _source(image), vmlinux=_vmlinux(image))


def check(image: Optional[Path], directory: Optional[Path]) -> None:
    """Refuse what the user passed before anything is built."""
    if directory and not image:
        raise ui.LabError("--kernel-modules goes with --kernel-image; other "
                          "kernels bring their own modules")
    if image:
        release = _release(image)
        if directory:
            _given(directory, release)
