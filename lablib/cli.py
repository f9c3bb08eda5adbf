# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: common options, verbs, and how a command ends."""

import argparse
import errno
import importlib
import os
import signal
import sys
import types

from lablib import paths, setup, ui

# Each verb is the module lablib.verb_NAME, imported when it is used.
VERBS = {
    "setup": "build QEMU, the guest kernel and the root file system",
    "run": "boot both VMs, form the NTB, send traffic, print a summary",
    "up": "boot both VMs, form the NTB and leave them running",
    "down": "power off the VMs",
    "status": "say what is running",
    "console": "attach to the console of a VM",
    "exec": "run a command in a VM",
    "test": "run the tests",
    "bench": "measure, and print ratios",
    "clean": "remove what was built",
}


def _common_options() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    setup.add_arguments(common)
    common.add_argument("--json", action="store_true",
                        help="print the result as JSON on stdout")
    return common


def _verb_list() -> str:
    width = max(len(name) for name in VERBS)
    return "\n".join(f"  {name:<{width}}  {text}"
                     for name, text in VERBS.items())


def _load(verb: str) -> types.ModuleType:
    name = f"lablib.verb_{verb}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name != name:
            raise
        raise ui.LabError(f"this checkout has no verb '{verb}' (no file "
                          f"lablib/verb_{verb}.py); update it") from e


def _parse(argv: list[str]) -> tuple[types.ModuleType, argparse.Namespace]:
    top = argparse.ArgumentParser(
        prog="lab", formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="./lab VERB [options]",
        description="Two virtual machines joined by a virtual PCIe cable.",
        epilog=f"verbs:\n{_verb_list()}\n\n"
               "`./lab VERB --help` tells about each.")
    top.add_argument("verb", nargs="?", metavar="VERB", help=argparse.SUPPRESS)
    if not argv or argv[0] in ("-h", "--help", "help"):
        top.print_help()
        raise SystemExit(0 if argv else 2)
    verb = argv[0]
    if verb not in VERBS:
        what = "option" if verb.startswith("-") else "verb"
        raise ui.LabError(f"no {what} '{verb}' here; the first word is one of: "
                          f"{', '.join(VERBS)}")
    module = _load(verb)
    parser = argparse.ArgumentParser(
        prog=f"lab {verb}", parents=[_common_options()],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=module.__doc__)
    module.add_arguments(parser)
    return module, parser.parse_args(argv[1:])


def _os_error_text(e: OSError) -> str:
    if e.errno == errno.ENOSPC:
        return (f"the disk is full{f' ({e.filename})' if e.filename else ''}; "
                "make room, `./lab clean --old` frees what was not used for "
                f"a month, `--all` the whole of {paths.CACHE}")
    if e.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (f"{e.filename or 'a file'}: {e.strerror}; the checkout and "
                f"{paths.CACHE} must be writable (VNTB_LAB_CACHE names "
                "another cache)")
    return f"{e.filename}: {e.strerror}" if e.filename else str(e)


def _terminate(_signum: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main(argv: list[str]) -> int:
    """Run one verb; returns the exit status of the process."""
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGHUP, _terminate)
    try:
        module, args = _parse(argv)
        return module.main(args)
    except ui.LabError as e:
        ui.error(str(e))
        return 1
    except BrokenPipeError:
        # Whoever read our output has gone, e.g. `./lab status | head -1`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as e:
        ui.error(_os_error_text(e))
        return 1
    except KeyboardInterrupt:
        ui.note("lab: interrupted")
        return 130
