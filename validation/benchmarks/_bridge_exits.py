"""The ways in which a client goes away, and how long an MCP stdio server outlives each."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ._bridge_client import Bridge

GIVE_UP_S: Final = 5.0
_PARENT: Final = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen(sys.argv[1:])\n"
    "print(child.pid, file=sys.stderr, flush=True)\n"
    "time.sleep(600)\n"
)


def _eof(server: Bridge) -> None:
    server.stdin.close()


def _epipe(server: Bridge) -> None:
    server.stdout.close()


def _sigterm(server: Bridge) -> None:
    server.process.send_signal(signal.SIGTERM)


def _sigint(server: Bridge) -> None:
    server.process.send_signal(signal.SIGINT)


WAYS: Final[dict[str, Callable[[Bridge], None]]] = {
    "EOF": _eof,
    "EPIPE": _epipe,
    "SIGTERM": _sigterm,
    "SIGINT": _sigint,
}


def seconds_to_leave(run: Path, command: Sequence[str], way: str) -> float | None:
    """Seconds from the client's going to the server's end; None when it is still there after `GIVE_UP_S`."""
    if way == "parent gone":
        return _orphaned(run, command)
    with Bridge(run, command) as server:
        server.initialize()
        server.ask("ping")
        before = time.monotonic()
        WAYS[way](server)
        try:
            server.ended(GIVE_UP_S)
        except subprocess.TimeoutExpired:
            return None
        return time.monotonic() - before


def _orphaned(run: Path, command: Sequence[str]) -> float | None:
    """Its parent is killed while this process still holds the pipes."""
    with Bridge(run, [sys.executable, "-c", _PARENT, *command]) as parent:
        pid = int(parent.stderr_line())
        parent.initialize()
        pidfd = os.pidfd_open(pid)
        try:
            before = time.monotonic()
            parent.process.kill()
            if select.select([pidfd], [], [], GIVE_UP_S)[0]:
                return time.monotonic() - before
            os.kill(pid, signal.SIGKILL)
            return None
        finally:
            os.close(pidfd)


def all_ways(command: Sequence[str], repeats: int) -> dict[str, list[float | None]]:
    """Each way, `repeats` times."""
    with tempfile.TemporaryDirectory(prefix="cz") as directory:
        run = Path(directory) / "r"
        return {way: [seconds_to_leave(run, command, way) for _ in range(repeats)] for way in (*WAYS, "parent gone")}
