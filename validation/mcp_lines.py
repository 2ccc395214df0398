"""A bridge driven line by line, as a client on a pipe sees it: for measuring and for breaking it."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

_INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "lines", "version": "1"},
}


class BridgeGone(Exception):  # noqa: N818
    """Raised when the bridge's output ended while an answer was awaited."""


class Silence(Exception):  # noqa: N818
    """Raised when a living bridge gave no answer in time."""


class LinesClient:
    """One bridge process and the JSON-RPC that goes over its pipes.

    Args:
        environment: of the bridge; says which daemon it finds.
        name: clientInfo's name, from which the default session is named.
        command: what to run; the bridge itself when left out.
    """

    def __init__(
        self, environment: Mapping[str, str], name: str = "lines", command: tuple[str, ...] = ("-m", "launcher.bridge")
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._name = name
        self._next = 0
        self._buffer = b""
        self._answers: dict[Any, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def initialize(self) -> dict[str, Any]:
        """The legacy handshake."""
        answer = self.request("initialize", {**_INITIALIZE, "clientInfo": {"name": self._name, "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def send(self, message: dict[str, Any]) -> None:
        """Write one message.

        Raises:
            BridgeGone: nobody reads.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ValueError):
            raise BridgeGone from None

    def begin(self, method: str, params: dict[str, Any]) -> int:
        """Send a request without waiting; its id."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def wait(self, request_id: int, timeout_s: float = 60.0) -> dict[str, Any]:
        """The whole JSON-RPC answer to a request.

        Raises:
            BridgeGone: the bridge ended first. Silence: it lives and did not answer in time.
        """
        assert self.process.stdout is not None
        until = time.monotonic() + timeout_s
        while request_id not in self._answers:
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            if not readable:
                raise Silence(f"request {request_id} was not answered within {timeout_s:.0f} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise BridgeGone
            *lines, self._buffer = (self._buffer + data).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "id" in message:
                    self._answers[message["id"]] = message
        return self._answers.pop(request_id)

    def request(self, method: str, params: dict[str, Any], timeout_s: float = 60.0) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.wait(self.begin(method, params), timeout_s)

    def begin_call(self, domain: str, action: str, params: dict[str, Any] | None = None, **options: Any) -> int:
        """Begin a tool call."""
        arguments = {"domain": domain, "action": action, "params": params or {}, **options}
        return self.begin("tools/call", {"name": "chrysalis", "arguments": arguments})

    def call(self, domain: str, action: str, params: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """The envelope of a tool call."""
        answer = self.wait(self.begin_call(domain, action, params, **options))
        return answer["result"]["structuredContent"]

    def close(self) -> None:
        """Close the bridge's input and wait for its end."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
