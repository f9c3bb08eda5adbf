# SPDX-License-Identifier: GPL-2.0-or-later
"""Run our qtests and read their TAP."""

import os
import re
from typing import Optional

from lablib import paths, setup, testrunner

# A test's name is a path. A failed assertion is reported without a number.
_RESULT = re.compile(r"\s*(not )?ok (?:\d+ )?(?:- )?(/\S+)\s*"
                     r"(?:# *(SKIP)\b)?[ -]*(.*)$", re.IGNORECASE)

_TSAN_SUPPRESSIONS = paths.REPO / "tests" / "tsan.supp"


class Tap:
    """Reads one program's TAP into a suite."""

    def __init__(self, program: str, suite: testrunner.Suite) -> None:
        self.program = program
        self.log = f"qtest-{program}.log"
        self.suite = suite
        self.planned: Optional[int] = None
        self.seen = 0

    def line(self, line: str) -> None:
        """Read one line."""
        plan = re.match(r"1\.\.(\d+)", line)
        if plan:
            self.planned = int(plan.group(1))
        match = _RESULT.match(line)
        if not match:
            return
        self.seen += 1
        failed, name, directive, reason = match.groups()
        name = f"{self.program}{name}"
        if failed:
            self.suite.add(name, testrunner.FAILED, reason)
        elif directive:
            self.suite.add(name, testrunner.SKIPPED, reason)
        else:
            self.suite.add(name, testrunner.PASSED)

    def end(self, status: Optional[int]) -> None:
        """The program ended: did it do all that it had planned?"""
        reason = ""
        if status is None:
            reason = f"no output for {testrunner.HANG_S:.0f} s, ended"
        elif status < 0:
            reason = f"ended by signal {-status}"
        elif self.planned is None or self.seen < self.planned:
            reason = f"ended after {self.seen} of {self.planned or '?'} tests"
        elif status:
            reason = f"exit status {status}"
        counted = any(t.status == testrunner.FAILED and
                      t.name.startswith(f"{self.program}/")
                      for t in self.suite.tests)
        if reason and not counted:
            self.suite.add(self.program, testrunner.FAILED, reason)
            print(f"not ok - {self.program}: {reason}", flush=True)
        if reason:
            print(f"# log: {paths.LOGS / self.log}", flush=True)


def environment(built: setup.Built) -> dict[str, str]:
    """What a program that drives QEMU by qtest looks for."""
    return {
        "QTEST_QEMU_BINARY": str(built.qemu),
        "G_TEST_SRCDIR": str(built.qemu_tree / "tests" / "qtest"),
        "G_TEST_BUILDDIR": str(built.qemu_build / "tests" / "qtest"),
        "PYTHON": "/usr/bin/python3",
    }


def run(suite: testrunner.Suite, built: setup.Built) -> None:
    """Run each qtest as QEMU's own `meson test` does."""
    env = {
        **environment(built),
        "MALLOC_PERTURB_": "165",
        # QEMU keeps allocations until it exits: leaks are not reported.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        # A race ends the program that has it. In the child of a fork QEMU
        # starts its RCU thread anew.
        "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0:"
                        f"suppressions={_TSAN_SUPPRESSIONS}",
        **{name: value for name, value in os.environ.items()
           if name.startswith(("ASAN_", "UBSAN_", "TSAN_"))},
    }
    for program in sorted(p for p in built.qtests.iterdir()
                          if p.name in built.qtest_names):
        print(f"# {program.name}", flush=True)
        tap = Tap(program.name, suite)
        tap.end(testrunner.stream([program, "--tap", "-k"], tap.line, env=env,
                                  cwd=built.qemu_build, log=tap.log))
