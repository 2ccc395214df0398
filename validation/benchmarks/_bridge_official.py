"""The same tool served by the official SDK's stdio server: what the bridge is measured beside."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_DEFINITION = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["full"]
_BODY = {"status": "ok", "severity": "INFO", "summary": "Served."}


async def _list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool.model_validate(_DEFINITION)])


async def _call_tool(_context: Any, _params: Any) -> types.CallToolResult:
    text = types.TextContent(type="text", text=json.dumps(_BODY))
    return types.CallToolResult(content=[text], structured_content=_BODY)


async def _serve() -> None:
    server: Server[Any] = Server("chrysalis", version="0", on_list_tools=_list_tools, on_call_tool=_call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


anyio.run(_serve)
