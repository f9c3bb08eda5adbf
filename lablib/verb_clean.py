# SPDX-License-Identifier: GPL-2.0-or-later
"""
Remove what was built here: binaries, logs and results in build/. With --all
also the sources, downloads and builds that all checkouts share.
"""

import argparse
import json
import shutil

from lablib import cache, paths, state, ui

# What setup puts in the cache.
_SHARED = ("debian", "downloads", "guest-modules", "guest-tools", "kernel",
           "kernel-image", "qemu", "rootfs", "sources")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this verb."""
    parser.add_argument("--all", action="store_true",
                        help=f"also empty the cache, {paths.CACHE}")


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    removed = []
    if paths.BUILD.is_dir():
        # Refuses while VMs of this checkout run.
        state.claim().release()
        shutil.rmtree(paths.BUILD)
        removed.append(str(paths.BUILD))
    if args.all:
        with cache.locked():
            for name in _SHARED:
                path = paths.CACHE / name
                if path.is_dir():
                    with ui.step(f"removing {path}", brief=True):
                        shutil.rmtree(path)
                    removed.append(str(path))
    if args.json:
        print(json.dumps({"ok": True, "removed": removed}))
    elif removed:
        print(f"removed {', '.join(removed)}")
    else:
        print("nothing to remove")
    return 0
