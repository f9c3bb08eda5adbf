# SPDX-License-Identifier: GPL-2.0-or-later
"""window/rc, window/ep: copies through a memory window against own memory."""

from typing import Any

from lablib import ui, window
from lablib.pair import Pair

NEEDS_PAIR = True
NEEDS_KERNEL_TREE = True
# Bytes to copy each way; the best pass over the window counts.
TOTAL = 512 << 20


def _row(name: str, rates: window.Rates) -> dict[str, Any]:
    # A copy is a load and a store: the slower of the two is what it gets.
    pairs = [("store", rates.store_window, rates.store_own),
             ("load", rates.load_window, rates.load_own)]
    kind, value, own = min(pairs, key=lambda p: p[1] / p[2])
    return {"name": name, "value": round(value / 1e6, 1), "unit": "MB/s",
            "baseline": "own memory", "baseline_value": round(own / 1e6, 1),
            "ratio": round(value / own, 3), "better": "higher",
            "access": kind}


def run(both: Pair) -> list[dict[str, Any]]:
    """Measure both ends; returns their rows."""
    rows = []
    with window.quiet(both):
        for vm in (both.rc, both.ep):
            with ui.step(f"window of {vm.role}"):
                rates = window.copy(vm, both.built, TOTAL)
            rows.append(_row(f"window/{vm.role}", rates))
    return rows
