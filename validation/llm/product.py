"""The product as a client has it: a daemon of its own, the real bridge, the official MCP client; blocking calls."""

import json
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import anyio.from_thread
from mcp import Client, StdioServerParameters

from validation.stack import Stack

AT_ONCE: Final = 100
INDEXED_MAX_S: Final = 120.0
LONGEST_TEXT: Final = 4_000


class Answer:
    """What a call gave: the envelope, and the text that a client hands the model, cut at a fixed length."""

    def __init__(self, envelope: dict[str, Any], text: str) -> None:
        self.envelope, self.text = envelope, text[:LONGEST_TEXT]

    @property
    def ok(self) -> bool:
        """Whether the call was served."""
        return self.envelope.get("status") == "ok"


class Product:
    """Calls through the bridge, one after the other."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client
        (shown,) = portal.call(client.list_tools).tools
        self.tool: dict[str, Any] = {
            "name": shown.name,
            "description": shown.description or "",
            "parameters": shown.input_schema,
        }

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        """One call of the tool with these arguments, whatever they are."""

        async def send() -> Answer:
            result = await self._client.call_tool(self.tool["name"], dict(arguments))
            text = "".join(getattr(part, "text", "") for part in result.content)
            return Answer(result.structured_content or json.loads(text), text)

        return self._portal.call(send)

    def do(self, domain: str, action: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One call by the harness itself; its data.

        Raises:
            RuntimeError: the call was not served.
        """
        answer = self.call({"domain": domain, "action": action, "params": dict(params), "verbosity": "detail"})
        if not answer.ok:
            raise RuntimeError(f"{domain}.{action}: {answer.text[:500]}")
        return answer.envelope["data"]

    def fill(self, facts: Sequence[Sequence[str]], aliases: Sequence[tuple[str, str]]) -> None:
        """Store facts and teach aliases."""
        for at in range(0, len(facts), AT_ONCE):
            triples = [list(fact) for fact in facts[at : at + AT_ONCE]]
            self.do("memory", "ingest", {"triples": triples, "source": "items", "wait": True})
        for phrase, entity in aliases:
            self.do("memory", "update", {"query": phrase, "node": entity})
        if facts:
            self._wait_indexed(str(facts[0][0]))

    def _wait_indexed(self, query: str) -> None:
        """Until a recall no longer says that names wait for their vectors, or the time is over."""
        until = time.monotonic() + INDEXED_MAX_S
        asked = {"domain": "memory", "action": "recall", "params": {"query": query, "k": 1}, "verbosity": "terse"}
        while time.monotonic() < until:
            answer = self.call(asked)
            told = " ".join(answer.envelope.get("notes") or [])
            if answer.ok and "is loading" not in told and "wait for their vectors" not in told:
                return
            time.sleep(0.5)


@contextmanager
def open_product(environment: Mapping[str, str] | None = None) -> Generator[Product]:
    """A fresh store behind a real daemon and bridge; all of it gone afterwards."""
    with Stack(environment) as stack:
        server = StdioServerParameters(command=sys.executable, args=["-m", "launcher.bridge"], env=stack.environment)
        with (
            anyio.from_thread.start_blocking_portal() as portal,
            portal.wrap_async_context_manager(Client(server)) as client,
        ):
            yield Product(portal, client)
            stack.note_processes()
