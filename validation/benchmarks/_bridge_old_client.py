"""A client of the 1.x SDK, run in an environment of its own: lists the tool, calls it, prints what it got.

python _bridge_old_client.py COMMAND [ARGUMENT ...]
"""

# It runs on the 1.x SDK and is type-checked against 2.x:
# pyright: reportAttributeAccessIssue=false

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        shaken = await session.initialize()
        tools = (await session.list_tools()).tools
        result = await session.call_tool("chrysalis", {"domain": "meta", "action": "discover"})
        told = {
            "version": str(shaken.protocolVersion),
            "tools": [tool.name for tool in tools],
            "status": (result.structuredContent or {}).get("status"),
            "text": json.loads(result.content[0].text)["status"],
        }
        print(json.dumps(told))


asyncio.run(main())
