# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot both VMs, form the NTB (or bind the test) and leave them running."""

import argparse
import json

from lablib import (kernel_needs, pair, pci_endpoint, setup, state, topology,
                    traffic, ui)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of up."""
    pair.add_arguments(parser)
    parser.add_argument("--no-ntb", action="store_true",
                        help="boot only: leave configfs and the drivers to "
                             "you")


def _formed(args: argparse.Namespace, tp: topology.Topology) -> str:
    if args.no_ntb:
        return "nothing is configured"
    if tp.ep.address and tp.rc.address:
        return f"ep {tp.ep.address.ip}, rc {tp.rc.address.ip}"
    return f"rc has {pci_endpoint.DEVICE}"


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    tp = topology.load(args.topology)
    if args.no_ntb and tp.rc.qemu == "stock":
        raise ui.LabError(f"the RC of topology {tp.name} starts when the "
                          "endpoint has been configured: --no-ntb cannot be")
    built = setup.ensure(args, patched=tp.patched)
    if not args.no_ntb:
        kernel_needs.check(built, tp)
    with pair.running(tp, pair.options_of(args, tp), built, keep=True) as both:
        both.tell_gdb()
        both.boot(args.timeout)
        if not args.no_ntb:
            both.form(args.timeout)
            if tp.has_ntb:
                traffic.first_ping(both.rc, both.ep)
    if args.json:
        print(json.dumps({"ok": True, "topology": tp.name,
                          "sockets": both.st.sockets}, indent=2))
    else:
        print(f"{tp.name} is up ({_formed(args, tp)}); next: ./lab exec rc CMD, "
              "./lab console ep, ./lab down")
    ui.note(f"consoles: {state.LOGS}")
    return 0
