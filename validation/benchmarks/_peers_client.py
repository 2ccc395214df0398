"""One MCP client for all servers: a process on pipes, JSON-RPC in lines; what it costs is the same for each."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import psutil

WAIT_S: Final = 60.0
_INFO: Final = {"name": "peers", "version": "1"}


class NoAnswer(Exception):  # noqa: N818
    """Raised when the server ended or did not answer in time."""


class PeerClient:
    """A server started as its documentation says, spoken to as any stdio client does."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: str = "/") -> None:
        self.process = subprocess.Popen(
            list(command),
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._buffer = b""
        self._next = 0

    def __enter__(self) -> Self:
        try:
            self.initialize()
        except NoAnswer:
            self.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.kill()

    def initialize(self) -> None:
        """The handshake."""
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _INFO})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tools(self) -> list[dict[str, Any]]:
        """What a model is shown: name, description and input schema of each tool."""
        listed = self.request("tools/list", {})["tools"]
        return [{key: tool.get(key) for key in ("name", "description", "inputSchema")} for tool in listed]

    def call(self, tool: str, arguments: Mapping[str, Any], wait_s: float = WAIT_S) -> str:
        """The text of a tool's answer.

        Raises:
            NoAnswer: none in time, or an error.
        """
        result = self.request("tools/call", {"name": tool, "arguments": dict(arguments)}, wait_s)
        text = "".join(part.get("text", "") for part in result.get("content", []))
        if result.get("isError"):
            raise NoAnswer(text[:300])
        return text

    def request(self, method: str, params: Mapping[str, Any], wait_s: float = WAIT_S) -> dict[str, Any]:
        """One request and its result.

        Raises:
            NoAnswer: none in time, the server is gone, or a JSON-RPC error.
        """
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        until = time.monotonic() + wait_s
        while True:
            message = self._message(until)
            if message.get("id") == self._next and "method" not in message:
                if "result" not in message:
                    raise NoAnswer(str(message.get("error"))[:300])
                return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ValueError):
            raise NoAnswer("the server closed its input") from None

    def _message(self, until: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            while b"\n" not in self._buffer:
                left = max(0, until - time.monotonic())
                readable, _, _ = select.select([self.process.stdout], [], [], left)
                data = os.read(self.process.stdout.fileno(), 1 << 16) if readable else b""
                if not data:
                    raise NoAnswer("the server ended" if readable else "no answer in time")
                self._buffer += data
            line, _, self._buffer = self._buffer.partition(b"\n")
            if line.lstrip().startswith(b"{"):  # some print greetings to standard output
                return json.loads(line)

    def family(self) -> list[psutil.Process]:
        """The server's process and those under it."""
        try:
            own = psutil.Process(self.process.pid)
            return [own, *own.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill(self) -> None:
        """KILL it and all under it, and wait for them."""
        family = self.family()
        for one in family:
            try:
                one.kill()
            except psutil.NoSuchProcess:
                continue
        self.process.wait()
        psutil.wait_procs(family, timeout=5)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def private_mib(processes: Sequence[psutil.Process]) -> float:
    """Memory that only these processes use (USS), in MiB."""
    total = 0
    for one in processes:
        try:
            total += one.memory_full_info().uss
        except psutil.Error:
            continue
    return round(total / 2**20, 1)
