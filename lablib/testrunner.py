# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of tests: collected over suites, printed, written to test.json."""

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable, Iterator, Mapping, Optional, Sequence

from lablib import cache, paths, ui

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# A test program that says nothing for this long hangs. Not a measure of
# anything: the slowest test is far below it.
HANG_S = 900.0


@dataclasses.dataclass(frozen=True)
class Test:
    """The outcome of one test."""
    name: str
    status: str
    detail: str = ""


@dataclasses.dataclass
class Suite:
    """The outcomes of one suite."""
    name: str
    tests: list[Test] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def add(self, name: str, status: str, detail: str = "") -> None:
        """Count one test."""
        self.tests.append(Test(name, status, detail))

    def count(self, status: str) -> int:
        """How many tests ended as @status."""
        return sum(test.status == status for test in self.tests)


@contextlib.contextmanager
def timed(suite: Suite) -> Iterator[None]:
    """Run a suite; an error of the lab itself is a failed test of it."""
    print(f"# suite {suite.name}", flush=True)
    start = time.monotonic()
    try:
        yield
    except (ui.LabError, OSError) as e:
        suite.add("suite", FAILED, str(e))
        print(f"not ok - {suite.name}: {e}", flush=True)
    suite.seconds = round(time.monotonic() - start, 1)
    if not suite.tests:
        suite.add("suite", FAILED, "no test ran")
        print(f"not ok - {suite.name}: no test ran", flush=True)


def stream(argv: Sequence[object], watch: Callable[[str], None], *,
           env: Optional[Mapping[str, str]] = None,
           cwd: Optional[Path] = None, log: str) -> Optional[int]:
    """
    Run a test program. Its stdout goes to @watch line by line and, but for
    TAP's comments, to ours; with its stderr it is also in build/logs/@log.
    stderr is kept apart because several QEMUs write to it at once.

    Returns the exit status (negative: signal), None when the program hung and
    was ended. Nothing of it is left running in its process group.
    """
    path = paths.ensure_dir(paths.LOGS) / log
    path.unlink(missing_ok=True)
    with open(path, "ab", buffering=0) as out:
        process = subprocess.Popen(
            [str(a) for a in argv], cwd=cwd, env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out,
            process_group=0, bufsize=0)
        try:
            assert process.stdout
            for line in _lines(process.stdout.fileno()):
                if line is None:
                    return None
                out.write(line.encode() + b"\n")
                if not line.startswith("#"):
                    print(line, flush=True)
                watch(line)
            return process.wait()
        finally:
            _end_group(process)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    for sig in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sig)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
            return


def _lines(fd: int) -> Iterator[Optional[str]]:
    """Lines read from @fd; None once nothing comes for HANG_S."""
    pending = b""
    while True:
        if not select.select([fd], [], [], HANG_S)[0]:
            yield None
            return
        chunk = os.read(fd, 65536)
        if not chunk:
            break
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").rstrip("\r")
    if pending:
        yield pending.decode(errors="replace")


def close(suites: list[Suite]) -> int:
    """Write test.json, print what failed and the closing line; exit status."""
    total = {status: sum(suite.count(status) for suite in suites)
             for status in (PASSED, FAILED, SKIPPED)}
    ok = total[FAILED] == 0 and total[PASSED] > 0
    record = {"ok": ok, **total,
              "suites": [{"name": s.name, "seconds": s.seconds,
                          **{status: s.count(status) for status in total},
                          "tests": [dataclasses.asdict(t) for t in s.tests]}
                         for s in suites]}
    cache.write_if_changed(paths.RESULTS / "test.json",
                           json.dumps(record, indent=2).encode() + b"\n")
    for suite in suites:
        for test in suite.tests:
            if test.status != PASSED:
                detail = f": {test.detail}" if test.detail else ""
                print(f"{test.status}: {suite.name}: {test.name}{detail}")
    line = f"{total[PASSED]} passed, {total[FAILED]} failed"
    if total[SKIPPED]:
        line += f", {total[SKIPPED]} skipped"
    print(line, flush=True)
    return 0 if ok else 1
