"""A whole problem in Z3's form, with every expression that does not fit found in one pass."""

from typing import Any

import msgspec

from ..dsl.faults import Defect, ProblemError
from ..dsl.names import undeclared, unknown_calls
from ..dsl.problem import Item, Problem, check_each, defect
from .complaints import undeclared as undeclared_name
from .complaints import unknown_function
from .encoder import Encoder
from .terms import Term


class Encoded(msgspec.Struct, kw_only=True):
    """The Z3 form of a problem."""

    encoder: Encoder
    parts: list[Any]
    soft: list[Any]
    options: list[Any]
    goal: Term | None
    hard: list[Any]
    """What the objective asks for, to be defined at all."""


def encode(problem: Problem) -> Encoded:
    """Encode everything; all faults are found in one pass.

    Raises:
        ProblemError: names that nothing declares, and every expression that does not fit.
    """
    items = [*problem.constraints, *problem.soft, *problem.options, *([problem.objective] if problem.objective else [])]
    encoder = Encoder(problem.declarations)
    defects = problem.defects + _undeclared(problem, items)
    faulty = {defect.where for defect in defects}
    terms: dict[str, Any] = {}

    def encode_truth(item: Item) -> None:
        if item.where not in faulty:
            terms[item.where] = encoder.constraint(item.node)

    def encode_goal(item: Item) -> None:
        if item.where not in faulty:
            terms[item.where] = encoder.objective(item.node)

    defects += check_each([*problem.constraints, *problem.soft, *problem.options], encode_truth)
    if problem.objective:
        defects += check_each([problem.objective], encode_goal)
    if defects:
        raise ProblemError(defects)
    return Encoded(
        encoder=encoder,
        parts=[terms[item.where] for item in problem.constraints],
        soft=[terms[item.where] for item in problem.soft],
        options=[terms[item.where] for item in problem.options],
        goal=terms[problem.objective.where] if problem.objective else None,
        hard=encoder.pending(),
    )


def _undeclared(problem: Problem, items: list[Item]) -> list[Defect]:
    found: list[Defect] = []
    for item in items:
        found += [
            defect(item.where, item.name, item.text, unknown_function(problem.declarations, call).at(call.column))
            for call in unknown_calls(problem.declarations, item.node)
        ]
    for name, users in undeclared(problem.declarations, items).items():
        error = undeclared_name(problem.declarations, name)
        found += [
            Defect(
                where=user.where,
                name=user.name,
                text=user.text[:300],
                column=max(0, user.text.find(name) + 1),
                problem=error.problem,
                fix=error.fix,
                add=error.example,
            )
            for user in users
        ]
    return found
