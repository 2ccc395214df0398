"""The HTTP endpoint: the official SDK's streamable HTTP, our one tool, the daemon behind it."""

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from .bridge import tool
from .bridge.calls import Call
from .bridge.jsonrpc import dump
from .bridge.session import ARGUMENTS_MAX_BYTES
from .serve_courier import Couriers, Waiting
from .serve_gate import Gate

PATH: Final = "/mcp"
_BODY_MAX_BYTES: Final = ARGUMENTS_MAX_BYTES + (64 << 10)
_SESSIONS_MAX: Final = 256
_TTL_MS: Final = 300_000
Context = Any
"""The SDK's request context; its class is generic in what we do not use."""


class Endpoint:
    """The SDK's server with our tool in it."""

    def __init__(self) -> None:
        self._tool = tool.load()
        tool.read_advice(self._tool)
        self._bus = InMemorySubscriptionBus()
        self._couriers: Couriers | None = None
        hint = CacheHint(ttl_ms=_TTL_MS, scope="private")
        self.server: Server[Any] = Server(
            self._tool.name,
            version=self._tool.version,
            title=self._tool.title,
            instructions=self._tool.instructions or None,
            cache_hints={"tools/list": hint, "server/discover": hint},
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    def app(self, token: str, origins: Sequence[str] = ()) -> ASGIApp:
        """The ASGI application, gate and all."""
        names = ("127.0.0.1", "localhost", "[::1]")  # the gate's rules, held by the SDK once more
        inner = self.server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=_BODY_MAX_BYTES,
            max_sessions=_SESSIONS_MAX,
            transport_security=TransportSecuritySettings(
                allowed_hosts=[*names, *(f"{name}:*" for name in names)],
                allowed_origins=[*origins, *(f"http://{name}{port}" for name in names for port in ("", ":*"))],
            ),
        )
        return Gate(inner, token, origins)

    @asynccontextmanager
    async def _lifespan(self, _server: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        async with BlockingPortal() as portal:
            self._couriers = Couriers(self._tool, portal, self._announce)
            try:
                yield {}
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(self._couriers.close)
                    await portal.stop()

    async def _announce(self) -> None:
        await self._bus.publish(ToolsListChanged())

    async def _list_tools(self, _context: Context, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(self._tool.definition())])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name != self._tool.name:
            text = f"Unknown tool: {params.name[:80]}; the only tool is {self._tool.name}"
            raise MCPError(types.INVALID_PARAMS, text)
        waiting = Waiting(_call(context, params.arguments))
        assert self._couriers
        courier = self._couriers.of(_client_name(context))
        courier.submit(waiting)
        try:
            while (steps := await waiting.steps()) is not None:
                for done, total, message in steps:
                    await context.session.report_progress(done, total, message or None)
        finally:
            courier.cancel(waiting)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=waiting.envelope.decode())],
            structured_content=json.loads(waiting.envelope),
            is_error=waiting.is_error,
        )


def _call(context: Context, arguments: dict[str, Any] | None) -> Call:
    token = (context.meta or {}).get("progress_token")
    try:
        raw = dump(arguments or {})
    except (ValueError, RecursionError):
        raise MCPError(types.INVALID_PARAMS, "A number in arguments is too large") from None
    return Call(str(context.request_id), raw, now=time.monotonic(), token=token, modern=False, structured=True)


def _client_name(context: Context) -> str:
    params = context.session.client_params
    info = params.client_info if params else None
    return info.name[:100] if info else "http"
