# SPDX-License-Identifier: GPL-2.0-or-later
"""Build QEMU, the guest kernel and the root file system, where missing."""

import argparse
import dataclasses
import json
from pathlib import Path

from lablib import setup


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Setup has no options of its own."""


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    built = setup.ensure(args)
    if args.json:
        fields = {name: str(value) if isinstance(value, Path) else value
                  for name, value in dataclasses.asdict(built).items()}
        print(json.dumps(fields, indent=2))
    else:
        print(f"ready: QEMU {built.qemu_version}, Linux "
              f"{built.kernel_release}; next: ./lab run")
    return 0
