"""The other ends of a bridge under test: the benchmarks' client, and a fake daemon process."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from validation.benchmarks._bridge_client import MODERN, ROOT, WAIT_S, Bridge
from validation.mcp_lines import BRIDGE

__all__ = ["BRIDGE", "MODERN", "ROOT", "WAIT_S", "Bridge", "Daemon"]


class Daemon:
    """A fake daemon process at the runtime directory's socket."""

    def __init__(self, run: Path, **environment: str) -> None:
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.log = run / "fake.log"
        command = [sys.executable, "-m", "tests.launcher.fake_daemon", f"ipc://{run}/bridge.sock", str(self.log)]
        env = {**os.environ, **environment}
        self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"READY\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def received(self, kind: str) -> list[dict[str, Any]]:
        return [told for told in map(json.loads, self.log.read_text().splitlines()) if told["t"] == kind]

    def wait_received(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """The messages of a kind, once there are `count`."""
        until = time.monotonic() + WAIT_S
        while len(found := self.received(kind)) < count:
            assert time.monotonic() < until, f"{len(found)} {kind} of {count}"
            time.sleep(0.01)
        return found
