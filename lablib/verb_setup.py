# SPDX-License-Identifier: GPL-2.0-or-later
"""Build QEMU, the guest kernel and the root file system, where missing."""

import argparse
import dataclasses
import json
from pathlib import Path

from lablib import cache, setup, stock_qemu, ui


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of setup."""
    parser.add_argument("--stock-rc", action="store_true",
                        help="fetch Debian's QEMU too, the RC of topology "
                             "stock-rc")


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    built = setup.ensure(args)
    if args.stock_rc:
        with cache.locked():
            stock = stock_qemu.check(stock_qemu.fetch())
        ui.note(f"for topology stock-rc: QEMU {stock.version}, {stock.path}")
    if args.json:
        fields = {name: str(value) if isinstance(value, Path) else value
                  for name, value in dataclasses.asdict(built).items()}
        print(json.dumps(fields, indent=2))
    else:
        print(f"ready: QEMU {built.qemu_version}, Linux "
              f"{built.kernel_release}; next: ./lab run")
    return 0
