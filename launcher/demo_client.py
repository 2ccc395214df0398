"""A real MCP client in a process of its own: the official SDK, over the bridge, driven by lines of JSON.

Reads one tool-argument object a line from standard input and prints the envelope it is answered with. It is
there to be killed: what it did must be found by the next one.
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters


async def serve_lines() -> None:
    """Answer each line until the input ends."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "launcher.bridge"], env=dict(os.environ))
    async with Client(server) as client:
        tools = await client.list_tools()
        print(json.dumps({"tools": [tool.name for tool in tools.tools], "era": client.protocol_version}), flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            result = await client.call_tool("chrysalis", json.loads(line))
            print(json.dumps(result.structured_content), flush=True)


if __name__ == "__main__":
    anyio.run(serve_lines)
