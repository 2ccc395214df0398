"""A client that holds the pipes of an MCP stdio server under test, and speaks to it in lines."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final, Self

ROOT: Final = Path(__file__).resolve().parent.parent.parent
BRIDGE: Final = (sys.executable, "-m", "launcher.bridge")
WAIT_S: Final = 30.0
_META: Final = "io.modelcontextprotocol/"
MODERN: Final[dict[str, Any]] = {
    _META + "protocolVersion": "2026-07-28",
    _META + "clientCapabilities": {},
    _META + "clientInfo": {"name": "test", "version": "1"},
}


class Silence(AssertionError):  # noqa: N818 - said where it is raised
    """Nothing came in the time that was given."""


def _sure(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


class Bridge:
    """A server process on pipes; ours, unless `command` says otherwise."""

    def __init__(self, run: Path, command: Sequence[str] = BRIDGE, **environment: str) -> None:
        env = {**os.environ, "CHRYSALIS_RUNTIME_DIR": str(run), "PYTHONPATH": str(ROOT), **environment}
        self.process = subprocess.Popen(
            command, env=env, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.stdin = _sure(self.process.stdin)
        self.stdout, self._stderr = _sure(self.process.stdout), _sure(self.process.stderr)
        self._rest = b""
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.stdin, self.stdout, self._stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def read_line(self, timeout_s: float = WAIT_S) -> bytes:
        """One line of stdout; b"" at its end."""
        until = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            if not select.select([self.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise Silence(f"no line within {timeout_s} s")
            data = os.read(self.stdout.fileno(), 1 << 16)
            if not data:
                return b""
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def read(self, timeout_s: float = WAIT_S) -> dict[str, Any]:
        line = self.read_line(timeout_s)
        if not line:
            raise Silence("stdout is closed")
        return json.loads(line)

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request without waiting; returns its id."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        return self._next

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer, which must be the next line."""
        request_id = self.request(method, params)
        answer = self.read()
        assert answer["id"] == request_id, answer
        return answer

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        info = {"name": "test", "version": "1"}
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def call(self, action: str, params: dict[str, Any] | None = None, *, meta: dict[str, Any] | None = None) -> Any:
        """Send a tool call without waiting; returns its id."""
        arguments = {"domain": "memory", "action": action, "params": params or {}}
        return self.request(
            "tools/call", {"name": "chrysalis", "arguments": arguments, **({"_meta": meta} if meta else {})}
        )

    def ended(self, timeout_s: float) -> int:
        """Its exit code; fails when it is still there after `timeout_s`."""
        return self.process.wait(timeout_s)

    def stderr_line(self) -> bytes:
        """One line of what it wrote to stderr."""
        return self._stderr.readline()

    def stderr(self) -> bytes:
        return self._stderr.read()
