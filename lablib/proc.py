# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the tools that do the work, with their output in a log file."""

import collections
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Callable, Mapping, Optional, Sequence

from lablib import paths, ui

# Lines of output kept to find the reason of a failure in.
_TAIL = 60
# How long an interrupted tool gets to clean up, in seconds.
_GRACE = 20.0

Watch = Callable[[str], Optional[str]]


class ToolFailed(ui.LabError):
    """A tool ended with an error; @tail holds the end of its output."""

    def __init__(self, text: str, tail: Sequence[str]) -> None:
        super().__init__(text)
        self.tail = list(tail)

    def said(self, pattern: str) -> bool:
        """Does the end of the output match the regular expression?"""
        return any(re.search(pattern, line) for line in self.tail)


def ninja_progress(line: str) -> Optional[str]:
    """Watch ninja: "[12/345] Compiling ..." gives "12/345"."""
    match = re.match(r"\[(\d+/\d+)\]", line)
    return match.group(1) if match else None


class CountProgress:
    """Watch kbuild: counts what it compiles and links."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, line: str) -> Optional[str]:
        if not re.match(r"  (CC|AS|AR|LD)\b", line):
            return None
        self.count += 1
        return f"{self.count} files"


def _reason(tail: Sequence[str]) -> str:
    """The line that says why: a compiler's first error, or the last one."""
    for pattern, lines in (
            (r"^\S+:\d+:(\d+:)? (?!note|warning|In )|undefined reference",
             tail),
            (r"\b([Ee]rror|ERROR|E:|fatal|[Cc]annot|No such|No rule)",
             list(reversed(tail)))):
        for line in lines:
            # ninja names all files of the rule that failed.
            if re.search(pattern, line) and not line.startswith("FAILED:"):
                return line.strip()[:300]
    last = [line for line in tail if "Leaving directory" not in line]
    return last[-1].strip()[:300] if last else "no output"


def _end_group(process: "subprocess.Popen[str]") -> None:
    """End a tool and its children: first kindly, then for sure."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sig)
        except (ProcessLookupError, PermissionError):
            pass
        try:
            process.wait(_GRACE)
            return
        except subprocess.TimeoutExpired:
            continue


def run(argv: Sequence[object], log: str, *, cwd: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        step: Optional[ui.Step] = None, watch: Optional[Watch] = None,
        what: Optional[str] = None) -> list[str]:
    """
    Run @argv with its output in build/logs/@log; returns the last lines.

    @env is added to the environment.  @watch sees each line of output and may
    turn it into the detail that @step shows.  @what names the tool in the
    error.  Raises ToolFailed when the tool does.
    """
    words = [os.fspath(a) if isinstance(a, Path) else str(a) for a in argv]
    if shutil.which(words[0]) is None:
        raise ui.LabError(f"{words[0]} is missing; `./lab setup` installs it")
    path = paths.ensure_dir(paths.LOGS) / log
    full_env = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
    tail: collections.deque[str] = collections.deque(maxlen=_TAIL)
    with open(path, "a", encoding="utf-8") as out:
        out.write(f"$ {' '.join(words)}\n")
        out.flush()
        process = subprocess.Popen(
            words, cwd=cwd, env=full_env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", process_group=0)
        try:
            assert process.stdout
            for line in process.stdout:
                out.write(line)
                tail.append(line.rstrip("\n"))
                detail = watch(line) if watch else None
                if step and detail:
                    step.update(detail)
            status = process.wait()
        except BaseException:
            _end_group(process)
            raise
    if status == 0:
        return list(tail)
    name = what or Path(words[0]).name
    if any("No space left on device" in line for line in tail):
        raise ToolFailed(f"{name}: the disk is full; make room and run this "
                         f"again (log: {path})", tail)
    ended = (f"was ended by signal {-status}" if status < 0
             else f"failed: {_reason(list(tail))}")
    raise ToolFailed(f"{name} {ended} (log: {path})", tail)


def start_log(log: str) -> None:
    """Empty build/logs/@log before the first tool writes to it."""
    (paths.ensure_dir(paths.LOGS) / log).write_text("")


def output(argv: Sequence[object]) -> str:
    """The standard output of a quick tool; empty when it fails."""
    try:
        return subprocess.run([str(a) for a in argv], capture_output=True,
                              text=True, check=False,
                              stdin=subprocess.DEVNULL).stdout
    except FileNotFoundError:
        return ""
