"""MCP over the pipes of a process, line by line, as a client sees it: for measuring and for breaking it."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

BRIDGE: Final = (sys.executable, "-m", "launcher.bridge")
VERSION: Final = "2025-11-25"
WAIT_S: Final = 60.0


class Gone(Exception):  # noqa: N818 - said where it is raised
    """The server's output ended while an answer was awaited, or nobody reads what is sent."""


class Silence(Exception):  # noqa: N818
    """Nothing came from a living server in the time that was given."""


def _sure(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


class LineServer:
    """A server process and what goes over its pipes; in a `with` it is initialized, and closed at the end.

    Args:
        command: started as it is, in a session of its own, in `cwd` or where this process is.
        environment: all of it.
        name: clientInfo's name, from which our bridge names the default session.
        stderr: `subprocess.PIPE` to look at it afterwards.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        name: str = "lines",
        cwd: str | Path | None = None,
        stderr: int = subprocess.DEVNULL,
    ) -> None:
        self.process = subprocess.Popen(
            list(command),
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            start_new_session=True,
        )
        self.stdin, self.stdout = _sure(self.process.stdin), _sure(self.process.stdout)
        self.name = name
        self._rest = b""
        self._next = 0
        self._answers: dict[Any, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def write(self, data: bytes) -> None:
        """Raw bytes to the server.

        Raises:
            Gone: nobody reads.
        """
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self.stdin.write(rest) :]
        except (BrokenPipeError, ValueError):
            raise Gone("nobody reads what is sent") from None

    def send(self, message: Any) -> None:
        """One message as a line."""
        self.write(json.dumps(message).encode() + b"\n")

    def read_line(self, timeout_s: float = WAIT_S) -> bytes:
        """One line without its end; b"" when the output has ended.

        Raises:
            Silence: no line in time.
        """
        until = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            if not select.select([self.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise Silence("nothing came in time")
            data = os.read(self.stdout.fileno(), 1 << 16)
            if not data:
                return b""
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def read(self, timeout_s: float = WAIT_S) -> dict[str, Any]:
        """The next message, whatever it is.

        Raises:
            Gone: the output has ended. Silence: no line in time.
        """
        line = self.read_line(timeout_s)
        if not line:
            raise Gone("the server ended")
        return json.loads(line)

    def begin(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request without waiting; its id."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        return self._next

    def wait(self, request_id: int, timeout_s: float = WAIT_S) -> dict[str, Any]:
        """The whole JSON-RPC answer to a request; answers to others are kept, greetings and notifications passed over.

        Raises:
            Gone, Silence: as `read`.
        """
        until = time.monotonic() + timeout_s
        while request_id not in self._answers:
            line = self.read_line(max(0, until - time.monotonic()))
            if not line:
                raise Gone("the server ended")
            if not line.lstrip().startswith(b"{"):
                continue
            message = json.loads(line)
            if "id" in message and "method" not in message:
                self._answers[message["id"]] = message
        return self._answers.pop(request_id)

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, timeout_s: float = WAIT_S
    ) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.wait(self.begin(method, params), timeout_s)

    def initialize(self, version: str = VERSION) -> dict[str, Any]:
        """The legacy handshake; what the server says of itself."""
        info = {"name": self.name, "version": "1"}
        answer = self.request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer.get("result", answer)

    def close(self) -> None:
        """Close the server's input, wait for its end, and end it otherwise."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


class LinesClient(LineServer):
    """Our bridge, and calls of its one tool.

    Args:
        environment: of the bridge; says which daemon it finds.
    """

    def __init__(self, environment: Mapping[str, str], name: str = "lines") -> None:
        super().__init__(BRIDGE, environment, name=name)

    def begin_call(self, domain: str, action: str, params: dict[str, Any] | None = None, **options: Any) -> int:
        """Begin a tool call."""
        arguments = {"domain": domain, "action": action, "params": params or {}, **options}
        return self.begin("tools/call", {"name": "chrysalis", "arguments": arguments})

    def call(self, domain: str, action: str, params: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """The envelope of a tool call."""
        answer = self.wait(self.begin_call(domain, action, params, **options))
        return answer["result"]["structuredContent"]
