# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure, and print ratios to a baseline measured in the same run."""

import argparse
import importlib.util
import json
import types
from typing import Any

from lablib import (kernel_needs, pair, paths, setup, state, topology,
                    ui)
from lablib.ui import LabError

BENCH = paths.REPO / "bench"


def names() -> list[str]:
    """The benches of this checkout: the modules of bench/."""
    return sorted(path.stem for path in BENCH.glob("*.py"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of bench."""
    pair.add_arguments(parser)
    parser.add_argument("--seconds", type=ui.whole_seconds, default=3, metavar="S",
                        help="length of each sample of bench netdev "
                             "(default: %(default)s)")
    parser.add_argument("--cpus", type=int, choices=range(1, 9), metavar="N",
                        help="vCPUs of each VM of bench netdev (default: what "
                             "the host can run at once, at most the "
                             "topology's)")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"which: {', '.join(names())} (default: all)")


def _load(name: str) -> types.ModuleType:
    if name not in names():
        raise LabError(f"there is no bench '{name}'; there are: "
                       f"{', '.join(names())}")
    spec = importlib.util.spec_from_file_location(f"bench_{name}",
                                                  BENCH / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _table(rows: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"{r['name']:<36}{r['value']:>12} {r['unit']:<7} "
        f"{r['ratio']:>7.3f} x {r['baseline']} ({r['baseline_value']} "
        f"{r['unit']})" for r in rows)


def _with_pair(args: argparse.Namespace, tp: topology.Topology, built: Any,
               benches: list[types.ModuleType], rows: list[dict[str, Any]]
               ) -> None:
    with pair.running(tp, pair.options_of(args, tp), built) as both:
        both.boot(args.timeout)
        both.form(args.timeout)
        for bench in benches:
            rows += bench.run(both)


def _chosen(args: argparse.Namespace) -> list[types.ModuleType]:
    """The benches to run: those named, or all that this kernel allows."""
    benches = []
    for name in args.names or names():
        bench = _load(name)
        if args.kernel_image and getattr(bench, "NEEDS_KERNEL_TREE", False):
            why = (f"bench {name} builds a module for the guests and needs a "
                   "kernel tree: pass --kernel-src DIR or nothing, not "
                   "--kernel-image")
            if args.names:
                raise LabError(why)
            ui.note(f"{why}; skipped")
        else:
            benches.append(bench)
    return benches


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    benches = _chosen(args)
    tp = topology.load_ntb(args.topology)
    # A bench brings up what it needs by itself, or shares a formed pair.
    sharing = [b for b in benches if getattr(b, "NEEDS_PAIR", False)]
    built = setup.ensure(args, patched=bool(sharing) and tp.patched)
    if sharing:
        kernel_needs.check(built, tp)
    state.claim().release()
    rows: list[dict[str, Any]] = []
    try:
        for bench in benches:
            if getattr(bench, "NEEDS_ARGUMENTS", False):
                bench.run(args, rows)
            elif bench not in sharing:
                rows += bench.run(built)
        if sharing:
            _with_pair(args, tp, built, sharing, rows)
    finally:
        # What was measured before something failed is kept, or the last run's
        path = state.write_result("bench", rows) if rows else None
    print(json.dumps(rows, indent=2) if args.json else _table(rows))
    if path and not args.json:
        print(f"results: {path}")
    return 0
