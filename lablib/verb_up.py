# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot both VMs, form the NTB and leave them running."""

import argparse
import json

from lablib import kernel_needs, pair, setup, state, topology, traffic, ui


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of up."""
    pair.add_arguments(parser)
    parser.add_argument("--no-ntb", action="store_true",
                        help="boot only: leave configfs and the drivers to "
                             "you")


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    tp = topology.load(args.topology)
    built = setup.ensure(args)
    if not args.no_ntb:
        kernel_needs.check(built, tp)
    with pair.running(tp, pair.options_of(args, tp), built, keep=True) as both:
        both.tell_gdb()
        both.boot(args.timeout)
        if not args.no_ntb:
            both.form(args.timeout)
            traffic.first_ping(both.rc, both.ep)
    if args.json:
        print(json.dumps({"ok": True, "topology": tp.name,
                          "sockets": both.st.sockets}, indent=2))
    else:
        ntb = ("nothing is configured" if args.no_ntb else
               f"ep {tp.ep.address.ip}, rc {tp.rc.address.ip}")
        print(f"{tp.name} is up ({ntb}); next: ./lab exec rc CMD, "
              "./lab console ep, ./lab down")
    ui.note(f"consoles: {state.LOGS}")
    return 0
