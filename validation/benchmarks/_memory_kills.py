"""Killing a memory in mid-write again and again, and what is found afterwards."""

import contextlib
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import apsw

from validation.result import ROOT

from ._memory import open_memory
from ._memory_child import TOLD_PER_WRITE

START_MAX_S = 60.0
RUN_MAX_S = 0.3
_SAID = re.compile(r"(try|done) (\d+)")


def kill_rounds(kind: str, rounds: int, *, seed: int, progress: Any = None) -> dict[str, Any]:
    """Start a writer on one database, kill it at a random moment, look at the file; `rounds` times over.

    Returns:
        `lost`: acknowledged writes that are not there; `doubled`: facts that are there twice; `half`: writes of
        which only a part is there; `unhealthy`: rounds after which the file did not pass its checks.
    """
    rng = random.Random(seed)
    result: dict[str, Any] = {"kind": kind, "kills": 0, "acknowledged": 0}
    result |= dict.fromkeys(("lost", "doubled", "half", "unhealthy", "slow to recover"), 0)
    with tempfile.TemporaryDirectory(prefix="chrysalis-kill-") as home, _Writers() as writers:
        path = Path(home) / "m.db"
        promised: set[tuple[str, int]] = set()
        tried: set[tuple[str, int]] = set()
        for turn in range(rounds):
            lines = writers.run_and_kill(path, kind, f"t{turn}", rng.uniform(0.0, RUN_MAX_S))
            said = [match for line in lines if (match := _SAID.fullmatch(line))]
            promised |= {(f"t{turn}", int(match[2])) for match in said if match[1] == "done"}
            tried |= {(f"t{turn}", int(match[2])) for match in said}
            result["kills"] += 1
            _judge(path, kind, promised, tried, result)
            if progress and turn % 25 == 24:
                progress(f"{kind}: {turn + 1} of {rounds} kills")
        result["acknowledged"] = len(promised)
        with open_memory(path, choice="hash:64", remember=False) as memory:
            memory.settle()
            found = memory.call("memory.recall", query="value 1", k=3)
            result["recalls at the end"] = bool(found.data.nodes)
    return result


class _Writers:
    """The server of writers: one after the other, each killed at a moment of ours."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "validation.benchmarks._memory_child"]
        self._server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()

    def run_and_kill(self, path: Path, kind: str, turn: str, after_s: float) -> list[str]:
        """Everything that the writer said until it was killed, `after_s` after it was ready."""
        assert self._server.stdin is not None
        self._server.stdin.write(f"{path} {kind} {turn}\n".encode())
        held = self._read(b"", b"ready\n", time.monotonic() + START_MAX_S)
        held = self._read(held, b"gone\n", time.monotonic() + after_s)
        pid = int(held.split(b"pid ", 1)[1].split(b"\n", 1)[0])
        os.kill(pid, signal.SIGKILL)
        return self._read(held, b"gone\n", time.monotonic() + START_MAX_S).decode().splitlines()

    def _read(self, held: bytes, until: bytes, deadline: float) -> bytes:
        assert self._server.stdout is not None
        while until not in held and (left := deadline - time.monotonic()) > 0:
            if select.select([self._server.stdout], [], [], left)[0]:
                held += self._server.stdout.read(65_536)
        return held


def _judge(path: Path, kind: str, promised: set[Any], tried: set[Any], result: dict[str, Any]) -> None:
    """Open the file as the next process would, and compare with what was promised."""
    begun = time.monotonic()
    try:
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                result["unhealthy"] += 1
                return
            if kind == "update":
                found = {row[0] for row in connection.execute("SELECT text FROM example")}
                requests = {
                    row[0] for row in connection.execute("SELECT id FROM request WHERE action = 'memory.update'")
                }
                result["lost"] += sum(f"{turn}-{number}" not in requests for turn, number in promised)
                result["half"] += sum(f"{turn}-{number}" in requests and not found for turn, number in tried)
                return
            counts: dict[str, int] = {}
            rows = connection.execute(
                "SELECT s.norm, count(*) FROM edge e JOIN node s ON s.id = e.subject "
                "WHERE e.invalidated_ns IS NULL GROUP BY s.norm"
            )
            counts.update(rows)
    except apsw.Error:
        result["unhealthy"] += 1
        return
    for turn, number in tried:
        there = [counts.get(f"{turn} {number} {i}", 0) for i in range(TOLD_PER_WRITE)]
        result["doubled"] += sum(n > 1 for n in there)
        if (turn, number) in promised:
            result["lost"] += there.count(0)
        elif 0 < sum(there) < TOLD_PER_WRITE:
            result["half"] += 1
    result["slow to recover"] += time.monotonic() - begun > 5
