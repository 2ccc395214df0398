"""A command of ours in a terminal of its own: what its user sees, and a hand that acts when they see something."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

from msgspec import Struct

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PERCENT = re.compile(r"(\d+)%")


class Seen(Struct, frozen=True):
    """How a command ended and what was on the screen; a progress bar's states are lines of their own."""

    code: int
    seconds: float
    lines: list[str]

    @property
    def percents(self) -> list[int]:
        """Every state of the progress bar."""
        return [int(found) for line in self.lines for found in _PERCENT.findall(line)]

    @property
    def text(self) -> str:
        """All of it, white space folded: terminals break lines where they like."""
        return " ".join(" ".join(self.lines).split())

    def brief(self) -> dict[str, object]:
        """For a result file: code, seconds, first and last line, and how many states of progress were shown."""
        first, last = (self.lines[0], self.lines[-1]) if self.lines else ("", "")
        shown = len(set(self.percents))
        return {"exit": self.code, "seconds": self.seconds, "first": first, "last": last, "progress states": shown}


def percent(lines: list[str]) -> int:
    """The progress that the last line with a bar shows; -1 before there is one."""
    return next((int(found[-1]) for line in reversed(lines) if (found := _PERCENT.findall(line))), -1)


def type_in(
    environment: Mapping[str, str],
    *words: str,
    act: Callable[[list[str]], bool] = lambda _: True,
    timeout_s: float = 3_600.0,
) -> Seen:
    """Run `chrysalis WORDS` until it ends.

    Args:
        act: called with the lines so far, whenever there are more, until it returns True.
    """
    ours, theirs = pty.openpty()
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "launcher.cli", *words],
        env={**environment, "TERM": "xterm", "COLUMNS": "160"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    raw, acted = b"", False
    try:
        while time.monotonic() - started < timeout_s:
            if select.select([ours], [], [], 0.5)[0]:
                try:
                    raw += os.read(ours, 1 << 16)
                except OSError:  # a terminal whose last writer has gone ends so
                    break
                acted = acted or act(_lines(raw))
        code = process.wait(10)
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()
    return Seen(code, round(time.monotonic() - started, 2), _lines(raw))


def _lines(raw: bytes) -> list[str]:
    plain = _CONTROL.sub("", raw.decode("utf-8", "replace"))
    return [line.rstrip() for line in re.split(r"[\r\n]+", plain) if line.strip()]
