"""The reasoning actions: their params, results and three worked examples."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ..action import Action, Params

SMT2_MAX_CHARS = 256_000
TIMEOUT_DEFAULT_MS = 10_000
TIMEOUT_MAX_MS = 3_600_000

Text = Annotated[str, Meta(max_length=SMT2_MAX_CHARS)]
Milliseconds = Annotated[int, Meta(ge=1, le=TIMEOUT_MAX_MS)]


class Problem(Params, frozen=True, kw_only=True):
    """What solve and check share: the problem, in one of three spellings."""

    vars: Annotated[
        dict[str, Any] | list[Any] | str | None,
        Meta(
            description='name -> type: "int 1..5", "bool", "real", a list (ordered enum), "(S,T) -> bool", '
            '{"type","min","max","size"}'
        ),
    ] = None
    constraints: Annotated[
        list[Any] | dict[str, Any] | Text | None,
        Meta(description='infix strings as "x + 2*y <= 7", or {"name","expr","note"}, or prefix lists'),
    ] = None
    types: Annotated[
        dict[str, Any] | None, Meta(description='named sets for vars and quantifiers: {"Day": ["mon","tue"]}')
    ] = None
    data: Annotated[dict[str, Any] | None, Meta(description='constants: {"w": [3,4,5], "n": 3}')] = None
    smt2: Annotated[Text | None, Meta(description="SMT-LIB 2 text, instead of vars and constraints")] = None
    program: Annotated[Text | None, Meta(description="a Logic-LM program, instead of vars and constraints")] = None
    timeout_ms: Annotated[Milliseconds, Meta(description="wall-clock time for all of it")] = TIMEOUT_DEFAULT_MS


class Solve(Problem, frozen=True, kw_only=True):
    soft: Annotated[
        list[Any] | dict[str, Any] | Text | None, Meta(description='wishes: "x > 3" or {"expr","weight"}')
    ] = None
    maximize: Annotated[Any, Meta(description="an expression to make as large as possible")] = None
    minimize: Annotated[Any, Meta(description="an expression to make as small as possible")] = None
    options: Annotated[
        dict[str, Any] | list[Any] | None, Meta(description="label -> statement; each is judged must, may or cannot")
    ] = None
    solutions: Annotated[int | str, Meta(description='how many solutions to list: a number or "all"')] = 1
    show_smt2: Annotated[bool, Meta(description="return the encoding as SMT-LIB")] = False


class Check(Problem, frozen=True, kw_only=True):
    assignment: Annotated[
        dict[str, Any] | list[Any] | str, Meta(description='name -> value, whole or in part: {"x": 3, "day": "mon"}')
    ]


class Member(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One constraint of a conflict, in the user's own words."""

    name: str
    text: str
    note: str = ""
    dropping_it_helps: bool | None = None
    """Whether the rest is satisfiable without it; null when time ran out."""


class Remedy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change after which the constraints can hold."""

    without: list[str] = []
    """The constraints to leave out."""
    ranges: dict[str, list[str]] = {}
    """Variables by the range to declare in place of theirs; the smallest that is wide enough."""
    model: dict[str, Any] | None = None
    """What is then so; missing where only the conflict was looked at, or more than constraints was asked."""
    unique: bool | None = None


class Conflict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Constraints that cannot hold together; none of them can be left out of the list."""

    members: list[Member]
    minimal: bool = True
    smallest: bool = False
    """No conflict with fewer members exists."""
    with_domains: bool = False
    """The declared ranges of the variables take part."""
    ranges: dict[str, list[str]] = {}
    """Variables by declared range, where the members could hold but for these."""
    remedies: list[Remedy] = []


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the constraints say about one option."""

    label: str
    verdict: Literal["must", "may", "cannot", "unknown"]
    text: str = ""
    holds: bool | None = None
    """For a Logic-LM option: whether what it asks (is_valid, is_sat …) is so."""


class Soft(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One wish and whether the solution grants it."""

    text: str
    weight: Any
    granted: bool
    name: str = ""


class Checked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to one check-sat of an SMT-LIB script, or to a command that asks for values."""

    command: str
    line: int
    result: str
    reason: str = ""
    model: dict[str, Any] = {}


class Solved(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `solve`. `verified`: the model was re-evaluated by a second, independent evaluator."""

    result: Literal["sat", "unsat", "unknown"]
    model: dict[str, Any] | None = None
    unique: bool | None = None
    second: dict[str, Any] | None = None
    solutions: list[dict[str, Any]] | None = None
    complete: bool | None = None
    """Whether `solutions` are all there are."""
    optimum: Literal["proved", "best_so_far", "unbounded", "not_attained"] | None = None
    objective: Any = None
    options: list[Verdict] | None = None
    answer: list[str] | None = None
    soft: list[Soft] | None = None
    conflict: Conflict | None = None
    verified: bool | None = None
    reason: str = ""
    checks: list[Checked] | None = None
    smt2: str = ""
    sandbox: str = ""


class Violated(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One constraint that the assignment breaks."""

    name: str
    text: str
    note: str = ""


class Judged(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `check`. `incomplete`: variables are missing; `completable` says whether they can be filled in."""

    result: Literal["holds", "violated", "incomplete", "unknown"]
    violated: list[Violated] = []
    unassigned: list[str] = []
    completable: bool | None = None
    completion: dict[str, Any] | None = None
    reason: str = ""
    sandbox: str = ""


_ORDERING: dict[str, Any] = {
    "vars": {"ann": "int 1..3", "bob": "int 1..3", "cid": "int 1..3"},
    "constraints": ["all_different(ann, bob, cid)", "ann < bob", {"expr": "cid != 3", "note": "Cid is not last."}],
    "options": {"A": "bob == 3", "B": "ann == 1"},
}
_GRID: dict[str, Any] = {
    "vars": {"g": {"type": "int", "min": 1, "max": 4, "size": [4, 4]}},
    "constraints": [
        "forall(i in 0..3: all_different(g[i]) and all_different(g[*,i]))",
        "forall(r in 0..1, c in 0..1: all_different(g[2*r,2*c], g[2*r,2*c+1], g[2*r+1,2*c], g[2*r+1,2*c+1]))",
        "g[0,0] = 3 and g[0,1] = 2 and g[0,2] = 1",
    ],
}
_OPTIMUM: dict[str, Any] = {
    "vars": {"take": {"type": "bool", "size": [4]}},
    "data": {"weight": [5, 4, 3, 2], "value": [10, 9, 6, 3]},
    "constraints": ["sum(i in 0..3: weight[i] * take[i]) <= 9"],
    "maximize": "sum(i in 0..3: value[i] * take[i])",
}

ACTIONS: tuple[Action, ...] = (
    Action(
        domain="reason",
        name="solve",
        owner="solver",
        purpose="solve constraints exactly: puzzles, schedules, what must/may/cannot hold, optimum, or the conflict",
        params=Solve,
        result=Solved,
        example=_ORDERING,
        examples=(_GRID, _OPTIMUM),
    ),
    Action(
        domain="reason",
        name="check",
        owner="solver",
        purpose="check a proposed answer, whole or partial, against constraints and name those it breaks",
        params=Check,
        result=Judged,
        example={
            "vars": {"x": "int 1..9", "y": "int 1..9"},
            "constraints": ["x + y = 9"],
            "assignment": {"x": 4, "y": 6},
        },
    ),
)
