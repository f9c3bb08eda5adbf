# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the guest suites: pytest files that boot VMs."""

import ast
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from lablib import paths, testrunner

FOLDER = paths.REPO / "tests" / "guest"


def suites() -> dict[str, Path]:
    """The suites by name: tests/guest/test_first_light.py is first-light."""
    return {path.stem.removeprefix("test_").replace("_", "-"): path
            for path in sorted(FOLDER.glob("test_*.py"))}


def about(path: Path) -> str:
    """What a suite tests: the first line of its file's docstring."""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return (words or "").partition("\n")[0].removesuffix(".")


def wants_patches(path: Path) -> bool:
    """Whether tests of the suite @path run on the patched kernel."""
    return "patched_built" in path.read_text(encoding="utf-8")


def _collect(suite: testrunner.Suite, report: Path) -> None:
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("name", "?")
        bad = case.find("failure")
        if bad is None:
            bad = case.find("error")
        skipped = case.find("skipped")
        if bad is not None:
            lines = (bad.get("message") or "").splitlines()
            suite.add(name, testrunner.FAILED, lines[0] if lines else "")
        elif skipped is not None:
            suite.add(name, testrunner.SKIPPED, skipped.get("message") or "")
        else:
            suite.add(name, testrunner.PASSED)


def run(suite: testrunner.Suite, path: Path, options: list[str]) -> None:
    """
    Run one suite with Debian's pytest.

    @options are the launcher's options for setup; the tests find them in
    VNTB_LAB_OPTIONS, quoted as a shell would.
    """
    report = paths.ensure_dir(paths.RESULTS) / f"pytest-{suite.name}.xml"
    report.unlink(missing_ok=True)
    env = {"VNTB_LAB_OPTIONS": shlex.join(options),
           "PYTHONPATH": str(paths.REPO), "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONUNBUFFERED": "1"}
    status = testrunner.stream(
        ["/usr/bin/python3", "-m", "pytest", "-v", "-p", "no:cacheprovider",
         f"--junitxml={report}", path], lambda line: None, env=env,
        cwd=paths.REPO, log=f"pytest-{suite.name}.log")
    if report.is_file():
        _collect(suite, report)
    if status is None:
        suite.add(path.name, testrunner.FAILED, "hung and was ended")
    elif status and not suite.count(testrunner.FAILED):
        suite.add(path.name, testrunner.FAILED, f"pytest: status {status}")
