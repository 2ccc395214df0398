"""The processes of a launch: started, found again whatever they did, signalled, reaped.

A wrapper may fork, change its session and leave its child to init; the mark in the environment stays on all of
them. Nothing here asks `kill(pid, 0)`, which says alive to a zombie (lemonade 2298).
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from .command import MARK, Launch

OOM_SCORE_ADJ: Final = 700
CLOSE_WAIT_S: Final = 0.2
PR_SET_CHILD_SUBREAPER: Final = 36
SHIM: Final = str(Path(__file__).with_name("launch.py"))
READ_BYTES: Final = 65_536


class Seen(Struct, frozen=True):
    """A process as /proc tells it; `start` in clock ticks since boot makes a pid unique."""

    pid: int
    state: str
    parent: int
    start: int


def look(proc: Path, pid: int) -> Seen | None:
    """One process, None when there is none."""
    try:
        fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return Seen(pid, fields[0], int(fields[1]), int(fields[19])) if len(fields) > 19 else None  # noqa: PLR2004


def everybody(proc: Path) -> Iterator[Seen]:
    """Every process of this user."""
    uid = os.getuid()
    for entry in os.scandir(proc):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == uid and (seen := look(proc, int(entry.name))):
                    yield seen


def marked(proc: Path, mark: str) -> list[Seen]:
    """The living processes whose environment carries this mark (a launch's, or the start of all of a guard's)."""
    wanted = f"{MARK}={mark}".encode()
    return [seen for seen in everybody(proc) if seen.state not in "ZX" and _carries(proc, seen, wanted)]


def _carries(proc: Path, seen: Seen, wanted: bytes) -> bool:
    if seen.state == "D":
        return False  # reading its environment could block as well; it is known by pid and start
    try:
        environment = (proc / str(seen.pid) / "environ").read_bytes()
    except OSError:
        return False
    return any(entry.startswith(wanted) for entry in environment.split(b"\0"))


def command_line(proc: Path, pid: int) -> list[str]:
    """The arguments of a process; empty when it has none or is gone."""
    try:
        raw = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [part.decode("utf-8", "replace") for part in raw.rstrip(b"\0").split(b"\0")] if raw else []


def send(pids: Iterable[int], number: int) -> None:
    """Signal processes; one that is gone is no error."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def become_subreaper() -> bool:
    """Be the parent that orphaned descendants are given to, so that they can be waited for."""
    return ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


class Child:
    """One running launch: the process we started and whatever it made of itself.

    Must be made on the loop thread (see launch.py). `feed` gets its output; it is called from the loop.
    """

    def __init__(self, launch: Launch, proc: Path, prefix: list[str], feed: Callable[[bytes], None]) -> None:
        self.launch, self._proc, self._feed = launch, proc, feed
        shim = [sys.executable, "-I", "-S", SHIM, str(os.getpid()), str(OOM_SCORE_ADJ)]
        self._popen = subprocess.Popen(
            [*shim, *prefix, *launch.argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=launch.environment,
            start_new_session=True,
        )
        assert self._popen.stdout is not None
        self._output = self._popen.stdout
        os.set_blocking(self._output.fileno(), False)
        self.pid = self._popen.pid
        self.pidfd = os.pidfd_open(self.pid)
        self.known = {self.pid: self._start(self.pid)}

    def _start(self, pid: int) -> int:
        seen = look(self._proc, pid)
        return seen.start if seen else -1

    @property
    def output_fd(self) -> int:
        """What to watch for output."""
        return self._output.fileno()

    @property
    def mark(self) -> str:
        """The mark of this launch."""
        return self.launch.environment[MARK]

    def read_output(self) -> bool:
        """Pass on what was written; False at its end."""
        try:
            data = os.read(self._output.fileno(), READ_BYTES)
        except BlockingIOError:
            return True
        if data:
            self._feed(data)
        return bool(data)

    def drain(self) -> None:
        """Pass on what is left of its output."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output.fileno(), READ_BYTES):
                self._feed(data)

    def members(self, *, search: bool = True) -> list[Seen]:
        """Every living process of this launch; without `search` only those that a search has found before.

        A search reads the environment of each process of this user: about 0.1 ms a process.
        """
        self._reap()
        found = {seen.pid: seen for seen in marked(self._proc, self.mark)} if search else {}
        for pid, start in self.known.items():
            seen = look(self._proc, pid)
            if seen and seen.start == start and seen.state not in "ZX":
                found.setdefault(pid, seen)
        self.known |= {seen.pid: seen.start for seen in found.values()}
        return list(found.values())

    def exit_code(self) -> int | None:
        """How the process that we started ended; None while it runs."""
        return self._popen.poll()

    def send(self, number: int) -> None:
        """Signal every process of the launch; stopped ones are woken, else TERM would not reach them."""
        pids = [seen.pid for seen in self.members()]
        send(pids, number)
        if number == signal.SIGTERM:
            send(pids, signal.SIGCONT)

    def adopt(self) -> bool:
        """The first process is gone but others of the launch live: watch the eldest from now on."""
        others = sorted(self.members(), key=lambda seen: (seen.start, seen.pid))
        if not others:
            return False
        os.close(self.pidfd)
        try:
            self.pid, self.pidfd = others[0].pid, os.pidfd_open(others[0].pid)
        except ProcessLookupError:
            self.pidfd = os.open(os.devnull, os.O_RDONLY)
            return False
        return True

    def _reap(self) -> None:
        """Wait for adopted descendants that have ended."""
        self._popen.poll()
        me = os.getpid()
        for pid in [pid for pid in self.known if pid != self._popen.pid]:
            seen = look(self._proc, pid)
            if seen and seen.state == "Z" and seen.parent == me:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def close(self) -> None:
        """Let go of its descriptors; one that was just killed is waited for, one that survives KILL is not."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(CLOSE_WAIT_S)
        self._output.close()
        os.close(self.pidfd)
