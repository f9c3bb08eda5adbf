# SPDX-License-Identifier: GPL-2.0-or-later
"""
Put this checkout's models and tests into a QEMU source tree.

The tree is the lab's own copy, in the cache. Files are written only when
their content changes, so that a rebuild compiles what was edited and no more,
whichever checkout it comes from.
"""

import re
import shutil
import tempfile
from pathlib import Path

from lablib import cache, paths, proc, ui

LOG = "setup-graft.log"
CONFIG = paths.REPO / "configs" / "qemu"

# Directories of the checkout and where their files go in QEMU's tree.
_GRAFTED = {"hw": "hw", "include": "include", "tests/qtest": "tests/qtest",
            "bench": "tests/bench/pcie-cable"}
# bench/ also holds what runs the programs.
_DRIVING = {".py", ".pyc"}
_DEVICES = "configs/devices/aarch64-softmmu/vntb-lab.mak"
_MANIFEST = ".vntb-lab-files"


def patches() -> list[Path]:
    """The series against QEMU's own files, in order."""
    return sorted((CONFIG / "patches").glob("*.patch"))


def _patched_files() -> list[str]:
    names = set()
    for patch in patches():
        text = patch.read_text(encoding="utf-8")
        names |= set(re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE))
    return sorted(names)


def own_files() -> dict[str, Path]:
    """What the checkout adds to the tree: name in the tree -> our file."""
    files = {_DEVICES: CONFIG / "aarch64-softmmu.mak"}
    for top, place in _GRAFTED.items():
        for path in (paths.REPO / top).rglob("*"):
            hidden = path.name.startswith(".") or path.name.endswith("~")
            if path.is_file() and not hidden and path.suffix not in _DRIVING:
                name = path.relative_to(paths.REPO / top).as_posix()
                files[f"{place}/{name}"] = path
    return files


def _copy_base(base: Path, tree: Path, kept: list[str]) -> None:
    """Bring @tree up to date with @base, but for the files in @kept."""
    paths.ensure_dir(tree)
    with tempfile.NamedTemporaryFile("w", suffix=".exclude") as exclude:
        exclude.write("".join(f"/{name}\n" for name in kept))
        exclude.flush()
        proc.run(["rsync", "-a", "--delete", "--exclude=/.git",
                  "--exclude=/build*", f"--exclude=/{_MANIFEST}",
                  f"--exclude-from={exclude.name}", f"{base}/", f"{tree}/"],
                 LOG, what="copying QEMU's source")


def _apply_patches(base: Path, tree: Path, version: str) -> None:
    """Write the patched form of QEMU's own files to @tree."""
    names = _patched_files()
    with tempfile.TemporaryDirectory(prefix="vntb-lab-") as scratch:
        for name in names:
            target = Path(scratch) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (base / name).is_file():
                shutil.copyfile(base / name, target)
        for patch in patches():
            try:
                proc.run(["patch", "-p1", "-s", "--no-backup-if-mismatch",
                          "-d", scratch, "-i", patch], LOG)
            except proc.ToolFailed as e:
                raise ui.LabError(
                    f"{patch.relative_to(paths.REPO)} does not apply to QEMU "
                    f"{version}; the lab knows 10.0 to 10.2 (log: "
                    f"{paths.LOGS / LOG})") from e
        for name in names:
            cache.write_if_changed(tree / name,
                                   (Path(scratch) / name).read_bytes())


def _place_own(base: Path, tree: Path, files: dict[str, Path]) -> None:
    """Copy our files, and take away those that the checkout dropped."""
    for name, path in files.items():
        if (base / name).exists():
            raise ui.LabError(f"{name} is a file of QEMU's own; change it by "
                              "a patch in configs/qemu/patches")
        cache.write_if_changed(tree / name, path.read_bytes())
    manifest = tree / _MANIFEST
    if manifest.is_file():
        for name in manifest.read_text(encoding="utf-8").splitlines():
            if name not in files:
                (tree / name).unlink(missing_ok=True)
    cache.write_if_changed(manifest, "\n".join(sorted(files)).encode())


def assemble(base: Path, tree: Path, version: str, fixed: bool) -> None:
    """
    Make @tree the QEMU source in @base plus this checkout.

    @fixed says that @base never changes, so that it is copied only once.
    """
    proc.start_log(LOG)
    files = own_files()
    if not fixed or not (tree / _MANIFEST).is_file():
        _copy_base(base, tree, _patched_files() + list(files))
        _apply_patches(base, tree, version)
    _place_own(base, tree, files)
