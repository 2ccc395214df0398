"""Features of a task, read off what was asked by versioned code, so that a cell means the same everywhere.

Cheap and total: any params give features, unreadable ones give unknown (0, "" or None), and nothing raises.
"""

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from msgspec import Struct

VERSION = 1
"""Raised whenever the same params would give other features; cells of another version do not match."""
CHARS_PER_TOKEN = 4
CONTEXT_SHARE = 0.75
"""Facts beyond this share of the context leave no room for the question, the rules and the answer."""
TEXT_MAX = 65_536
"""Characters of a whole problem as text that are looked at: enough for a band, and bounded in time."""
CONSTRAINT_MAX = 4_096

ITEMS_MAX = 200
CONSTRAINTS_MAX = 1_000

_RELATION = re.compile(r"<=>|<=|>=|!=|==|=>|->|<|>|=|≤|≥|≠")
_NOT_ATOMS = frozenset({"=>", "->", "<=>"})
_GLOBAL = re.compile(
    r"\b(all_different|all_equal|increasing|decreasing|precedence|no_overlap|cumulative|next_to|left_of|right_of"
    r"|between|circuit|inverse|lex_less|regular|global_cardinality|exactly|at_least|at_most|element|table)\s*\("
)
_SMT_DECLARED = re.compile(r"\(\s*declare-(?:const\s+\S+|fun\s+\S+\s+\(\s*\))")
_SMT_RELATION = re.compile(r"\(\s*(<=|>=|<|>|=|distinct|bvult|bvule|bvslt|bvsle)(?=\s)")
_SMT_ASSERT = re.compile(r"\(\s*assert(?=[\s(])")


class Features(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a task. 0, "" and None = not known."""

    goal: str = ""
    n_vars: int = 0
    n_atoms: int = 0
    facts_exceed_ctx: bool | None = None
    version: int = VERSION


def extract(action: str, params: Mapping[str, Any], *, context: int = 0, facts_tokens: int = 0) -> Features:
    """The features of one call, or of a task told in the same words.

    Args:
        action: full name, as `reason.solve`.
        params: the call's own params, or a task that names features directly (`n_vars`, `facts_tokens`, …).
        context: the model's context in tokens; 0 = not known.
        facts_tokens: tokens of the facts at hand; 0 = not known.
    """
    found = _reason(action, params) if action.startswith("reason.") else Features(goal=_memory_goal(action))
    tokens = _count(params.get("facts_tokens")) or facts_tokens
    window = _count(params.get("context")) or context
    stated = params.get("facts_exceed_ctx")
    exceed = stated if isinstance(stated, bool) else tokens > window * CONTEXT_SHARE if tokens and window else None
    goal = params.get("goal")
    return Features(
        goal=goal if isinstance(goal, str) and goal else found.goal,
        n_vars=_count(params.get("n_vars")) or found.n_vars,
        n_atoms=_count(params.get("n_atoms")) or found.n_atoms,
        facts_exceed_ctx=exceed,
    )


def tokens_in(value: Any, depth: int = 0) -> int:
    """About how many tokens the texts within a value have; long lists are told from their first items."""
    if isinstance(value, str):
        return -(-len(value) // CHARS_PER_TOKEN)
    if depth > 6:  # noqa: PLR2004 - deeper than any of our params
        return 0
    if isinstance(value, Mapping):
        return sum(tokens_in(v, depth + 1) for v in value.values())
    if isinstance(value, list):
        looked_at = value[:ITEMS_MAX]
        total = sum(tokens_in(v, depth + 1) for v in looked_at)
        return total * len(value) // max(1, len(looked_at))
    return 0


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9 else 0  # noqa: PLR2004


def _memory_goal(action: str) -> str:
    return {"memory.recall": "recall", "memory.ingest": "ingest", "memory.update": "learn"}.get(action, "")


def _reason(action: str, params: Mapping[str, Any]) -> Features:
    smt2 = params.get("smt2")
    if isinstance(smt2, str) and smt2:
        return _smt(smt2[:TEXT_MAX])
    program = params.get("program")
    if isinstance(program, str) and program:
        return _program(action, program[:TEXT_MAX])
    constraints = params.get("constraints")
    listed = constraints if isinstance(constraints, list) else [constraints] if constraints else []
    return Features(
        goal=_reason_goal(action, params),
        n_vars=_variables(params.get("vars")),
        n_atoms=sum(_atoms(c) for c in listed[:CONSTRAINTS_MAX]),
    )


def _reason_goal(action: str, params: Mapping[str, Any]) -> str:
    if action == "reason.check":
        return "check"
    if params.get("maximize") or params.get("minimize") or params.get("soft"):
        return "optimize"
    if params.get("options"):
        return "options"
    return "enumerate" if params.get("solutions") not in (None, 1) else "solve"


def _smt(text: str) -> Features:
    optimizing = "(maximize" in text or "(minimize" in text or "(assert-soft" in text
    relations = len(_SMT_RELATION.findall(text))
    return Features(
        goal="optimize" if optimizing else "solve",
        n_vars=len(_SMT_DECLARED.findall(text)),
        n_atoms=relations or len(_SMT_ASSERT.findall(text)),
    )


def _program(action: str, text: str) -> Features:
    """A Logic-LM program: its variables are told by [IN], its conditions are one a line."""
    goal = "check" if action == "reason.check" else "options"
    lines = [line.split(":::")[0] for line in text.splitlines()]
    conditions = [line for line in lines if "[IN]" not in line and not line.rstrip().endswith(":")]
    return Features(
        goal=goal, n_vars=text.count("[IN]"), n_atoms=sum(_atoms(line) for line in conditions if _RELATION.search(line))
    )


def _variables(declared: Any) -> int:
    """Scalars declared: an array counts each of its elements."""
    if isinstance(declared, str):
        return declared[:TEXT_MAX].count(":")
    if isinstance(declared, list):
        return len(declared)
    return sum(_elements(v) for v in declared.values()) if isinstance(declared, Mapping) else 0


def _elements(declared: Any) -> int:
    size = declared.get("size") if isinstance(declared, Mapping) else None
    sizes = size if isinstance(size, list) else [size] if isinstance(size, int) else []
    return min(10**6, prod(_count(s) or 1 for s in sizes))


def _atoms(constraint: Any, depth: int = 0) -> int:
    """Comparisons and global constraints in one constraint, infix or prefix; a bare proposition is one."""
    if isinstance(constraint, str):
        text = constraint[:CONSTRAINT_MAX]
        found = sum(1 for r in _RELATION.findall(text) if r not in _NOT_ATOMS) + len(_GLOBAL.findall(text))
        return found or bool(text.strip())
    if isinstance(constraint, Mapping):
        return _atoms(constraint.get("expr") or constraint.get("args") or "", depth)
    if isinstance(constraint, list) and depth < 50:  # noqa: PLR2004 - hostile nesting ends here
        head = constraint[0] if constraint and isinstance(constraint[0], str) else ""
        own = int((bool(_RELATION.fullmatch(head)) and head not in _NOT_ATOMS) or bool(_GLOBAL.match(head + "(")))
        nested = sum(_atoms(part, depth + 1) for part in constraint if isinstance(part, list | Mapping))
        return own + nested or int(depth == 0)
    return int(isinstance(constraint, bool))
