"""A bridge under test: the client that holds its pipes, sees its standard error and how it ends."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from validation.mcp_lines import BRIDGE, LineServer

ROOT: Final = Path(__file__).resolve().parent.parent.parent
WAIT_S: Final = 30.0
_META: Final = "io.modelcontextprotocol/"
MODERN: Final[dict[str, Any]] = {
    _META + "protocolVersion": "2026-07-28",
    _META + "clientCapabilities": {},
    _META + "clientInfo": {"name": "test", "version": "1"},
}


class Bridge(LineServer):
    """A server process on pipes; ours, unless `command` says otherwise; in a `with` it is not initialized."""

    def __init__(self, run: Path, command: Sequence[str] = BRIDGE, **environment: str) -> None:
        own = {**os.environ, "CHRYSALIS_RUNTIME_DIR": str(run), "PYTHONPATH": str(ROOT), **environment}
        super().__init__(command, own, name="test", cwd="/", stderr=subprocess.PIPE)
        assert self.process.stderr is not None
        self._stderr = self.process.stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """KILL it."""
        self.process.kill()
        self.close()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer, which must be the next line."""
        request_id = self.begin(method, params)
        answer = self.read(WAIT_S)
        assert answer["id"] == request_id, answer
        return answer

    def call(self, action: str, params: dict[str, Any] | None = None, *, meta: dict[str, Any] | None = None) -> int:
        """Send a tool call without waiting; its id."""
        arguments = {"domain": "memory", "action": action, "params": params or {}}
        return self.begin(
            "tools/call", {"name": "chrysalis", "arguments": arguments, **({"_meta": meta} if meta else {})}
        )

    def ended(self, timeout_s: float) -> int:
        """Its exit code; fails when it is still there after `timeout_s`."""
        return self.process.wait(timeout_s)

    def stderr_line(self) -> bytes:
        """One line of what it wrote to stderr."""
        return self._stderr.readline()

    def stderr(self) -> bytes:
        """All that it wrote to stderr."""
        return self._stderr.read()
