"""One MCP client for all servers: a process on pipes, JSON-RPC in lines; what it costs is the same for each."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import psutil

from validation.mcp_lines import Gone, LineServer, Silence

WAIT_S: Final = 60.0


class NoAnswer(Exception):  # noqa: N818
    """Raised when the server ended, did not answer in time, or answered with an error."""


class PeerClient(LineServer):
    """A server started as its documentation says, spoken to as any stdio client does; killed with all under it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: str = "/") -> None:
        super().__init__(command, environment, name="peers", cwd=cwd)

    def __enter__(self) -> Self:
        try:
            self.initialize("2025-06-18")
        except NoAnswer:
            self.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.kill()

    def tools(self) -> list[dict[str, Any]]:
        """What a model is shown: name, description and input schema of each tool."""
        listed = self.request("tools/list")["result"]["tools"]
        return [{key: tool.get(key) for key in ("name", "description", "inputSchema")} for tool in listed]

    def call(self, tool: str, arguments: Mapping[str, Any], wait_s: float = WAIT_S) -> str:
        """The text of a tool's answer.

        Raises:
            NoAnswer: none in time, or an error.
        """
        result = self.request("tools/call", {"name": tool, "arguments": dict(arguments)}, wait_s)["result"]
        text = "".join(part.get("text", "") for part in result.get("content", []))
        if result.get("isError"):
            raise NoAnswer(text[:300])
        return text

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, timeout_s: float = WAIT_S
    ) -> dict[str, Any]:
        """One request and its answer.

        Raises:
            NoAnswer: none in time, the server is gone, or a JSON-RPC error.
        """
        try:
            answer = super().request(method, params, timeout_s)
        except (Gone, Silence) as error:
            raise NoAnswer(str(error)) from None
        if "result" not in answer:
            raise NoAnswer(str(answer.get("error"))[:300])
        return answer

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
        self.close()
        psutil.wait_procs(family, timeout=5)


def private_mib(processes: Sequence[psutil.Process]) -> float:
    """Memory that only these processes use (USS), in MiB."""
    total = 0
    for one in processes:
        try:
            total += one.memory_full_info().uss
        except psutil.Error:
            continue
    return round(total / 2**20, 1)
