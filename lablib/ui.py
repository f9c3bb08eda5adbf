# SPDX-License-Identifier: GPL-2.0-or-later
"""What the launcher says to a person: progress, notes and errors."""

import argparse
import contextlib
import re
import sys
import threading
import time
from typing import Iterator, Optional

# How often a long step shows that it is alive, in seconds: on a terminal in
# place, elsewhere with a line.
_TICK = 0.2
_PLAIN_PERIOD = 30.0
# A brief step that ends before this many seconds is not worth a line.
_BRIEF = 1.5


class LabError(Exception):
    """
    Something the user can mend.  The text is one clear line: what is wrong
    and what to do about it.
    """


def _elapsed(start: float) -> str:
    seconds = time.monotonic() - start
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


class Step:
    """A step that is under way; update() says how far it is."""

    def __init__(self, title: str, brief: bool = False) -> None:
        self.title = title
        self.brief = brief
        self.detail = ""
        self.start = time.monotonic()
        self.told = self.start

    def update(self, detail: str) -> None:
        """Show @detail beside the title, e.g. "120/800"."""
        self.detail = detail

    def line(self) -> str:
        """The step as one line of text."""
        detail = f" {self.detail}" if self.detail else ""
        return f"{self.title}...{detail} ({_elapsed(self.start)})"


class _Screen:
    """
    The one owner of stderr.  Steps may nest; the innermost is shown.  Any
    thread may write.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.steps: list[Step] = []
        self.painted = False
        self.ticker: Optional[threading.Thread] = None
        self.stop = threading.Event()

    def tty(self) -> bool:
        return sys.stderr.isatty()

    def _wipe(self) -> None:
        if self.painted:
            sys.stderr.write("\r\033[K")
            self.painted = False

    def _paint(self) -> None:
        if self.steps and self.tty():
            sys.stderr.write("\r\033[K" + self.steps[-1].line()[:118])
            sys.stderr.flush()
            self.painted = True

    def say(self, text: str) -> None:
        with self.lock:
            self._wipe()
            sys.stderr.write(text + "\n")
            self._paint()
            sys.stderr.flush()

    def push(self, step: Step) -> None:
        if not self.tty() and not step.brief:
            self.say(f"{step.title}...")
        with self.lock:
            self.steps.append(step)
            self._paint()
            if self.ticker is None:
                self.stop.clear()
                self.ticker = threading.Thread(target=self._tick, daemon=True)
                self.ticker.start()

    def pop(self, step: Step, ending: str) -> None:
        with self.lock:
            self.steps.remove(step)
            ticker = None
            if not self.steps:
                ticker, self.ticker = self.ticker, None
                self.stop.set()
        if ticker:
            ticker.join()
        short = step.brief and time.monotonic() - step.start < _BRIEF
        if short and ending == "done":
            with self.lock:
                self._wipe()
                self._paint()
                sys.stderr.flush()
        else:
            self.say(f"{step.title}: {ending} ({_elapsed(step.start)})")

    def _tick(self) -> None:
        while not self.stop.wait(_TICK):
            line = None
            with self.lock:
                if self.tty():
                    self._paint()
                elif self.steps:
                    step, now = self.steps[-1], time.monotonic()
                    if now - step.told >= _PLAIN_PERIOD:
                        step.told, line = now, step.line()
            if line:
                self.say(f"  {line}")


_screen = _Screen()


@contextlib.contextmanager
def step(title: str, brief: bool = False) -> Iterator[Step]:
    """
    Show that @title is under way, with the time it has taken so far.

    The step ends as "done", or as "failed" when the block raises.  A @brief
    step leaves no line behind when there was next to nothing to do.
    """
    current = Step(title, brief)
    _screen.push(current)
    try:
        yield current
    except BaseException:
        _screen.pop(current, "failed")
        raise
    _screen.pop(current, "done")


def note(text: str) -> None:
    """Tell the user something, one line, on stderr."""
    _screen.say(text)


def warn(text: str) -> None:
    """Tell the user something that may need attention."""
    _screen.say(f"lab: warning: {text}")


def error(text: str) -> None:
    """Print the closing line of a command that failed."""
    _screen.say(f"lab: error: {text}")


def whole_seconds(text: str) -> int:
    """The argument of an option: a length of time in whole seconds."""
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds "
                                         "from 1 to 9999")
    return int(text)


def time_limit(text: str) -> float:
    """The argument of an option: a limit in seconds, a day at most."""
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]+)?", text) or \
            not 0 < float(text) <= 86400:
        raise argparse.ArgumentTypeError(f"'{text}' is no time limit: more "
                                         "than 0, up to 86400 seconds")
    return float(text)
