"""Feeds hostile requests to confined processes and watches: answers, time, a canary file, a silent port."""

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from actors.solver.wire import HEADER_BYTES, Final, Task, Warm, decode_reply, frame
from validation.result import ROOT

from ._solver_hostile import Hostile

BUDGET_MS = 400
GRACE_S = 0.5


class Loop:
    """One confined process that serves many tasks."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-m", "validation.benchmarks._solver_loop", str(theirs.fileno()), str(os.getpid())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=ROOT,
        )
        theirs.close()
        warm = self._receive(time.monotonic() + 60)
        self.sandbox = warm.sandbox if isinstance(warm, Warm) else "none"

    def ask(self, task: bytes) -> Final | None:
        """The answer; None when there is none in time or the process ended."""
        deadline = time.monotonic() + BUDGET_MS / 1000 + GRACE_S
        try:
            self._socket.sendall(task)
            while time.monotonic() < deadline:
                message = self._receive(deadline)
                if message is None or isinstance(message, Final):
                    return message
        except (BrokenPipeError, ConnectionResetError):
            pass
        return None

    def close(self) -> None:
        """Kill it and wait until it is gone."""
        self._socket.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _receive(self, deadline: float) -> Any:
        header = self._exactly(HEADER_BYTES, deadline)
        body = None if header is None else self._exactly(int.from_bytes(header, "big"), deadline)
        return None if body is None else decode_reply(body)

    def _exactly(self, count: int, deadline: float) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                return None
            part = self._socket.recv(count - len(parts))
            if not part:
                return None
            parts += part
        return bytes(parts)


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


def fuzz(count: int, seed: int, scripts: list[str], progress: Callable[[str], None]) -> dict[str, Any]:
    """Feed `count` hostile requests; what came back, by kind."""
    watch = Watch()
    hostile = Hostile(seed, str(watch.canary), watch.port, scripts)
    loop = Loop()
    sandbox = loop.sandbox
    ends: Counter[str] = Counter()
    internal: Counter[str] = Counter()
    died: Counter[str] = Counter()
    slowest = 0.0
    for number in range(count):
        kind, action, params = hostile.request()
        started = time.monotonic()
        end, text = _one(loop, action, params)
        slowest = max(slowest, time.monotonic() - started)
        ends[end] += 1
        if end == "internal":
            internal[f"{kind}: {text}"[:160]] += 1
        if end == "process ended":
            died[kind] += 1
        if os.environ.get("SHOW") and end in {"process ended", "internal"}:
            progress(f"{kind} {end} {text} {params!r}"[:1500])
        if end in {"ended at the deadline", "process ended"}:
            loop.close()
            loop = Loop()
        if (number + 1) % max(1, count // 10) == 0:
            progress(f"hostile: {number + 1} of {count}, {dict(ends)}")
    loop.close()
    return {
        "n": count,
        "seed": seed,
        "sandbox": sandbox,
        "ends": dict(ends),
        "internal": dict(internal),
        "process_ended_by_kind": dict(died),
        "slowest_s": round(slowest, 2),
        "touched": watch.touched(),
    }


def _one(loop: Loop, action: str, params: dict[str, Any]) -> tuple[str, str]:
    try:
        task = frame(
            Task(
                action=action,
                params={name: value for name, value in params.items() if value is not None},
                budget_ms=BUDGET_MS,
            )
        )
    except (OverflowError, UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
        return "refused before sending", ""
    final = loop.ask(task)
    if final is None:
        return ("process ended" if loop.process.poll() is not None else "ended at the deadline"), ""
    if final.failure is not None:
        return ("internal" if final.failure.code == "internal" else "fault named"), final.failure.message
    return "answered", ""
