"""The one MCP tool's definition, generated from the contract: `python -m protocol.tool` writes `tool.json`.

The bridge reads the file, so that it can answer `tools/list` without importing the contract; a snapshot
test fails when the two differ. Two variants: `full`, and `readonly` without the actions that write. One
sentence of the description is the advisory slot: `slot` says which, and it is replaced, never added to.
"""

import json
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from .action import Action
from .contract import DOMAINS, visible

PATH: Final = Path(__file__).with_name("tool.json")
NAME: Final = "chrysalis"

SLOT: Final = (
    "Use recall for facts from earlier sessions or beyond your context; solve for many interacting constraints. "
    "Not for facts in the prompt or easy puzzles."
)
"""What the description says of when to call, until measurements say it better."""

GLOSSES: Final[dict[str, str]] = {
    "memory.ingest": "ingest facts as triples",
    "memory.recall": "recall facts for a question",
    "memory.update": "update: teach what a phrase means",
    "memory.forget": "forget a source",
    "memory.consolidate": "consolidate: fade unused learning",
    "memory.restore": "restore a backup",
    "reason.solve": "solve (Z3; SMT-LIB 2 or constraints)",
    "reason.check": "check an assignment",
    "meta.schema": "schema: exact params",
    "meta.handshake": "handshake: declare your model",
    "meta.batch": "batch: many steps, one call",
    "llm.status": "model server status",
}
"""What the description says of an action beyond its name, in as few tokens as carry it."""

_ENUMS: Final = {"verbosity": ["terse", "brief", "summary", "detail"]}


def _line(domain: str, actions: Iterable[Action]) -> str:
    return f"{domain}: " + " | ".join(GLOSSES.get(action.full_name, action.name) for action in actions)


def description(actions: tuple[Action, ...]) -> str:
    """The tool's description: every action by domain, the advisory slot, side effects, an example."""
    present = [domain for domain in DOMAINS if any(action.domain == domain for action in actions)]
    lines = ["Persistent memory and exact solving on a local store. Pick domain and action; arguments go in params."]
    lines += [_line(domain, [a for a in actions if a.domain == domain]) for domain in present]
    lines.append(SLOT)
    writes = [a.name for a in actions if not a.read_only and a.domain != "meta"]
    erases = [a.name for a in actions if a.destructive and a.domain == "memory" and a.name != "restore"]
    effects = f"{', '.join(writes)} change stored data" if writes else "Changes nothing"
    backed = f"; {' and '.join(erases)} back up first" if erases else ""
    lines.append(f"{effects}{backed}. Errors give the fix in next_action.")
    lines.append('Example: {"domain":"memory","action":"recall","params":{"query":"who owns the lab?","k":3}}')
    return "\n".join(lines)


def input_schema(actions: tuple[Action, ...]) -> dict[str, Any]:
    """Flat, single types, string enums, required first: what every client's schema subset can take."""
    domains = [domain for domain in DOMAINS if any(action.domain == domain for action in actions)]
    names = list(dict.fromkeys(action.name for domain in domains for action in actions if action.domain == domain))
    return {
        "type": "object",
        "properties": {
            "domain": {"type": "string", "enum": domains, "description": "Group of the action"},
            "action": {"type": "string", "enum": names},
            "params": {"type": "object", "description": "The action's arguments"},
            "verbosity": {"type": "string", "enum": _ENUMS["verbosity"], "description": "Default summary"},
            "session_id": {"type": "string", "description": "Same id for a whole conversation"},
            "store_as": {"type": "string", "description": "Result key for $cache.KEY"},
            "telemetry": {"type": "boolean", "description": "Add timings"},
            "agent_id": {"type": "string", "description": "Who calls"},
        },
        "required": ["domain", "action"],
    }


def output_schema() -> dict[str, Any]:
    """The envelope, open to more fields; errors conform too."""
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": ["ok", "error"]},
            "severity": {"type": "string", "enum": ["INFO", "WARN", "ERROR"]},
            "summary": {**text, "description": "The result in one sentence"},
            "data": {"type": "object", "description": "The action's result, or the error with its code"},
            "next_action": {**text, "description": "What to do next"},
            "notes": {"type": "array", "items": text, "description": "Each repair made to the input"},
            "truncated": {"type": "boolean", "description": "Something was cut; cursor continues it"},
            "cursor": text,
        },
        "required": ["status", "severity", "summary"],
    }


def definition(*, readonly: bool = False) -> dict[str, Any]:
    """The tool as `tools/list` gives it."""
    actions = visible(readonly=readonly)
    return {
        "name": NAME,
        "title": "Chrysalis: memory, reasoning and measured advice",
        "description": description(actions),
        "inputSchema": input_schema(actions),
        "outputSchema": output_schema(),
        "annotations": {
            "readOnlyHint": readonly,
            "destructiveHint": not readonly,
            "idempotentHint": readonly,
            "openWorldHint": False,
        },
        "_meta": {"anthropic/alwaysLoad": True},
    }


def version() -> str:
    """The version of the distribution, as the source tree states it."""
    project = Path(__file__).resolve().parent.parent / "pyproject.toml"
    return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


def render() -> str:
    """The text of `tool.json`."""
    body = {"version": version(), "slot": SLOT, "full": definition(), "readonly": definition(readonly=True)}
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write `tool.json`; says whether it changed."""
    text = render()
    changed = not PATH.exists() or PATH.read_text(encoding="utf-8") != text
    if changed:
        PATH.write_text(text, encoding="utf-8")
    sys.stderr.write(f"{PATH.name} {'written' if changed else 'unchanged'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
