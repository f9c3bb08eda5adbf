# SPDX-License-Identifier: GPL-2.0-or-later
"""
Run the tests: lint, the qtests and one suite for each file in tests/guest
(--list explains each). The qtests with sanitizers run only when named.
"""

import argparse
import contextlib
import json
import sys
from typing import Optional

from lablib import (kernel_tree, paths, setup, state, test_guest,
                    test_lint, test_qtest, testrunner, ui)

_OWN = {
    "lint": "style of C, Python and shell, kernel drivers and patches",
    "qtest": "the models alone and two QEMUs over the cable, without guests",
}
# Run only when named; the end of the name is the sanitizer of the build.
_SANITIZED = {
    "qtest-asan": "the same with the address and undefined behaviour "
                  "sanitizers (only when named)",
    "qtest-tsan": "the same with the thread sanitizer (only when named)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this verb."""
    parser.add_argument("suites", nargs="*", metavar="SUITE",
                        help="the suites to run")
    parser.add_argument("--list", action="store_true",
                        help="print the suites and what each tests")


def _options(args: argparse.Namespace) -> list[str]:
    """The options for setup again, as words."""
    words = []
    for name in ("kernel_src", "kernel_image", "kernel_modules", "qemu_src",
                 "qemu_suite", "rc_qemu"):
        value = getattr(args, name)
        if value:
            option = f"--{name.replace('_', '-')}"
            path = value if isinstance(value, str) else value.resolve()
            words += [option, str(path)]
    for file in args.kernel_config:
        words += ["--kernel-config", str(file.resolve())]
    if args.kernel_debug:
        words.append("--kernel-debug")
    return words


def _run(name: str, args: argparse.Namespace,
         built: Optional[setup.Built]) -> testrunner.Suite:
    suite = testrunner.Suite(name)
    with testrunner.timed(suite):
        if name == "lint":
            test_lint.run(suite, built)
        elif name == "qtest":
            test_qtest.run(suite, built)
        elif name in _SANITIZED:
            sanitizer = name.removeprefix("qtest-")
            test_qtest.run(suite, setup.ensure(args, sanitizer))
        else:
            test_guest.run(suite, test_guest.suites()[name], _options(args))
    return suite


def _print_list() -> None:
    guest = {name: test_guest.about(path)
             for name, path in test_guest.suites().items()}
    for name, words in {**_OWN, **_SANITIZED, **guest}.items():
        print(f"{name:<14} {words}")


def main(args: argparse.Namespace) -> int:
    """Run the verb; returns the exit status."""
    default = [*_OWN, *test_guest.suites()]
    known = [*default, *_SANITIZED]
    if args.list:
        _print_list()
        return 0
    for name in args.suites:
        if name not in known:
            raise ui.LabError(f"no suite '{name}'; the suites are: "
                              f"{', '.join(known)}")
    lock = state.claim_tests()
    # With --json, stdout carries nothing but the result.
    with contextlib.ExitStack() as stack:
        if args.json:
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        chosen = args.suites or default
        guest = test_guest.suites()
        wanting = [name for name in chosen
                   if name in guest and test_guest.wants_patches(guest[name])]
        # A suite that says nothing while a kernel is built counts as hung.
        built = setup.ensure(args) if wanting != chosen else None
        if wanting:
            try:
                setup.ensure(args, patched=True)
            except kernel_tree.DoesNotApply as e:
                ui.note(f"{e}; tests of the patched kernel are skipped")
        status = testrunner.close([_run(name, args, built)
                                   for name in chosen])
    lock.release()
    if args.json:
        result = (paths.RESULTS / "test.json").read_text(encoding="utf-8")
        print(json.dumps(json.loads(result), indent=2))
    return status
