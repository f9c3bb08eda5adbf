# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU that is not ours to play the RC: Debian's binary, or the user's."""

import dataclasses
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Optional

from lablib import apt, cache, paths, proc, ui

LOG = "setup-stock-qemu.log"
DEVICE = "vfio-user-pci"
OLDEST = (10, 1)

_EMULATOR = "qemu-system-aarch64"
_PACKAGES = ("qemu-system-arm", "qemu-system-common", "qemu-system-data")
# A suite, and the one it builds on when it is not whole.
SUITES = (("trixie-backports", "trixie"), ("forky", None), ("sid", None))
_SPACE = 1.5

# Debian's binary runs on other releases with the libraries that it was built
# with, which its own dynamic linker finds where it is told to.
_WRAPPER = f"""\
#!/bin/sh
# {_EMULATOR} of Debian's {{suite}} with the libraries of that suite.
root=${{{{0%/*}}}}/root
QEMU_MODULE_DIR=$root/usr/lib/{{triplet}}/qemu exec "$root/{{linker}}" \\
	--inhibit-cache --library-path "$root/usr/lib/{{triplet}}" \\
	"$root/usr/bin/{_EMULATOR}" -L "$root/usr/share/qemu" "$@"
"""


class NotAvailable(ui.LabError):
    """No suite of the machine's mirror has a QEMU that is new enough."""


@dataclasses.dataclass(frozen=True)
class Emulator:
    """An emulator that can play the RC."""
    path: Path
    version: str


def _said(path: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(path), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace",
                          check=False, timeout=60)


def program(name: str) -> Path:
    """The program that a user means by @name, a path or a name in PATH."""
    return Path(shutil.which(name) or name)


def check(path: Path, cpu: str = "cortex-a57") -> Emulator:
    """
    Can the emulator at @path play the RC with a CPU @cpu?  Raises LabError
    with what it lacks.
    """
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ui.LabError(f"--rc-qemu {path}: there is no such program, or it "
                          "may not be executed")
    path = path.absolute()
    try:
        version = re.search(r"^QEMU emulator version (\d+)\.(\d+)\S*",
                            _said(path, "--version").stdout, re.MULTILINE)
        if not version:
            raise ui.LabError(f"--rc-qemu {path}: this is no QEMU system "
                              "emulator")
        number = version[0].rpartition(" ")[2]
        listed = _said(path, "-M", "virt", "-cpu", "help").stdout
        if cpu.partition(",")[0] not in re.findall(r"[\w.-]+", listed):
            raise ui.LabError(f"--rc-qemu {path}: it emulates no aarch64 "
                              f"machine 'virt' with CPU {cpu}; take a "
                              f"{_EMULATOR}")
        # Its exit status is 0 for a device that it has not, too.
        if "socket" not in _said(path, "-M", "none", "-device",
                                 f"{DEVICE},help").stdout:
            raise ui.LabError(
                f"--rc-qemu {path}: QEMU {number} has no device {DEVICE}; "
                f"{OLDEST[0]}.{OLDEST[1]} and later have, unless they were "
                "built without it")
    except OSError as e:
        raise ui.LabError(f"--rc-qemu {path}: {e.strerror}") from e
    except subprocess.TimeoutExpired as e:
        raise ui.LabError(f"--rc-qemu {path}: it does not answer "
                          f"`{' '.join(e.cmd[1:])}`") from e
    return Emulator(path, number)


def _download(suite: str, base: Optional[str], tar: Path) -> None:
    arch = apt.native_arch()
    lines = [apt.source_line("deb", name, arch) for name in (base, suite)
             if name]
    wanted = [f"{name}/{suite}" if base else name for name in _PACKAGES]
    # Extracting needs neither root nor a name space.
    mode = "root" if os.geteuid() == 0 else "chrootless"
    try:
        proc.run(["mmdebstrap", f"--mode={mode}", "--variant=extract",
                  f"--include={','.join(wanted)}", base or suite, tar,
                  *lines], LOG)
    except proc.ToolFailed as e:
        if e.said(r"does not have a Release file|404 +Not Found|"
                  r"Unable to locate package|has no installation candidate|"
                  r"(Release|Version) '.*' (for '.*' )?was not found"):
            raise apt.NotInSuite(f"no QEMU in {suite}") from e
        raise apt.network_error(e) from e


def _one(root: Path, *patterns: str) -> Path:
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            return path.relative_to(root)
    raise ui.LabError(f"Debian's {_EMULATOR} came without "
                      f"{' or '.join(patterns)} (log: {paths.LOGS / LOG})")


def _unpack(suite: str, base: Optional[str], scratch: Path) -> None:
    """Fill @scratch with the emulator of @suite, ready to run."""
    tar = scratch / "root.tar"
    _download(suite, base, tar)
    root = paths.ensure_dir(scratch / "root")
    proc.run(["tar", "-xf", tar, "-C", root, "--no-same-owner",
              "--exclude=./usr/share/doc", "--exclude=./usr/share/man",
              "--exclude=./usr/share/locale", "--exclude=./dev"], LOG)
    tar.unlink()
    libc = _one(root, "usr/lib/*/libc.so.6")
    linker = _one(root, "usr/lib64/ld-linux*.so.*", "usr/lib/ld-linux*.so.*",
                  "usr/lib/*/ld-linux*.so.*")
    wrapper = scratch / _EMULATOR
    wrapper.write_text(_WRAPPER.format(suite=suite, linker=linker,
                                       triplet=libc.parent.name),
                       encoding="ascii")
    wrapper.chmod(0o755)
    version = _said(wrapper, "--version").stdout
    number = re.search(r"version (\d+)\.(\d+)", version)
    if not number:
        raise ui.LabError(f"Debian's {_EMULATOR} of {suite} does not run on "
                          "this machine; pass one of yours with --rc-qemu "
                          "PATH")
    if tuple(map(int, number.groups())) < OLDEST:
        raise apt.NotInSuite(f"{suite} has QEMU {number[0]}")


def fetch() -> Path:
    """
    Debian's emulator of the first suite that has it new enough, unpacked in
    the cache.  The cache is locked by the caller.  Raises NotAvailable when
    the mirror has none.
    """
    target = paths.CACHE / "stock-qemu" / cache.key(
        _WRAPPER, *_PACKAGES, str(SUITES), apt.native_arch())
    emulator = target / _EMULATOR
    if emulator.is_file():
        return emulator
    cache.need_space(_SPACE, "a QEMU for the RC")
    proc.start_log(LOG)
    with ui.step("fetching Debian's QEMU for the RC"):
        for suite, base in SUITES:
            try:
                with cache.making(target) as scratch:
                    _unpack(suite, base, scratch)
                return emulator
            except apt.NotInSuite:
                continue
    tried = ", ".join(suite for suite, _ in SUITES)
    raise NotAvailable(
        f"the mirror has no qemu-system-arm {OLDEST[0]}.{OLDEST[1]} or later "
        f"(tried the suites {tried}); pass an emulator with --rc-qemu PATH")
