"""Hostile requests to single-use workers, and a watch over them: answers, time, a canary file, a silent port."""

import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec

from actors.solver.pool import Pool
from actors.solver.process import Ended, WorkerDied
from actors.solver.wire import Task, frame

from ._solver_hostile import Hostile

BUDGET_MS = 400
AT_ONCE = 2
WAIT_S = 60.0


class Watch:
    """A canary directory and a port on which nobody must call."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="canary"))
        self.canary = self.directory / "canary"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)

    @property
    def port(self) -> int:
        """The port."""
        return int(self.listener.getsockname()[1])

    def touched(self) -> list[str]:
        """What was touched; empty when all is well. Closes everything."""
        found = [path.name for path in self.directory.iterdir()]
        try:
            self.listener.accept()
            found.append("the port was called")
        except BlockingIOError:
            pass
        self.listener.close()
        for path in self.directory.iterdir():
            path.unlink()
        self.directory.rmdir()
        return found


class Tally:
    """How hostile requests ended."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.internal: Counter[str] = Counter()
        self.died: Counter[str] = Counter()
        self.sandboxes: Counter[str] = Counter()
        self.slowest_s = 0.0

    def count(self, kind: str, end: str, text: str, seconds: float) -> None:
        """Add one."""
        self.ends[end] += 1
        self.slowest_s = max(self.slowest_s, seconds)
        if end == "internal":
            self.internal[f"{kind}: {text}"[:160]] += 1
        if end == "process ended":
            self.died[kind] += 1


def fuzz(count: int, seed: int, scripts: list[str], progress: Callable[[str], None]) -> dict[str, Any]:
    """Feed `count` hostile requests, each to a worker of its own; what came back, by kind."""
    watch = Watch()
    tally = anyio.run(_feed, Hostile(seed, str(watch.canary), watch.port, scripts), count, progress)
    return {
        "n": count,
        "seed": seed,
        "sandbox": dict(tally.sandboxes),
        "ends": dict(tally.ends),
        "internal": dict(tally.internal),
        "process_ended_by_kind": dict(tally.died),
        "slowest_s": round(tally.slowest_s, 2),
        "touched": watch.touched(),
    }


async def _feed(hostile: Hostile, count: int, progress: Callable[[str], None]) -> Tally:
    tally = Tally()
    places = iter(range(count))

    async def work(pool: Pool) -> None:
        for number in places:
            kind, action, params = hostile.request()
            end, text, seconds = await _one(pool, tally, action, params)
            tally.count(kind, end, text, seconds)
            if end in {"process ended", "internal"}:
                progress(f"{kind} {end} {text} {params!r}"[:1000])
            if (number + 1) % max(1, count // 20) == 0:
                progress(f"hostile: {number + 1} of {count}, {dict(tally.ends)}")

    async with anyio.create_task_group() as tasks:
        pool = Pool(tasks, at_work=AT_ONCE)
        pool.start()
        async with anyio.create_task_group() as clients:
            for _ in range(AT_ONCE):
                clients.start_soon(work, pool)
        await pool.close()
    return tally


async def _one(pool: Pool, tally: Tally, action: str, params: dict[str, Any]) -> tuple[str, str, float]:
    """How it ended, in which words, and the seconds from the task to that end."""
    given = {name: value for name, value in params.items() if value is not None}
    try:
        task = frame(Task(action=action, params=given, budget_ms=BUDGET_MS))
    except (OverflowError, UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
        return "refused before sending", "", 0.0
    async with pool.worker(WAIT_S) as worker:
        tally.sandboxes[worker.sandbox] += 1
        started = time.monotonic()
        try:
            end, text = _end(await worker.run(task, BUDGET_MS))
        except WorkerDied:
            end, text = "process ended", ""
        return end, text, time.monotonic() - started


def _end(ended: Ended) -> tuple[str, str]:
    if ended.timed_out:
        return "ended at the deadline", ""
    failure = ended.final.failure if ended.final else None
    if failure is None:
        return ("answered" if ended.final else "process ended after an interim answer"), ""
    return ("internal" if failure.code == "internal" else "fault named"), failure.message
