"""HTTP in front of the stdio bridge, as thin as can be, since the conformance suite speaks HTTP only.

One bridge for each session of the handshake era, one for all stateless requests. What the bridge says is
passed on as it is; only what HTTP itself demands is added.
"""

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncGenerator
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from validation.mcp_lines import BRIDGE

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_BAD_REQUEST: Final = frozenset({-32700, -32600, -32602, -32022})
_NOT_FOUND: Final = frozenset({-32601})


class Child:
    """A bridge process and those who wait for its lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin
        assert process.stdout
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self._waiting: dict[Any, asyncio.Queue[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls) -> "Child":
        """A new bridge."""
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*BRIDGE, stdin=pipe, stdout=pipe, limit=8 << 20))

    async def _read(self) -> None:
        while line := await self._out.readline():
            message = json.loads(line)
            if "method" not in message:
                waiting = self._waiting.get(message.get("id"))
            else:
                meta = message.get("params", {}).get("_meta", {})
                waiting = self._waiting.get(meta.get("io.modelcontextprotocol/subscriptionId"))
            if waiting:
                waiting.put_nowait(message)

    def send(self, body: bytes) -> None:
        """One line to the bridge."""
        self._in.write(body.replace(b"\n", b" ") + b"\n")

    def wait(self, request_id: Any) -> "asyncio.Queue[dict[str, Any]]":
        """Where the messages for a request will come."""
        self._waiting[request_id] = asyncio.Queue()
        return self._waiting[request_id]

    async def stop(self) -> None:
        """End it as a client does."""
        self._in.close()
        await self._process.wait()
        await self._reader


class Adapter:
    """POST a message, get the answer; DELETE ends a session."""

    def __init__(self) -> None:
        self._sessions: dict[str, Child] = {}
        self._stateless: Child | None = None

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(routes=[Route("/mcp", self.serve, methods=["GET", "POST", "DELETE"])])

    async def serve(self, request: Request) -> Response:
        """One HTTP request."""
        if request.method == "GET":
            return Response(status_code=405)
        session = request.headers.get("mcp-session-id", "")
        if request.method == "DELETE":
            if child := self._sessions.pop(session, None):
                await child.stop()
            return Response(status_code=200 if child else 404)
        body = await request.body()
        try:
            message = json.loads(body)
        except ValueError:
            message = None
        child, session = await self._child(message, session)
        if child is None:
            return Response(status_code=404)
        return await self._pass_on(child, message, body, session)

    async def _child(self, message: Any, session: str) -> tuple[Child | None, str]:
        if isinstance(message, dict) and message.get("method") == "initialize" and not _is_stateless(message):
            session = uuid.uuid4().hex
            self._sessions[session] = await Child.start()
        if session:
            return self._sessions.get(session), session
        if self._stateless is None:
            self._stateless = await Child.start()
        return self._stateless, ""

    async def _pass_on(self, child: Child, message: Any, body: bytes, session: str) -> Response:
        headers = {"mcp-session-id": session} if session else {}
        known = isinstance(message, dict) and "id" in message and "method" in message
        if not known and isinstance(message, dict) and "method" in message:
            child.send(body)
            return Response(status_code=202, headers=headers)
        waiting = child.wait(message.get("id") if isinstance(message, dict) else None)
        child.send(body)
        first = await waiting.get()
        if "method" in first:
            return StreamingResponse(_events(first, waiting), media_type="text/event-stream", headers=headers)
        code = first.get("error", {}).get("code")
        stateless = not session
        status = 400 if code in _BAD_REQUEST and stateless else 404 if code in _NOT_FOUND and stateless else 200
        return Response(json.dumps(first), status_code=status, media_type="application/json", headers=headers)


def _is_stateless(message: dict[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and _VERSION in meta


async def _events(first: dict[str, Any], waiting: "asyncio.Queue[dict[str, Any]]") -> "AsyncGenerator[str]":
    message = first
    while True:
        yield f"data: {json.dumps(message)}\n\n"
        if "method" not in message:
            return
        message = await waiting.get()


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(Adapter().app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
