"""The reference page of every action, generated from the contract; `python -m protocol.reference` prints it."""

import json

import msgspec

from . import contract
from .action import Action
from .validate import params_table

_HEAD = """# Reference

Every action of the one tool `chrysalis(domain, action, params)`, generated from `protocol.contract`
(`python -m protocol.reference > docs/reference.md`; a test fails when this page is not what that prints).

Every call also takes `verbosity` (detail, summary, brief, terse), `session_id`, `store_as`, `telemetry` and
`agent_id` beside `params`. Inside `params`, every action understands `cursor` (continue a truncated answer),
every write `request_id` (the same id again is applied once), and every call `override: true` where enforcement
of advice is on.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [_HEAD]
    for domain in contract.DOMAINS:
        parts.append(f"## {domain}\n")
        parts += [_section(a) for a in contract.ALL if a.domain == domain and not a.hidden]
    return "\n".join(parts).rstrip() + "\n"


def _section(action: Action) -> str:
    marks = [
        "reads" if action.read_only else "writes",
        *(["destructive"] if action.destructive else []),
        *(["operator only: the `chrysalis` command, not MCP"] if action.operator_only else []),
        f"{action.deadline_ms / 1000:g} s by default",
    ]
    lines = [f"### {action.full_name}\n", f"{action.purpose[0].upper()}{action.purpose[1:]}. *{'; '.join(marks)}*\n"]
    table = params_table(action.params)
    if table:
        lines += ["| param | type and meaning |", "|---|---|"]
        lines += [f"| `{name}` | {_cell(words)} |" for name, words in table.items()] + [""]
    call = {"domain": action.domain, "action": action.name, "params": action.example}
    lines += ["```json", json.dumps(call, ensure_ascii=False), "```\n"]
    lines.append(f"Result: {_cell(', '.join(f'`{f.encode_name}`' for f in msgspec.structs.fields(action.result)))}\n")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
