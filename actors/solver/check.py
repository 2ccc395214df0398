"""`reason.check` inside the worker: does a proposed answer hold, what does it break, can it be completed."""

import json
from collections.abc import Mapping
from typing import Any, Final

from protocol.action import Outcome
from protocol.actions.reason import Judged, Violated

from .clock import Budget
from .dsl.declarations import Declarations
from .dsl.evaluator import Evaluator
from .dsl.faults import Defect, ProblemError, listing
from .dsl.problem import Problem
from .dsl.proposed import Cells, in_domain, read_assignment
from .dsl.types import spell
from .dsl.values import Unreadable
from .encoding.model import literal, shown
from .encoding.whole import encode
from .search.conflict import explain
from .search.engine import Engine

_LISTED_MAX: Final = 200


def check(problem: Problem, params: Mapping[str, Any], budget: Budget) -> Outcome:
    """Judge an assignment; a whole one by the evaluator alone, a partial one with Z3's help."""
    proposed, notes = _proposed(params.get("assignment"))
    cells = read_assignment(problem.declarations, proposed)
    encoded = encode(problem)
    notes += [*problem.notes, *encoded.encoder.notes]
    outside = _outside(problem.declarations, cells)
    missing = _missing(problem.declarations, cells)
    if missing and not outside:
        return _partial(problem, Engine(problem, encoded.encoder, encoded.parts, budget), cells, missing, tuple(notes))
    broken = outside + ([] if missing else _broken(problem, cells, notes))
    return _judged(Judged(result="violated" if broken else "holds", violated=broken, unassigned=missing), tuple(notes))


def _proposed(value: Any) -> tuple[dict[str, Any], list[str]]:
    notes: list[str] = []
    if isinstance(value, str):
        try:
            value = json.loads(value)
            notes.append("assignment was JSON in a string and was decoded")
        except (ValueError, RecursionError):
            pairs = [
                part.partition("=") for part in value.replace(";", ",").replace("\n", ",").split(",") if part.strip()
            ]
            value = {name.strip(): text.strip("= ") for name, _, text in pairs}
    if isinstance(value, list):
        merged: dict[str, Any] = {}
        for item in value:
            merged |= item if isinstance(item, dict) else {}
        value = merged
    if not isinstance(value, dict):
        raise ProblemError(
            [Defect(where="assignment", problem="this is not an assignment", fix='give name -> value: {"x": 3}')]
        )
    return value, notes


def _outside(declarations: Declarations, cells: Cells) -> list[Violated]:
    found: list[Violated] = []
    for name, values in cells.items():
        kind = declarations.symbols[name].type
        for index, value in values.items():
            if not in_domain(kind, value):
                label = name + (f"[{','.join(map(str, index))}]" if index else "")
                found.append(Violated(name=f"range of {label}", text=f"{label}: {spell(kind)}"))
    return found


def _missing(declarations: Declarations, cells: Cells) -> list[str]:
    found: list[str] = []
    for symbol in declarations.symbols.values():
        open_ones = [index for index in declarations.cells(symbol) if index not in cells[symbol.name]]
        if open_ones and len(open_ones) == sum(1 for _ in declarations.cells(symbol)):
            found.append(symbol.name)
        else:
            found += [f"{symbol.name}[{','.join(map(str, index))}]" for index in open_ones]
    return found


def _broken(problem: Problem, cells: Cells, notes: list[str]) -> list[Violated]:
    evaluator = Evaluator(problem.declarations, cells)
    found: list[Violated] = []
    for item in problem.constraints:
        try:
            held = evaluator.holds(item.node)
        except (Unreadable, ZeroDivisionError, OverflowError) as error:
            notes.append(f"{item.name} could not be evaluated: {error}")
            continue
        if not held:
            found.append(Violated(name=item.name, text=item.text, note=item.note))
    return found


def _partial(problem: Problem, engine: Engine, cells: Cells, missing: list[str], notes: tuple[str, ...]) -> Outcome:
    pins: list[Any] = []
    for name, values in cells.items():
        kind = problem.declarations.symbols[name].type
        pins += [engine.encoder.cells[name][index] == literal(kind, value) for index, value in values.items()]
    result, completion = engine.find(*pins)
    if result == "sat" and completion is not None:
        judged = Judged(
            result="incomplete",
            unassigned=missing[:_LISTED_MAX],
            completable=True,
            completion=shown(problem.declarations, completion),
        )
        return _judged(judged, notes)
    if result == "unknown":
        return _judged(Judged(result="unknown", unassigned=missing[:_LISTED_MAX], reason=engine.reason), notes)
    engine.encoder.domains.extend(pins)
    conflict = explain(engine.tracked(problem.constraints), engine.budget)
    members = conflict.members if conflict else []
    broken = [Violated(name=one.name, text=one.text, note=one.note) for one in members]
    return _judged(
        Judged(result="violated", violated=broken, unassigned=missing[:_LISTED_MAX], completable=False), notes
    )


def _judged(judged: Judged, notes: tuple[str, ...]) -> Outcome:
    names = listing([one.name for one in judged.violated], 6)
    match judged.result:
        case "holds":
            return Outcome(summary="The assignment satisfies every constraint.", data=judged, notes=notes)
        case "violated" if judged.unassigned and judged.completable is False:
            summary = "The partial assignment cannot be completed" + (f": it clashes with {names}." if names else ".")
            return Outcome(
                summary=summary, data=judged, notes=notes, next_action="Change a value that these constraints mention."
            )
        case "violated":
            return Outcome(
                summary=f"The assignment violates {names}.",
                data=judged,
                notes=notes,
                next_action="Correct it, or call reason.solve.",
            )
        case "incomplete":
            summary = (
                f"Nothing is violated so far and it can be completed; still open: {listing(judged.unassigned, 8)}."
            )
            return Outcome(summary=summary, data=judged, notes=notes)
        case _:
            return Outcome(
                summary=f"Unknown: Z3 gave up ({judged.reason}).",
                data=judged,
                notes=notes,
                severity="WARN",
                partial=True,
                next_action="Allow more time.",
            )
