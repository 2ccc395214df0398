"""What a guard leaves for its successor: which server ran, and whether one is wanted; and the ending of orphans.

An orphan is recognised by its mark, or by pid, start time, boot and command line together; a pid alone is never
believed.
"""

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import anyio
import msgspec
from msgspec import Struct

from .command import MARK_END
from .processes import command_line, look, marked, send
from .profiles import Profile

POLL_S: Final = 0.05
KILL_WAIT_S: Final = 5.0


class Record(Struct, frozen=True, kw_only=True):
    """The last launch; `wanted`: it was to run. `key` lets local clients in and is why the file is 0600."""

    boot: str
    pid: int
    start: int
    argv: list[str]
    url: str
    key: str
    profile: Profile
    wanted: bool
    override: bool = False


def boot_id(proc: Path) -> str:
    """Which start of the machine this is."""
    try:
        return (proc / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return ""


def save(path: Path, record: Record) -> None:
    """Write the record, readable by its owner only, whole or not at all."""
    partial = path.with_suffix(".tmp")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(record))
    partial.replace(path)


def load(path: Path) -> Record | None:
    """The last record; None when there is none or it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None


def orphans(proc: Path, mark: str, record: Record | None) -> list[int]:
    """Pids of what an earlier guard of this runtime directory left behind."""
    found = {seen.pid for seen in marked(proc, f"{mark}{MARK_END}")}
    if record and record.boot == boot_id(proc):
        seen = look(proc, record.pid)
        same = seen and seen.start == record.start and seen.state not in "ZX"
        if same and command_line(proc, record.pid)[-len(record.argv) :] == record.argv:
            found.add(record.pid)
    return sorted(found - {os.getpid()})


async def end(proc: Path, pids: Iterable[int], grace_s: float) -> list[int]:
    """End processes: TERM, grace, KILL; returns those that even KILL did not end."""
    given = list(pids)
    start = {pid: seen.start for pid in given if (seen := look(proc, pid))}
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, KILL_WAIT_S)):
        send(start, number)
        send(start, signal.SIGCONT)
        with anyio.move_on_after(wait_s):
            start = await _wait_gone(proc, start)
        start = _still(proc, start)
        if not start:
            break
    _reap(given)
    return sorted(start)


def _reap(pids: Iterable[int]) -> None:
    """Wait for those that a subreaper was given meanwhile."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


async def _wait_gone(proc: Path, start: dict[int, int]) -> dict[int, int]:
    """Wait until none is there; polled, since they are not our children and nothing tells of their end."""
    while left := _still(proc, start):
        await anyio.sleep(POLL_S)
        start = left
    return {}


def alive(proc: Path, pids: Iterable[int]) -> list[int]:
    """Those of the pids that are living processes."""
    return [pid for pid in pids if (seen := look(proc, pid)) and seen.state not in "ZX"]


def _still(proc: Path, start: dict[int, int]) -> dict[int, int]:
    return {pid: at for pid, at in start.items() if _same(proc, pid, at)}


def _same(proc: Path, pid: int, start: int) -> bool:
    seen = look(proc, pid)
    return seen is not None and seen.start == start and seen.state not in "ZX"
