# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a program of bench/, which measures machines without a guest."""

import os
import subprocess

from lablib import paths, setup, test_qtest
from lablib.ui import LabError


def run(name: str, args: list[str], built: setup.Built) -> list[list[str]]:
    """The words of each line that the program @name prints as a result."""
    path = paths.ensure_dir(paths.LOGS) / f"bench-{name}.log"
    with open(path, "wb") as log:
        # The QEMUs die with the program.
        done = subprocess.run(
            [built.benches / name, *args], check=False, cwd=built.qemu_build,
            env={**os.environ, **test_qtest.environment(built)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        log.write(done.stdout)
    if done.returncode:
        raise LabError(f"{name} failed (log: {path})")
    # libqtest says in TAP's comments what it starts.
    return [line.split() for line in done.stdout.decode().splitlines()
            if not line.startswith("#")]
