# SPDX-License-Identifier: GPL-2.0-or-later
"""edma/*: what the endpoint's DMA engine moves, against memcpy()."""

from typing import Any

from lablib import bench_program, ui
from lablib.setup import Built

_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"))


def _size(text: str) -> str:
    size = int(text)
    scale, unit = next(u for u in _UNITS if size >= u[0])
    return f"{size // scale}{unit}"


def _row(channels: str, block: str, direction: str, total: str, ns: str,
         memcpy_ns: str) -> dict[str, Any]:
    # Write channels move from the endpoint to the host.
    suffix = "" if direction == "write" else f"/{direction}"
    return {"name": f"edma/{channels}ch/{_size(block)}{suffix}",
            "value": round(int(total) / int(ns), 2), "unit": "GB/s",
            "baseline": "memcpy",
            "baseline_value": round(int(total) / int(memcpy_ns), 2),
            "ratio": round(int(memcpy_ns) / int(ns), 3), "better": "higher"}


def run(built: Built) -> list[dict[str, Any]]:
    """Measure the engine and memcpy(), in turns; returns the rows."""
    with ui.step("DMA engine"):
        lines = bench_program.run("edma-bench", [], built)
    return [_row(*words) for words in lines]
