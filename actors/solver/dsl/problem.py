"""A whole request read: declarations, constraints, wishes, objective and options, all faults found in one pass."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, Literal

from msgspec import Struct

from .declarations import Declarations, declare
from .faults import Defect, ExpressionError, ProblemError
from .prefix import build, operator_of
from .syntax import Node

CONSTRAINTS_MAX: Final = 5_000
_NAME_KEYS: Final = ("name", "id", "label")
_EXPR_KEYS: Final = ("expr", "expression", "constraint", "formula")
_NOTE_KEYS: Final = ("note", "comment", "text", "description", "because")

Ask = Literal["must", "may", "cannot", "not_must", "accurate"]


class Item(Struct, frozen=True, kw_only=True):
    """One constraint, wish or option: its name, its text as written, the user's sentence, its tree."""

    where: str
    name: str
    text: str
    node: Node
    note: str = ""
    weight: Fraction = Fraction(1)
    ask: Ask | None = None
    """For a Logic-LM option: what it asks of its statement."""
    also: tuple[Node, ...] = ()
    """For `accurate`: statements each of which must be possible; `node` is their disjunction."""


class Problem(Struct, kw_only=True):
    """A request that was understood."""

    declarations: Declarations
    constraints: list[Item]
    soft: list[Item] = []
    options: list[Item] = []
    objective: Item | None = None
    maximize: bool = True
    notes: list[str] = []
    defects: list[Defect] = []
    """What could not be read; told together with what cannot be encoded."""
    pick: Literal["holds", "differs"] = "holds"
    """How Logic-LM's options answer: the ones that hold, or the one that differs from the others."""


class Reader:
    """Collects items and defects."""

    def __init__(self) -> None:
        self.defects: list[Defect] = []
        self.notes: list[str] = []

    def item(self, where: str, name: str, value: Any) -> Item | None:
        """One item in any spelling; None when it is faulty, which is noted."""
        expression, note, weight = value, "", Fraction(1)
        if isinstance(value, Mapping) and "op" not in value and "var" not in value:
            name = str(_first(value, _NAME_KEYS) or name)[:200]
            note = str(_first(value, _NOTE_KEYS) or "")[:1000]
            expression = _first(value, _EXPR_KEYS)
            if expression is None and isinstance(value.get("text"), str):
                expression, note = value["text"], ""
            if expression is None:
                self._fault(where, name, value, ExpressionError("expr is missing", fix='write {"expr": "x < 3"}'))
                return None
        text = expression if isinstance(expression, str) else json.dumps(expression, ensure_ascii=False)
        if isinstance(expression, str) and ":::" in expression and not note:
            expression, _, note = (part.strip() for part in expression.partition(":::"))
            text = expression
        try:
            weight = _weight(value)
            return Item(where=where, name=name, text=text[:4096], node=build(expression), note=note, weight=weight)
        except ExpressionError as error:
            self._fault(where, name, text, error)
        return None

    def _fault(self, where: str, name: str, text: Any, error: ExpressionError) -> None:
        self.defects.append(defect(where, name, str(text), error))

    def items(self, where: str, value: Any, prefix: str) -> list[Item]:
        """A group of items: a list, an object of named ones, or text with one a line."""
        found: list[Item] = []
        for at, (name, one) in enumerate(self._spread(where, value)):
            if at >= CONSTRAINTS_MAX:
                self.defects.append(
                    Defect(where=where, problem=f"more than {CONSTRAINTS_MAX} entries", fix="use forall(...)")
                )
                break
            item = self.item(
                f"{where}[{at}]" if isinstance(value, list | str) else f"{where}.{name}",
                name or f"{prefix}{at + 1}",
                one,
            )
            if item is not None:
                found.append(item)
        return found

    def _spread(self, where: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, str):
            value = self.unwrapped(where, value)
        if isinstance(value, str):
            yield from (("", line) for line in _lines(value))
        elif isinstance(value, Mapping):
            if "op" in value or any(key in value for key in _EXPR_KEYS):
                yield "", value
            else:
                yield from ((str(name), one) for name, one in value.items())
        elif isinstance(value, list):
            if (
                len(value) > 1
                and isinstance(value[0], str)
                and not any(isinstance(one, Mapping) for one in value)
                and _is_prefix(value)
            ):
                yield "", value
            else:
                yield from (("", one) for one in value)

    def unwrapped(self, where: str, value: str) -> Any:
        """JSON sent as text is decoded once, and the user is told."""
        text = value.strip()
        if text[:1] in {"[", "{"} and text[-1:] in {"]", "}"}:
            try:
                decoded = json.loads(text)
            except (ValueError, RecursionError):
                return value
            if isinstance(decoded, dict) or (
                isinstance(decoded, list) and any(isinstance(one, str | list | dict) for one in decoded)
            ):
                self.notes.append(f"{where} was JSON in a string and was decoded")
                return decoded
        return value


def _is_prefix(value: list[Any]) -> bool:
    """Whether a list is one prefix expression rather than several constraints in text."""
    return bool(re.fullmatch(r"[^\w\s]{1,3}|[A-Za-z_]+|=>", value[0].strip())) and operator_of(value[0]) is not None


def _first(value: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def _weight(value: Any) -> Fraction:
    weight = value.get("weight", value.get("penalty", 1)) if isinstance(value, Mapping) else 1
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < 1e12:  # noqa: PLR2004
        raise ExpressionError(
            f"the weight {str(weight)[:40]} is not a number from 0 to 1e12", fix='write {"expr": "x > 3", "weight": 2}'
        )
    return Fraction(repr(weight))


def _lines(text: str) -> list[str]:
    """One constraint a line; `;` also parts them; empty lines and comments are dropped."""
    lines = [part.strip() for line in text.splitlines() for part in (line.split(";") if ":::" not in line else [line])]
    return [line for line in lines if line and not line.startswith("#")]


def defect(where: str, name: str, text: str, error: ExpressionError) -> Defect:
    """An expression's fault as a defect of the request."""
    return Defect(
        where=where,
        name=name,
        text=text[:300],
        column=error.column,
        problem=error.problem,
        fix=error.fix,
        example=error.example,
    )


def read(params: Mapping[str, Any]) -> Problem:
    """Read `vars`, `types`, `data`, `constraints`, `soft`, `options` and the objective.

    Raises:
        ProblemError: when a declaration is faulty, with every fault found. Other faults are the problem's `defects`.
    """
    reader = Reader()
    declarations = _declarations(reader, params)
    undeclared = bool(reader.defects)
    problem = Problem(
        declarations=declarations,
        constraints=reader.items("constraints", params.get("constraints") or [], "c"),
        soft=reader.items("soft", params.get("soft") or [], "soft"),
        options=_options(reader, params.get("options")),
    )
    for goal in ("maximize", "minimize"):
        if (wanted := params.get(goal)) not in (None, "", []):
            if problem.objective is not None:
                reader.defects.append(
                    Defect(where=goal, problem="both maximize and minimize are given", fix="give one of them")
                )
            problem.objective, problem.maximize = reader.item(goal, goal, wanted), goal == "maximize"
    problem.notes = reader.notes + declarations.notes
    problem.defects = reader.defects
    if undeclared:
        raise ProblemError(reader.defects)
    return problem


def _options(reader: Reader, value: Any) -> list[Item]:
    items = reader.items("options", value or [], "")
    if isinstance(value, list):
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return [
            Item(
                where=item.where,
                name=letters[at] if item.name.isdigit() and at < len(letters) else item.name,
                text=item.text,
                node=item.node,
                note=item.note,
            )
            for at, item in enumerate(items)
        ]
    return items


def _declarations(reader: Reader, params: Mapping[str, Any]) -> Declarations:
    variables = params.get("vars") or {}
    if isinstance(variables, str):
        variables = reader.unwrapped("vars", variables)
    if isinstance(variables, str):
        variables = _declared_lines(variables)
    if isinstance(variables, list):
        variables = _declared_list(reader, variables)
    try:
        return declare(variables, params.get("types"), params.get("data"))
    except ProblemError as error:
        reader.defects.extend(error.defects)
        return Declarations()


def _declared_lines(text: str) -> dict[str, str]:
    """`x: int 1..5` a line, or `x in 1..5`."""
    found: dict[str, str] = {}
    for line in re.split(r"[\n;]", text):
        parts = re.split(r":|∈|\bin\b", line, maxsplit=1)
        for name in parts[0].split(","):
            if name.strip():
                found[name.strip()] = parts[1].strip() if len(parts) > 1 else "int"
    return found


def _declared_list(reader: Reader, items: list[Any]) -> dict[str, Any]:
    """`[{"name": "x", "type": "int", …}, "y: bool"]`."""
    found: dict[str, Any] = {}
    for at, item in enumerate(items):
        where = f"vars[{at}]"
        entries: dict[str, Any] = {}
        if isinstance(item, Mapping) and isinstance(item.get("name"), str):
            rest = {key: value for key, value in item.items() if key != "name"}
            entries = {item["name"]: rest or "int"}
        elif isinstance(item, Mapping):
            entries = dict(item)
        elif isinstance(item, str):
            entries = dict(_declared_lines(item))
        else:
            reader.defects.append(
                Defect(where=where, text=str(item)[:100], problem="this declares nothing", fix='{"x": "int 1..5"}')
            )
        for name, value in entries.items():
            if name in found:
                reader.defects.append(
                    Defect(where=where, name=name, problem=f"{name} is declared twice", fix="remove one of them")
                )
            found[name] = value
    return found


Each = Callable[[Item], None]


def check_each(items: list[Item], encode: Each) -> list[Defect]:
    """Run `encode` on every item and collect what is wrong, instead of stopping at the first."""
    found: list[Defect] = []
    for item in items:
        try:
            encode(item)
        except ExpressionError as error:
            found.append(defect(item.where, item.name, item.text, error))
    return found
