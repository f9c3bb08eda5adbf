# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the launcher keeps things."""

import os
from pathlib import Path

# The checkout this launcher belongs to.
REPO = Path(__file__).resolve().parent.parent


def _cache() -> Path:
    own = os.environ.get("VNTB_LAB_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base).absolute() / "vntb-lab"


# Sources, downloads and builds that every checkout of this user shares.
CACHE = _cache()

# What belongs to this checkout alone; git ignores it.
BUILD = REPO / "build"
RESULTS = BUILD / "results"
LOGS = BUILD / "logs"


def ensure_dir(path: Path) -> Path:
    """Create @path and its parents when missing; returns it."""
    path.mkdir(parents=True, exist_ok=True)
    return path
