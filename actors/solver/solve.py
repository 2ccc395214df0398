"""`reason.solve` inside the worker: from a problem that was understood to the whole answer."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from protocol.action import Outcome
from protocol.actions.reason import Soft, Solved, Verdict

from .clock import Budget
from .dsl.evaluator import Evaluator
from .dsl.faults import Defect, ProblemError
from .dsl.problem import Problem
from .dsl.values import Assignment, Unreadable
from .encoding.model import show, shown
from .encoding.terms import Term, add, choose, integer, real
from .encoding.whole import Encoded, encode
from .report import sentence
from .search import options as judging
from .search.conflict import explain, with_ranges
from .search.engine import Engine
from .search.objective import Best, Climb, numeral
from .search.remedy import remedies

Tell = Callable[[Outcome], None]
SOLUTIONS_MAX: Final = 1000
_UNIQUE_SHARE: Final = 0.4
_SMT2_MAX: Final = 200_000


def solve(problem: Problem, params: Mapping[str, Any], budget: Budget, tell: Tell) -> Outcome:
    """The whole answer to a problem."""
    encoded = encode(problem)
    return _Run(problem, encoded, params, budget, tell).outcome()


class _Run:
    """One solve: each step adds to the answer, which is told on the way."""

    def __init__(
        self, problem: Problem, encoded: Encoded, params: Mapping[str, Any], budget: Budget, tell: Tell
    ) -> None:
        self.problem = problem
        self.encoded = encoded
        self.budget = budget
        self.wanted = wanted_solutions(params.get("solutions", 1))
        self.show_smt2 = bool(params.get("show_smt2"))
        self.engine = Engine(problem, encoded.encoder, encoded.parts, budget)
        self.notes = [*problem.notes, *encoded.encoder.notes]
        self._tell = tell
        self.answer = Solved(result="unknown")

    def outcome(self) -> Outcome:
        started = time.monotonic()
        result, values = self.engine.find(*self.encoded.hard)
        spent_s = time.monotonic() - started
        if result == "sat" and values is not None:
            self._satisfied(values)
        elif result == "unsat":
            self._set(result="unsat")
            self._tell(self._finish())
            tracked, budget = self.engine.tracked(self.problem.constraints), self.budget.sized(spent_s)
            if (conflict := explain(tracked, budget)) is not None:
                conflict = with_ranges(conflict, tracked, self.problem.declarations, budget)
                self._set(conflict=conflict)
                self._tell(self._finish())
                self._set(conflict=msgspec.structs.replace(conflict, remedies=remedies(self.problem, conflict, budget)))
            else:
                self.notes.append("no time was left to find out which constraints are in conflict")
        else:
            self._set(result="unknown", reason=self.engine.reason)
        return self._finish()

    def _set(self, **changes: Any) -> None:
        self.answer = msgspec.structs.replace(self.answer, **changes)

    def _finish(self) -> Outcome:
        if self.show_smt2:
            text = self.engine.solver.to_smt2()
            self._set(smt2=text if len(text) <= _SMT2_MAX else text[:_SMT2_MAX])
        return sentence(self.answer, tuple(dict.fromkeys(self.notes)))

    def _satisfied(self, values: Assignment) -> None:
        self._solution(values)
        self._tell(self._finish())
        pinned: list[Any] = list(self.encoded.hard)
        if self.encoded.goal is not None:
            values, pins = self._optimise(values, self.encoded.goal, self.problem.maximize, pinned)
            pinned += pins
        if self.problem.soft:
            values, pins = self._wishes(values, pinned)
            pinned += pins
        if self.problem.options:
            self._judge()
        self._others(values, pinned)

    def _solution(self, values: Assignment) -> None:
        self._set(result="sat", model=shown(self.problem.declarations, values), verified=self._verified(values))

    def _verified(self, values: Assignment) -> bool | None:
        """Whether the independent evaluator finds every constraint true; None where it cannot say."""
        evaluator = Evaluator(self.problem.declarations, values)
        try:
            broken = [item for item in self.problem.constraints if not evaluator.holds(item.node)]
        except (Unreadable, ZeroDivisionError, OverflowError, RecursionError) as error:
            self.notes.append(f"the solution could not be re-checked: {error}")
            return None
        for item in broken:
            self.notes.append(f"the second evaluator finds {item.name} violated: {item.text}; please report this")
        return not broken

    def _optimise(
        self, values: Assignment, goal: Term, maximize: bool, hard: list[Any]
    ) -> tuple[Assignment, list[Any]]:
        def told(best: Best) -> None:
            self._take(best)
            self._tell(self._finish())

        climb = Climb(self.engine, goal, hard, maximize=maximize, tell=told)
        result, first, objective = climb.find(budget=self.budget)
        if result != "sat" or first is None:
            self._set(optimum="best_so_far")
            return values, []
        best = climb.run(first, objective, self.budget)
        self._take(best)
        if best.optimum != "proved":
            return best.values, []
        return best.values, [climb.goal == numeral(best.objective, climb.kind)]

    def _take(self, best: Best) -> None:
        self._solution(best.values)
        objective = show(best.bound) if best.bound is not None else show(best.objective)
        self._set(optimum=best.optimum, objective=None if best.optimum == "unbounded" else objective)

    def _wishes(self, values: Assignment, hard: list[Any]) -> tuple[Assignment, list[Any]]:
        """Grant as much weight of the soft constraints as can be, the objective kept."""
        parts = [
            choose(part, Term("real", item.weight), real(0))
            if item.weight.denominator != 1
            else choose(part, integer(int(item.weight)), integer(0))
            for item, part in zip(self.problem.soft, self.encoded.soft, strict=True)
        ]
        objective, optimum = self.answer.objective, self.answer.optimum
        best, pins = self._optimise(values, add(parts), True, hard)
        complete = self.answer.optimum == "proved"
        if self.encoded.goal is not None:
            self._set(objective=objective, optimum=optimum if complete else "best_so_far")
        self._set(soft=self._granted(best))
        return best, pins

    def _granted(self, values: Assignment) -> list[Soft]:
        evaluator = Evaluator(self.problem.declarations, values)
        return [
            Soft(
                name=item.name,
                text=item.note or item.text,
                weight=show(item.weight),
                granted=evaluator.holds(item.node),
            )
            for item in self.problem.soft
        ]

    def _judge(self) -> None:
        verdicts: list[Verdict] = []
        for item, part in zip(self.problem.options, self.encoded.options, strict=True):
            verdicts.append(judging.judge(self.engine, item, part, self.budget))
            self._set(options=list(verdicts))
        self._set(answer=judging.answer(verdicts, self.problem.pick))
        self._tell(self._finish())

    def _others(self, values: Assignment, pinned: list[Any]) -> None:
        """Whether there is another solution, and as many as were asked for."""
        if self.answer.optimum not in (None, "proved"):
            return
        found = [values]
        listed = self.wanted > 1
        budget = self.budget if listed else self.budget.share(_UNIQUE_SHARE)
        self.engine.add(*pinned)
        complete: bool | None = None
        while len(found) < max(2, self.wanted + 1 if self.wanted < SOLUTIONS_MAX else self.wanted):
            other = self.engine.differs(found[-1])
            if other is None:
                break
            self.engine.add(other)
            result, next_values = self.engine.find(budget=budget)
            if result != "sat" or next_values is None:
                complete = True if result == "unsat" else None
                break
            found.append(next_values)
        self._count(found, complete)

    def _count(self, found: list[Assignment], complete: bool | None) -> None:
        declarations = self.problem.declarations
        if len(found) > 1:
            self._set(unique=False)
        elif complete:
            self._set(unique=True)
        else:
            self.notes.append("whether the solution is unique was not settled in time")
        if self.wanted > 1:
            kept = found[: self.wanted]
            checked = [self._verified(values) for values in kept]
            self._set(
                solutions=[shown(declarations, values) for values in kept],
                complete=bool(complete) and len(found) <= self.wanted,
                verified=all(checked) if None not in checked else self.answer.verified,
            )
        elif len(found) > 1:
            self._set(second=shown(declarations, found[1]))


def wanted_solutions(value: Any) -> int:
    """How many solutions to list: 1 to 1000, "all" means 1000.

    Raises:
        ProblemError: for anything else.
    """
    if isinstance(value, str):
        value = SOLUTIONS_MAX if value.strip().lower() == "all" else int(value) if value.strip().isdigit() else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ProblemError(
            [
                Defect(
                    where="solutions",
                    text=str(value)[:40],
                    problem="not a number of solutions",
                    fix='write a number from 1, or "all"',
                )
            ]
        )
    return min(value, SOLUTIONS_MAX)
