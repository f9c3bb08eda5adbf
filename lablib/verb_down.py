# SPDX-License-Identifier: GPL-2.0-or-later
"""Power off the VMs."""

import argparse
import json

from lablib import state


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """down has no options of its own."""


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    current = state.load()
    ran: list[str] = []
    if current is not None:
        with state.signals_held():
            ran = current.end()
            current.forget()
    if args.json:
        print(json.dumps({"ok": True, "ended": ran}))
    else:
        print(f"ended {' and '.join(ran)}" if ran else "no lab was running")
    return 0
