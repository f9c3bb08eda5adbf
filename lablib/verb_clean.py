# SPDX-License-Identifier: GPL-2.0-or-later
"""
Remove what was built here: binaries, logs and results in build/. With --all
also the sources, downloads and builds that all checkouts share. With --old only
those of them that nobody has used for a while.
"""

import argparse
import json
import shutil
from pathlib import Path

from lablib import cache, paths, state, ui

# What setup puts in the cache.
_SHARED = ("debian", "downloads", "guest-modules", "guest-tools", "kernel",
           "kernel-image", "qemu", "rootfs", "selftests", "sources",
           "stock-qemu")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this verb."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true",
                       help=f"also empty the cache, {paths.CACHE}")
    which.add_argument("--old", nargs="?", type=float, const=30,
                       metavar="DAYS",
                       help="leave build/ alone and remove from the cache "
                            "what was not used for DAYS (30)")


def _remove(entries: list[Path]) -> list[str]:
    for path in entries:
        with ui.step(f"removing {path}", brief=True):
            shutil.rmtree(path)
    return [str(path) for path in entries]


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    removed = []
    if args.old is not None:
        if args.old < 0:
            raise ui.LabError("--old takes a number of days, 0 or more")
        with cache.locked():
            removed += _remove(cache.unused(args.old))
    elif paths.BUILD.is_dir():
        # Refuses while VMs or tests of this checkout run.
        state.claim().release()
        state.claim_tests().release()
        removed += _remove([paths.BUILD])
    if args.all:
        with cache.locked():
            removed += _remove([paths.CACHE / name for name in _SHARED
                                if (paths.CACHE / name).is_dir()])
    if args.json:
        print(json.dumps({"ok": True, "removed": removed}))
    elif removed:
        print(f"removed {', '.join(removed)}")
    else:
        print("nothing to remove")
    return 0
