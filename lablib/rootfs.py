# SPDX-License-Identifier: GPL-2.0-or-later
"""The guests' root file system: Debian packages and the checkout's init."""

import io
import os
import re
import tarfile
from pathlib import Path

from lablib import apt, cache, cpio, guest_tools, paths, proc, ui

SUITE = "trixie"
LOG = "setup-rootfs.log"
PACKAGES = paths.REPO / "guest-kernel" / "packages"

# What no guest needs; the first rule that matches a path decides.
_KEEP = re.compile(r"usr/share/(misc(/pci\.ids)?|iproute2(/.*)?|"
                   r"terminfo(/.*)?)?$")
_DROP = re.compile(
    r"usr/share/.|usr/(games|include|src)(/|$)|usr/lib/(mime|systemd|udev)/|"
    r"usr/lib/[^/]+/(gconv|security|perl[^/]*|engines-3|ossl-modules|sasl2)/|"
    r"var/(cache|lib/(dpkg|apt))/.|var/log/.|boot/|"
    r"etc/(apt|init\.d|rc.\.d|pam\.d|security|selinux|cron[^/]*|ufw|"
    r"apparmor\.d|update-motd\.d)/")

# Commands that a person at the console expects and no package brings.
_BUSYBOX = ("awk", "clear", "cmp", "diff", "find", "grep", "gunzip", "gzip",
            "hexdump", "hostname", "ifconfig", "less", "nc", "ntpd", "poweroff",
            "reboot", "reset", "sed", "tar", "telnet", "udhcpc", "vi", "wget",
            "which", "xargs", "xxd")


def _packages() -> list[str]:
    lines = PACKAGES.read_text(encoding="utf-8").splitlines()
    return [line.split("#")[0].strip() for line in lines
            if line.split("#")[0].strip()]


def _convert(tar: tarfile.TarFile, out: cpio.Writer) -> None:
    """Copy what guests need from a tar archive to a cpio archive."""
    names = set()
    for member in tar:
        name = member.name.removeprefix("./").rstrip("/")
        if name in ("", "."):
            continue
        if _DROP.match(name) and not _KEEP.match(name):
            continue
        names.add(name)
        if member.isdir():
            out.directory(name, member.mode & 0o7777)
        elif member.issym():
            out.symlink(name, member.linkname)
        elif member.ischr():
            out.char_device(name, member.mode, member.devmajor,
                            member.devminor)
        elif member.isreg() or member.islnk():
            content = tar.extractfile(member)
            assert content
            out.file(name, content.read(), member.mode & 0o7777)
    if "usr/bin/sh" not in names:
        out.symlink("usr/bin/sh", "bash")
    for command in _BUSYBOX:
        if not {f"usr/bin/{command}", f"usr/sbin/{command}"} & names:
            out.symlink(f"usr/bin/{command}", "busybox")


def base() -> Path:
    """The archive of Debian's packages, made when it is not there yet."""
    packages = _packages()
    recipe = Path(__file__).read_bytes()
    target = paths.CACHE / "rootfs" / cache.key(SUITE, recipe, *packages)
    archive = target / "base.cpio"
    if archive.is_file():
        return archive
    with ui.step("making the guests' root file system"), \
            cache.making(target) as scratch:
        tar = scratch / "root.tar"
        proc.start_log(LOG)
        try:
            # Extracting needs neither root nor a name space.
            mode = "root" if os.geteuid() == 0 else "chrootless"
            proc.run(["mmdebstrap", f"--mode={mode}", "--arch=arm64",
                      "--variant=extract", f"--include={','.join(packages)}", SUITE, tar,
                      apt.source_line("deb", SUITE)], LOG)
        except proc.ToolFailed as e:
            for line in e.tail:
                match = re.search(r"Unable to locate package (\S+)", line)
                if match:
                    raise ui.LabError(
                        f"the mirror has no arm64 package {match.group(1)} "
                        f"in {SUITE} (named in {PACKAGES})") from e
            raise apt.network_error(e) from e
        with tarfile.open(tar) as source, \
                open(scratch / "base.cpio", "wb") as out:
            writer = cpio.Writer(out)
            _convert(source, writer)
            writer.close()
        tar.unlink()
    return archive


def _modules(modules: Path) -> bytes:
    """The kernel's modules as an archive; cached beside them."""
    archive = modules.with_name(modules.name + ".cpio")
    stamp = modules / "lib" / "modules"
    if not stamp.is_dir():
        return b""
    if (archive.is_file()
            and archive.stat().st_mtime_ns >= stamp.stat().st_mtime_ns):
        return archive.read_bytes()
    out = io.BytesIO()
    writer = cpio.Writer(out)
    writer.directory("usr/lib/modules")
    writer.tree(stamp, "usr/lib/modules/")
    writer.close()
    cache.write_if_changed(archive, out.getvalue())
    return out.getvalue()


def _overlay() -> bytes:
    """This checkout's own files: its programs and init."""
    out = io.BytesIO()
    writer = cpio.Writer(out)
    for name, program in guest_tools.programs().items():
        writer.file(f"usr/bin/{name}", program, 0o755)
    init = paths.REPO / "guest-kernel" / "init"
    writer.file("init", init.read_bytes(), 0o755)
    writer.close()
    return out.getvalue()


def initramfs(modules: Path) -> Path:
    """
    The archive a guest boots from: packages, modules, init.  One for each
    kernel: several may be in use at a time.
    """
    target = paths.BUILD / f"initramfs-{cache.key(str(modules))}.cpio"
    data = base().read_bytes() + _modules(modules) + _overlay()
    cache.write_if_changed(target, data)
    return target
