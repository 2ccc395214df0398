"""What would make an unsatisfiable problem satisfiable: wider ranges, or one constraint less; and what is then so.

A small model that reads "c1 and c4 contradict" calls again with the same words; one that reads what follows without
either can see which of them it meant (docs/decisions/029).
"""

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from protocol.actions.reason import Conflict, Remedy

from ..clock import Budget
from ..dsl.declarations import Declarations
from ..dsl.evaluator import Evaluator
from ..dsl.faults import ProblemError
from ..dsl.problem import Item, Problem
from ..dsl.types import IntType, Type, spell
from ..dsl.values import Assignment, Unreadable
from ..encoding.model import shown
from ..encoding.whole import encode
from .conflict import explain
from .engine import Engine, Result

_LEFT_OUT_MAX: Final = 3
_WIDER_MAX: Final = 1024
"""Values that a range is widened by at most, in each direction."""
_UP_DOWN_BOTH: Final = (((0, 1), (1, 0)), ((1, 1),))


def remedies(problem: Problem, conflict: Conflict, budget: Budget) -> list[Remedy]:
    """What helps when it is left out, one constraint or two, then the smallest widening of the ranges that take part.

    Ranges that rule out one constraint alone are what is wrong; leaving that constraint out is then not offered.
    """
    alone_in_ranges = bool(conflict.ranges) and len(conflict.members) == 1
    found = [] if alone_in_ranges else _left_out(problem, conflict, budget)
    wider = _wider(problem, conflict, budget) if conflict.ranges else None
    return [*found, wider] if wider else found


def _left_out(problem: Problem, conflict: Conflict, budget: Budget, before: tuple[str, ...] = ()) -> list[Remedy]:
    """What holds without each constraint that helps; where no single one does, without one and another."""
    helpful = [member for member in conflict.members if member.dropping_it_helps]
    found: dict[frozenset[str], Remedy] = {}
    for member in (helpful or ([] if before else conflict.members))[:_LEFT_OUT_MAX]:
        at = next(at for at, item in enumerate(problem.constraints) if _said(item) == (member.name, member.text))
        rest = [item for other, item in enumerate(problem.constraints) if other != at]
        attempt = _Attempt(msgspec.structs.replace(problem, constraints=rest), budget)
        names = (*before, member.name)
        if attempt.result == "sat":
            found[frozenset(names)] = attempt.remedy(without=names)
        elif not before and (other := attempt.conflict()):
            found |= {frozenset(one.without): one for one in _left_out(attempt.problem, other, budget, names)}
    return list(found.values())[:_LEFT_OUT_MAX]


def _said(item: Item) -> tuple[str, str]:
    return item.name, item.text


class _Attempt:
    """One changed problem, solved."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.problem, self._budget = problem, budget
        self._engine: Engine | None = None
        self._values: Assignment | None = None
        self.result: Result = "unknown"
        if budget.spent():
            return
        try:
            encoded = encode(problem)
        except ProblemError:  # what fitted the ranges that were declared need not fit others
            return
        self._engine = Engine(problem, encoded.encoder, encoded.parts, budget)
        self.result, self._values = self._engine.find(*encoded.hard)

    def conflict(self) -> Conflict | None:
        """Why this one has no solution either."""
        if self._engine is None or self.result != "unsat":
            return None
        return explain(self._engine.tracked(self.problem.constraints), self._budget)

    def remedy(self, *, without: Sequence[str] = (), ranges: Mapping[str, list[str]] | None = None) -> Remedy:
        """What was changed, and the solution, where the constraints alone say what is wanted."""
        remedy = Remedy(without=list(without), ranges=dict(ranges or {}))
        plain = not (self.problem.soft or self.problem.options or self.problem.objective)
        if self._engine is None or self._values is None or not plain or not self._verified(self._values):
            return remedy
        differs = self._engine.differs(self._values)
        other = "unsat" if differs is None else self._engine.check(differs)
        return msgspec.structs.replace(
            remedy,
            model=shown(self.problem.declarations, self._values),
            unique=None if other == "unknown" else other == "unsat",
        )

    def _verified(self, values: Assignment) -> bool:
        evaluator = Evaluator(self.problem.declarations, values)
        try:
            return all(evaluator.holds(item.node) for item in self.problem.constraints)
        except (Unreadable, ZeroDivisionError, OverflowError, RecursionError):
            return False


def _wider(problem: Problem, conflict: Conflict, budget: Budget) -> Remedy | None:
    """The smallest widening with which everything can hold, or at least the constraints in conflict."""
    guilty = {problem.declarations.symbols[name].type for names in conflict.ranges.values() for name in names}
    kinds = {kind for kind in guilty if isinstance(kind, IntType) and None not in (kind.low, kind.high)}
    if not kinds:
        return None
    said = {(member.name, member.text) for member in conflict.members}
    members = [item for item in problem.constraints if _said(item) in said]
    whole, conflicting = problem, msgspec.structs.replace(problem, constraints=members)
    for part in (whole, conflicting):
        for directions in _UP_DOWN_BOTH:
            found = [one for way in directions if (one := _smallest(part, kinds, way, budget))]
            if found:
                best = min(found, key=lambda one: one.more)
                return best.remedy(ranges=best.ranges) if part is whole else Remedy(ranges=best.ranges)
    return None


class _Wider(_Attempt):
    """The problem with some ranges wider by `more` values."""

    def __init__(
        self, problem: Problem, kinds: Collection[Type], direction: tuple[int, int], more: int, budget: Budget
    ) -> None:
        declarations, self.ranges = _widened(problem.declarations, kinds, direction, more)
        self.more = more
        super().__init__(msgspec.structs.replace(problem, declarations=declarations), budget)


def _smallest(problem: Problem, kinds: Collection[Type], direction: tuple[int, int], budget: Budget) -> _Wider | None:
    """The satisfiable widening by the fewest values, doubling, then halving; None when none is found in time."""
    best = _Wider(problem, kinds, direction, _WIDER_MAX, budget)
    if best.result != "sat":
        return None
    too_few, more = 0, 1
    while best.more - too_few > 1:
        tried = _Wider(problem, kinds, direction, more, budget)
        if tried.result == "unknown":
            return None
        if tried.result == "sat":
            best = tried
        else:
            too_few = more
        more = min(2 * more, (too_few + best.more) // 2)
    return best


def _widened(
    declarations: Declarations, kinds: Collection[Type], direction: tuple[int, int], more: int
) -> tuple[Declarations, dict[str, list[str]]]:
    """The declarations with every variable of these types widened, and those variables by their new range."""
    changed = copy.copy(declarations)
    changed.symbols = dict(declarations.symbols)
    ranges: dict[str, list[str]] = {}
    for name, symbol in declarations.symbols.items():
        if symbol.type in kinds and isinstance(symbol.type, IntType):
            low, high = symbol.type.low or 0, symbol.type.high or 0
            kind = IntType(low - direction[0] * more, high + direction[1] * more)
            changed.symbols[name] = msgspec.structs.replace(symbol, type=kind)
            ranges.setdefault(spell(kind), []).append(name)
    return changed, ranges
