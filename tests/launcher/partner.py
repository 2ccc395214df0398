"""The other ends of a bridge under test: a client that holds its pipes, and a fake daemon process."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent.parent
BRIDGE = [sys.executable, "-m", "launcher.bridge"]
WAIT_S = 30.0
_META = "io.modelcontextprotocol/"
MODERN = {
    _META + "protocolVersion": "2026-07-28",
    _META + "clientCapabilities": {},
    _META + "clientInfo": {"name": "test", "version": "1"},
}


class Silence(AssertionError):  # noqa: N818 - said where it is raised
    """Nothing came in the time that was given."""


class Bridge:
    """A bridge process, spoken to in lines."""

    def __init__(self, run: Path, command: list[str] | None = None, **environment: str) -> None:
        env = {**os.environ, "CHRYSALIS_RUNTIME_DIR": str(run), "PYTHONPATH": str(ROOT), **environment}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command or BRIDGE, env=env, cwd="/", **pipes)
        self._rest = b""
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def read_line(self, timeout_s: float = WAIT_S) -> bytes:
        """One line of stdout; b"" at its end."""
        until = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise Silence(f"no line within {timeout_s} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
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

    def request(self, method: str, params: dict[str, Any] | None = None, *, id: Any = None) -> Any:
        """Send a request without waiting; returns its id."""
        self._next += 1
        request_id = self._next if id is None else id
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})
        return request_id

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

    def stderr(self) -> bytes:
        return self.process.stderr.read()


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
