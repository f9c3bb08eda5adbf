# SPDX-License-Identifier: GPL-2.0-or-later
"""
Debian packages: what the machine needs, and other suites of its own mirror.

Other suites are read through private lists in the cache, so that the
machine's own package sources stay as they are.
"""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterable, Iterator, Optional

from lablib import cache, paths, proc, ui

LOG = "setup-apt.log"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NETWORK = (r"Could not resolve|Temporary failure|Could not connect|"
            r"Unable to connect|Network is unreachable|Connection (failed|"
            r"timed out|refused)|Failed to fetch|Some index files failed")


class NotInSuite(ui.LabError):
    """The suite does not have the package."""


@dataclasses.dataclass(frozen=True)
class Mirror:
    """Where this machine gets Debian's main archive from."""
    uri: str
    signed_by: Optional[str]


@dataclasses.dataclass(frozen=True)
class _Source:
    kinds: list[str]
    uris: list[str]
    suites: list[str]
    components: list[str]
    signed_by: Optional[str]


def os_release() -> dict[str, str]:
    """The machine's /etc/os-release."""
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    pairs = re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', text, re.MULTILINE)
    return dict(pairs)


def codename() -> str:
    """The machine's Debian release, e.g. "trixie"."""
    info = os_release()
    if info.get("ID") != "debian" or not info.get("VERSION_CODENAME"):
        name = info.get("PRETTY_NAME", "not known")
        raise ui.LabError(f"the lab builds on Debian 12 or 13, this is {name};"
                          " use a Debian container or virtual machine")
    return info["VERSION_CODENAME"]


def _one_line(text: str) -> Iterator[_Source]:
    for line in text.splitlines():
        match = re.match(r"\s*(deb|deb-src)\s+(?:\[([^\]]*)\]\s+)?"
                         r"(\S+)\s+(\S+)\s*([^#]*)", line)
        if match:
            kind, options, uri, suite, components = match.groups()
            signed = re.search(r"signed-by=(\S+)", options or "")
            yield _Source([kind], [uri], [suite], components.split(),
                          signed.group(1) if signed else None)


def _deb822(text: str) -> Iterator[_Source]:
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1] in (" ", "\t") and name:
                fields[name] += "\n" + line.strip()
            elif ":" in line:
                name, value = line.split(":", 1)
                name = name.strip().lower()
                fields[name] = value.strip()
        if fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        signed = fields.get("signed-by", "")
        yield _Source(fields.get("types", "").split(),
                      fields.get("uris", "").split(),
                      fields.get("suites", "").split(),
                      fields.get("components", "").split(),
                      signed if signed.startswith("/") else None)


def _machine_sources() -> Iterator[_Source]:
    etc = Path("/etc/apt")
    files = [etc / "sources.list"]
    parts = etc / "sources.list.d"
    if parts.is_dir():
        files += sorted(parts.iterdir())
    for path in files:
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".list":
            yield from _one_line(text)
        elif path.suffix == ".sources":
            yield from _deb822(text)


def mirror() -> Mirror:
    """The mirror that serves this machine's release, main component."""
    release = codename()
    names = {release, "stable", "oldstable", "testing", "unstable", "sid"}
    for source in _machine_sources():
        if ("deb" in source.kinds and "main" in source.components
                and names & set(source.suites) and source.uris):
            signed = source.signed_by
            if signed is None and _KEYRING.exists():
                signed = str(_KEYRING)
            return Mirror(source.uris[0], signed)
    raise ui.LabError(
        f"no apt source of this machine serves Debian {release} main; add "
        "one to /etc/apt/sources.list.d, the lab takes QEMU's and Linux's "
        "sources from the same mirror")


def native_arch() -> str:
    """Debian's name for this machine's architecture."""
    return proc.output(["dpkg", "--print-architecture"]).strip()


def source_line(kind: str, suite: str, arch: Optional[str] = None) -> str:
    """One line of a sources.list that reads @suite from our mirror."""
    where = mirror()
    options = [f"arch={arch}"] if arch else []
    if where.signed_by:
        options.append(f"signed-by={where.signed_by}")
    bracket = f"[{' '.join(options)}] " if options else ""
    return f"{kind} {bracket}{where.uri} {suite} main"


class Suite:
    """One suite of the machine's mirror, with lists of its own."""

    def __init__(self, name: str, kind: str) -> None:
        """@kind is "deb" (this machine's packages) or "deb-src"."""
        self.name = name
        self.kind = kind
        self.dir = paths.CACHE / "debian" / f"{name}-{kind}"
        self._fresh = False

    def options(self) -> list[str]:
        """Command-line options: they win over the machine's apt.conf."""
        empty = paths.ensure_dir(self.dir / "empty")
        paths.ensure_dir(self.dir / "lists" / "partial")
        paths.ensure_dir(self.dir / "cache" / "archives" / "partial")
        arch = native_arch() if self.kind == "deb" else None
        line = source_line(self.kind, self.name, arch)
        cache.write_if_changed(self.dir / "sources.list",
                               (line + "\n").encode())
        settings = {
            "Dir::Etc::sourcelist": self.dir / "sources.list",
            "Dir::Etc::sourceparts": empty,
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": empty,
            "Dir::State::lists": self.dir / "lists",
            "Dir::Cache": self.dir / "cache",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        return [f"-o{name}={value}" for name, value in settings.items()]

    def refresh(self) -> None:
        """Fetch the suite's list of packages, once a process."""
        if self._fresh:
            return
        with ui.step(f"reading Debian's list of {self.name}"):
            try:
                proc.run(["apt-get", *self.options(), "-q",
                          "-oAPT::Update::Error-Mode=any", "update"], LOG)
            except proc.ToolFailed as e:
                if e.said(r"does not have a Release file|404 +Not Found"):
                    raise NotInSuite(f"the mirror has no suite {self.name}; "
                                     f"(log: {paths.LOGS / LOG})") from e
                raise network_error(e) from e
        self._fresh = True

    def run(self, words: list[str], cwd: Path) -> list[str]:
        """Run apt-get on this suite in the directory @cwd."""
        self.refresh()
        try:
            return proc.run(["apt-get", *self.options(), "-q", "-y", *words],
                            LOG, cwd=cwd)
        except proc.ToolFailed as e:
            if e.said(r"Unable to (locate package|find a source package)|"
                      r"has no installation candidate|No packages found|"
                      r"Can't select candidate version"):
                raise NotInSuite(f"not in {self.name}") from e
            raise network_error(e) from e


def network_error(e: proc.ToolFailed) -> ui.LabError:
    """The error to show for a failed apt-get."""
    if e.said(_NETWORK):
        return ui.LabError(
            "apt-get cannot fetch from this machine's Debian mirror; check "
            "the network, the proxy and /etc/apt, then run this again (log: "
            f"{paths.LOGS / LOG})")
    return e


def installed(names: Iterable[str]) -> dict[str, str]:
    """The versions of those of @names that are installed."""
    text = proc.output(["dpkg-query", "-W", "-f",
                        r"${Package} ${Version} ${Status}\n", *names])
    found = {}
    for line in text.splitlines():
        words = line.split()
        if words[-1] == "installed":
            found[words[0]] = words[1]
    return found


def at_least(version: str, minimum: str) -> bool:
    """Compare two Debian versions."""
    return subprocess.run(["dpkg", "--compare-versions", version, "ge",
                           minimum], check=False).returncode == 0


def _privilege(words: list[str]) -> list[str]:
    """How to run apt-get as root, or an error that says what to type."""
    if os.geteuid() == 0:
        return []
    command = " ".join(["apt-get", *words])
    manual = ui.LabError("packages are missing and you are not root; run: "
                         f"sudo apt-get update && sudo {command}")
    try:
        if sys.stdin.isatty() and sys.stderr.isatty():
            ui.note(f"lab: this needs root: sudo {command}")
            if subprocess.call(["sudo", "-v"]) != 0:
                raise manual
        elif subprocess.call(["sudo", "-n", "true"], stdin=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) != 0:
            raise manual
    except (FileNotFoundError, PermissionError):
        raise manual from None
    return ["sudo", "-n"]


def install(names: list[str]) -> None:
    """
    Install packages (names or .deb files) on this machine: as root or with
    sudo, otherwise fails with the command to type.
    """
    words = ["install", "-y", "--no-install-recommends", *names]
    prefix = _privilege(words)
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    options = ["-q", "-oDpkg::Use-Pty=0", "-oDPkg::Lock::Timeout=600"]
    if prefix:
        prefix = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive"]
    with ui.step(f"installing Debian packages ({len(names)})") as step:
        try:
            step.update("(reading lists)")
            proc.run([*prefix, "apt-get", *options, "update"], LOG)
            step.update("")
            proc.run([*prefix, "apt-get", *options, *words], LOG, env=env,
                     step=step, watch=_install_progress)
        except proc.ToolFailed as e:
            for line in e.tail:
                match = re.search(r"Unable to locate package (\S+)|Package "
                                  r"'?(\S+?)'? has no installation", line)
                if match:
                    raise ui.LabError(
                        f"Debian package {match.group(1) or match.group(2)} "
                        f"is not in this machine's suites ({codename()}); "
                        "check /etc/apt/sources.list.d") from e
            raise network_error(e) from e


def _install_progress(line: str) -> Optional[str]:
    match = re.match(r"(Unpacking|Setting up) (\S+)", line)
    return match.group(2).split(":")[0] if match else None
