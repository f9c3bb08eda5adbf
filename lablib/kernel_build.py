# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest kernel, compiled: Debian's Linux or the user's tree."""

import dataclasses
import os
import re
import shutil
from pathlib import Path
from typing import Optional

from lablib import apt, cache, kernel_tree, paths, proc, sources, ui

LOG = "setup-kernel.log"
CONFIG = paths.REPO / "guest-kernel" / "config"
OLDEST = (6, 12)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel that guests can boot."""
    image: Path
    release: str
    modules: Path
    source: Optional[Path]
    # Options of the fragments that are not set in this kernel.
    missing: tuple[str, ...] = ()
    # Has debug information when the user asked for gdb.
    vmlinux: Optional[Path] = None


@dataclasses.dataclass(frozen=True)
class Wishes:
    """
    What goes into the config besides base, compat and ntb: the fragment
    @debug, debug information for @gdb, and the user's own @files, last.

    A @patched kernel has the patches and new files of guest-kernel in it, and
    the fragment of that name.
    """
    debug: bool = False
    gdb: bool = False
    files: tuple[Path, ...] = ()
    patched: bool = False


def _read_fragment(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
        raise ui.LabError(f"--kernel-config {file}: no text file; pass a "
                          "fragment of a .config") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#") \
                and not re.match(r"CONFIG_\w+=", line):
            raise ui.LabError(f"--kernel-config {file}:{number}: '{line}' is "
                              "no line of a .config (CONFIG_NAME=value)")
    return text if text.endswith("\n") else text + "\n"


def _fragments(wishes: Wishes) -> dict[str, str]:
    """The fragments by name, in the order in which they win."""
    names = ["base", "compat", "ntb"] \
        + (["patched"] if wishes.patched else []) \
        + (["debug"] if wishes.debug else []) \
        + (["gdb"] if wishes.gdb else [])
    return {name: (CONFIG / f"{name}.fragment").read_text(encoding="utf-8")
            for name in names} | \
           {str(file): _read_fragment(file) for file in wishes.files}


def tool_prefix() -> str:
    """What the names of the compiler for arm64 and its tools begin with."""
    return "" if apt.native_arch() == "arm64" else "aarch64-linux-gnu-"


def make_command() -> list[str]:
    """`make` for an arm64 kernel on this machine, with ccache if present."""
    prefix = tool_prefix()
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
    """Options that the fragments set and @config has not so."""
    have = dict(re.findall(r"^(CONFIG_\w+)=(.*)$",
                           config.read_text(encoding="utf-8"), re.MULTILINE))
    wanted: dict[str, str] = {}
    for name, text in fragments.items():
        if name != "compat":
            wanted |= dict(re.findall(r"^(CONFIG_\w+)=(.*?)\s*$", text,
                                      re.MULTILINE))
    return tuple(option for option, value in wanted.items()
                 if have.get(option, "n") != value)


def _configure(make: list[str], source: Path, build: Path, env: dict[str, str],
               fragments: dict[str, str]) -> tuple[str, ...]:
    """
    Write build/.config; returns the options that did not take effect.

    The tree's own Kconfig files may have changed: it is always made anew.
    kconfig leaves a .config alone that it would only write again, and its
    users compare values, so nothing is compiled for that.
    """
    merged = build / "lab.config"
    merged.write_text("".join(fragments.values()), encoding="utf-8")
    proc.run([*make, "-C", source, f"O={build}",
              f"KCONFIG_ALLCONFIG={merged}", "allnoconfig"], LOG,
             env=env, what="configuring the kernel")
    return _missing(build / ".config", fragments)


def _module_state(build: Path) -> str:
    """Changes when a module was built anew."""
    order = (build / "modules.order").read_text(encoding="ascii").split()
    modules = [build / name for name in order]
    times = [path.with_suffix(".ko").stat().st_mtime_ns for path in modules]
    release = (build / "include/config/kernel.release").read_text("ascii")
    return cache.key(release, *order, *map(str, times))


def _build_directory(source: Path, target: Path) -> Path:
    """
    Where @source is built; target/build leads there.

    Inside a copy of our own, beside a tree that we only read.
    """
    link = target / "build"
    if source != target / "src":
        return paths.ensure_dir(link)
    build = paths.ensure_dir(source / kernel_tree.BUILD)
    if not link.exists():
        link.symlink_to(build.relative_to(target))
    return build


def _compile(source: Path, target: Path, fragments: dict[str, str],
             title: str) -> tuple[str, ...]:
    """Build the kernel in @target; make decides what is out of date."""
    make = make_command()
    env = _environment(paths.CACHE)
    build = _build_directory(source, target)
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


def _kernel(target: Path, source: Path, missing: tuple[str, ...]) -> Kernel:
    cache.mark_used(target)
    return Kernel(target / "Image", _release(target), target / "modules",
                  source, missing, target / "build" / "vmlinux")


def _series(wishes: Wishes) -> kernel_tree.Series:
    return (kernel_tree.series(debug=wishes.debug) if wishes.patched
            else kernel_tree.Series((), {}))


def _with_patches(wishes: Wishes) -> str:
    return " with the lab's patches" if wishes.patched else ""


def default(wishes: Wishes = Wishes()) -> Kernel:
    """Debian's kernel source with our fragments, built once."""
    tree = sources.linux()
    fragments = _fragments(wishes)
    series = _series(wishes)
    compiler = proc.output([f"{tool_prefix()}gcc", "-dumpfullversion"])
    target = paths.CACHE / "kernel" / cache.key(
        tree.version, compiler, *fragments.values(), *series.content())
    done = target / "complete"
    source = kernel_tree.fixed(tree.path, target, series, tree.version)
    if not done.is_file():
        missing = _compile(source, target, fragments,
                           f"building Linux {tree.version}"
                           + _with_patches(wishes))
        done.write_text("\n".join(missing), encoding="ascii")
    return _kernel(target, source,
                   tuple(done.read_text(encoding="ascii").split()))


def check_tree(source: Path) -> str:
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
            f"--kernel-src {source}: the tree holds a build of its own, and "
            "kbuild builds nothing outside such a tree; give the lab a tree "
            f"without: git -C {source} worktree add --detach DIR (or build "
            "your own with O= and clean this one with make ARCH=arm64 "
            "mrproper, which deletes its .config)")
    return f"{version[0]}.{version[1]}.{fields.get('SUBLEVEL', 0)}"


def from_tree(source: Path, wishes: Wishes = Wishes()) -> Kernel:
    """The user's own tree; what changed in it is rebuilt each time."""
    source = source.resolve()
    version = check_tree(source)
    fragments = _fragments(wishes)
    # One build directory for each set of fragments: going to and fro between
    # two of them compiles nothing twice.
    target = paths.CACHE / "kernel" / cache.key(
        "tree", str(source), f"debug={wishes.debug}",
        *(["gdb"] if wishes.gdb else []),
        *(["patched"] if wishes.patched else []), *map(str, wishes.files))
    tree = source
    if wishes.patched:
        tree = kernel_tree.follow(source, target, _series(wishes), version)
    missing = _compile(tree, target, fragments,
                       f"building Linux {version} from {source}"
                       + _with_patches(wishes))
    return _kernel(target, tree, missing)


def check(source: Optional[Path], wishes: Wishes) -> None:
    """Refuse what the user passed before anything is built."""
    if source:
        check_tree(source.resolve())
    _fragments(wishes)
