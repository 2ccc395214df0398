"""The tool as this bridge shows it: the generated definition, with the advisory slot filled in."""

from __future__ import annotations

import json
import os

import protocol
from protocol.endpoints import EndpointError, advisory_file

_OFF = frozenset({"", "0", "false", "no", "off"})
_SLOT_MAX_CHARS = 600
_INSTRUCTIONS_MAX_CHARS = 1_900
"""A well-known client cuts instructions at 2 KB."""


def load() -> Tool:
    """The tool from `protocol/tool.json`, read-only when CHRYSALIS_READONLY says so."""
    with open(os.path.join(protocol.__path__[0], "tool.json"), "rb") as file:
        body = json.loads(file.read())
    readonly = os.environ.get("CHRYSALIS_READONLY", "").strip().lower() not in _OFF
    return Tool(body["readonly" if readonly else "full"], body["slot"], body["version"], readonly=readonly)


def read_advice(shown: Tool) -> None:
    """Take over what the daemon left for bridges that have not met it yet."""
    try:
        with open(advisory_file(), "rb") as file:
            advice = json.loads(file.read(65_536))
    except (OSError, ValueError, RecursionError, EndpointError):
        return
    if isinstance(advice, dict):
        shown.advise(advice.get("slot"), advice.get("instructions"))


class Tool:
    """The definition, whose one sentence may be replaced by measured advice.

    Attributes:
        name: as it is called. version: of the server. readonly: whether it names no action that writes.
        instructions: for `initialize` and `server/discover`; "" when there are none.
    """

    def __init__(self, definition: dict[str, object], slot: str, version: str, *, readonly: bool) -> None:
        self.name = str(definition["name"])
        self.title = str(definition["title"])
        self.version = version
        self.readonly = readonly
        self.instructions = ""
        self._definition = definition
        self._template = str(definition["description"])
        self._default = self._slot = slot

    def advise(self, slot: object, instructions: object) -> bool:
        """Take over the daemon's advice; returns whether the definition changed by it."""
        if isinstance(instructions, str):
            self.instructions = instructions[:_INSTRUCTIONS_MAX_CHARS]
        wanted = " ".join(slot.split())[:_SLOT_MAX_CHARS] if isinstance(slot, str) and slot.strip() else self._default
        changed = wanted != self._slot
        self._slot = wanted
        return changed

    def definition(self) -> dict[str, object]:
        """The tool as `tools/list` gives it now."""
        return {**self._definition, "description": self._template.replace(self._default, self._slot)}
