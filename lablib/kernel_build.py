# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest kernel: Debian's Linux, the user's tree, or the user's Image."""

import dataclasses
import os
import re
import shutil
from pathlib import Path
from typing import Optional

from lablib import apt, cache, paths, proc, sources, ui

LOG = "setup-kernel.log"
CONFIG = paths.REPO / "guest-kernel" / "config"
OLDEST = (6, 12)

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


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel that guests can boot."""
    image: Path
    release: str
    modules: Path
    source: Optional[Path]
    # Options of our fragments that this kernel's source does not have.
    missing: tuple[str, ...] = ()


def _fragments(debug: bool) -> dict[str, str]:
    names = ["base", "compat", "ntb"] + (["debug"] if debug else [])
    return {name: (CONFIG / f"{name}.fragment").read_text(encoding="utf-8")
            for name in names}


def make_command() -> list[str]:
    """`make` for an arm64 kernel on this machine, with ccache if present."""
    prefix = "" if apt.native_arch() == "arm64" else "aarch64-linux-gnu-"
    words = ["make", "ARCH=arm64", f"CROSS_COMPILE={prefix}"]
    if shutil.which("ccache"):
        words.append(f"CC=ccache {prefix}gcc")
    return words


def _environment(base: Path) -> dict[str, str]:
    # The same objects serve every build tree: nothing in them names one.
    return {"CCACHE_BASEDIR": str(base), "CCACHE_NOHASHDIR": "1",
            "KBUILD_BUILD_TIMESTAMP": "@0", "KBUILD_BUILD_USER": "vntb-lab",
            "KBUILD_BUILD_HOST": "vntb-lab", "KBUILD_BUILD_VERSION": "1"}


def _missing(config: Path, fragments: dict[str, str]) -> tuple[str, ...]:
    have = set(config.read_text(encoding="utf-8").splitlines())
    wanted = [line for name, text in fragments.items() if name != "compat"
              for line in text.splitlines() if line.startswith("CONFIG_")]
    return tuple(line.split("=")[0] for line in wanted if line not in have)


def _configure(make: list[str], source: Path, build: Path, env: dict[str, str],
               fragments: dict[str, str]) -> tuple[str, ...]:
    """Write build/.config unless it comes from these fragments already."""
    text = "".join(fragments.values())
    merged = build / "lab.config"
    if not (build / ".config").is_file() or not merged.is_file() \
            or merged.read_text(encoding="utf-8") != text:
        merged.write_text(text, encoding="utf-8")
        try:
            proc.run([*make, "-C", source, f"O={build}",
                      f"KCONFIG_ALLCONFIG={merged}", "allnoconfig"], LOG,
                     env=env, what="configuring the kernel")
        except proc.ToolFailed:
            merged.unlink()
            raise
    return _missing(build / ".config", fragments)


def _module_state(build: Path) -> str:
    """Changes when a module was built anew."""
    order = (build / "modules.order").read_text(encoding="ascii").split()
    modules = [build / name for name in order]
    times = [path.with_suffix(".ko").stat().st_mtime_ns for path in modules]
    release = (build / "include/config/kernel.release").read_text("ascii")
    return cache.key(release, *order, *map(str, times))


def _compile(source: Path, target: Path, fragments: dict[str, str],
             title: str) -> tuple[str, ...]:
    """Build the kernel in @target; make decides what is out of date."""
    make = make_command()
    env = _environment(paths.CACHE)
    build = paths.ensure_dir(target / "build")
    modules = target / "modules"
    proc.start_log(LOG)
    with ui.step(title) as step:
        missing = _configure(make, source, build, env, fragments)
        proc.run([*make, "-C", source, f"O={build}", f"-j{os.cpu_count()}",
                  "Image", "modules"], LOG, env=env, step=step,
                 watch=proc.CountProgress(), what="building the kernel")
        image = build / "arch" / "arm64" / "boot" / "Image"
        cache.write_if_changed(target / "Image", image.read_bytes())
        state = _module_state(build)
        stamp = target / "modules.state"
        if not stamp.is_file() or not modules.is_dir() \
                or stamp.read_text(encoding="ascii") != state:
            with cache.making(modules) as scratch:
                proc.run([*make, "-C", source, f"O={build}",
                          f"INSTALL_MOD_PATH={scratch}", "INSTALL_MOD_STRIP=1",
                          "modules_install"], LOG, env=env,
                         what="installing the modules")
                for link in scratch.glob("lib/modules/*/build"):
                    link.unlink()
            stamp.write_text(state, encoding="ascii")
        release = (build / "include" / "config" / "kernel.release")
        cache.write_if_changed(target / "release", release.read_bytes())
    return missing


def _release(target: Path) -> str:
    return (target / "release").read_text(encoding="ascii").strip()


def default(debug: bool = False) -> Kernel:
    """Debian's kernel source with our fragments, built once."""
    tree = sources.linux()
    fragments = _fragments(debug)
    compiler = proc.output(["aarch64-linux-gnu-gcc", "-dumpfullversion"]) \
        or proc.output(["gcc", "-dumpfullversion"])
    target = paths.CACHE / "kernel" / cache.key(
        tree.version, compiler, *fragments.values())
    done = target / "complete"
    if not done.is_file():
        missing = _compile(tree.path, target, fragments,
                           f"building Linux {tree.version}")
        done.write_text("\n".join(missing), encoding="ascii")
    return Kernel(target / "Image", _release(target), target / "modules",
                  tree.path, tuple(done.read_text(encoding="ascii").split()))


def _check_tree(source: Path) -> str:
    """Is @source a Linux tree we can build?  Returns its version."""
    makefile = source / "Makefile"
    if not makefile.is_file() or not (source / "arch/arm64/Kconfig").is_file():
        raise ui.LabError(f"--kernel-src {source}: not a Linux source tree")
    fields = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)",
                             makefile.read_text(encoding="utf-8"),
                             re.MULTILINE))
    version = (int(fields.get("VERSION", 0)), int(fields.get("PATCHLEVEL", 0)))
    if version < OLDEST:
        raise ui.LabError(
            f"--kernel-src {source}: Linux {version[0]}.{version[1]} is too "
            f"old, the lab needs {OLDEST[0]}.{OLDEST[1]} or later")
    if (source / ".config").exists() or (source / "include/config").is_dir():
        raise ui.LabError(
            f"--kernel-src {source}: the tree holds a build of its own, so "
            "nothing can be built outside it; save its .config and run: make "
            f"-C {source} ARCH=arm64 mrproper")
    return f"{version[0]}.{version[1]}.{fields.get('SUBLEVEL', 0)}"


def from_tree(source: Path, debug: bool = False) -> Kernel:
    """The user's own tree; what changed in it is rebuilt each time."""
    source = source.resolve()
    version = _check_tree(source)
    target = paths.CACHE / "kernel" / cache.key("tree", str(source),
                                                f"debug={debug}")
    missing = _compile(source, target, _fragments(debug),
                       f"building Linux {version} from {source}")
    return Kernel(target / "Image", _release(target), target / "modules",
                  source, missing)


def _check_image(image: Path) -> bytes:
    """Is @image an arm64 Image?  Returns its content."""
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


def from_image(image: Path) -> Kernel:
    """The user's own Image, booted as it is; it brings no modules."""
    banner = re.search(rb"Linux version (\S+)", _check_image(image))
    modules = paths.ensure_dir(paths.BUILD / "no-modules")
    return Kernel(image.resolve(),
                  banner.group(1).decode() if banner else "unknown",
                  modules, None)


def check(source: Optional[Path], image: Optional[Path]) -> None:
    """Refuse what the user passed before anything is built."""
    if source and image:
        raise ui.LabError("--kernel-image and --kernel-src exclude each other;"
                          " pass one")
    if source:
        _check_tree(source.resolve())
    if image:
        _check_image(image)
