# SPDX-License-Identifier: GPL-2.0-or-later
"""doorbell/*, msi/*: from a write at one end to the interrupt at the other."""

from typing import Any

from lablib import bench_program, ui
from lablib.setup import Built

# Rings of each path and direction.
SAMPLES = 20000


def _us(ns: str) -> float:
    return round(int(ns) / 1e3, 2)


def run(built: Built) -> list[dict[str, Any]]:
    """Measure the cable and ivshmem, in turns; returns the rows."""
    with ui.step("doorbells and MSIs"):
        lines = bench_program.run("doorbell-bench", [str(SAMPLES)], built)
    # direction -> path -> its figures
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, path, median, p99 in lines:
        found.setdefault(name, {})[path] = {"median": _us(median),
                                            "p99": _us(p99)}
    return [{"name": f"{name}/{figure}", "value": value, "unit": "us",
             "baseline": "ivshmem", "baseline_value": paths["ivshmem"][figure],
             "ratio": round(value / paths["ivshmem"][figure], 3),
             "better": "lower", "floor": paths["floor"][figure]}
            for name, paths in found.items()
            for figure, value in paths["cable"].items()]
