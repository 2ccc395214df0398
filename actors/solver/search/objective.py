"""The best solution: found by Z3's optimiser or by stepping, and always re-checked by asking for a better one.

Z3's optimiser answers `sat` with a far-off model for unbounded and unattained optima, and throws when its time is
out; so its word is taken for a hint, and the plain solver has the last one.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, Literal

import z3
from msgspec import Struct

from ..clock import Budget
from ..dsl.values import Assignment
from ..encoding.model import value_of
from ..encoding.terms import Term, str_int
from .engine import Engine, Result

Optimum = Literal["proved", "best_so_far", "unbounded", "not_attained"]
_OPTIMISER_SHARE: Final = 0.5
_DOUBLINGS_MAX: Final = 200
_ROUNDS_MAX: Final = 10_000


class Best(Struct, kw_only=True):
    """The best solution known. `bound`: what the objective comes near without attaining it."""

    values: Assignment
    objective: Any
    optimum: Optimum
    bound: Any = None


Tell = Callable[[Best], None]


def numeral(value: int | Fraction, kind: str) -> Any:
    """A constant of the objective's kind."""
    exact = Fraction(value)
    if kind == "real":
        return z3.Q(str_int(exact.numerator), str_int(exact.denominator))
    return z3.IntVal(str_int(int(exact)))


class Climb:
    """Improves one objective from a first solution on."""

    def __init__(self, engine: Engine, goal: Term, hard: list[Any], *, maximize: bool, tell: Tell) -> None:
        self.engine = engine
        self.kind = goal.kind
        self.goal = goal.value if not goal.constant else numeral(goal.value, goal.kind)
        self.hard = hard
        self.maximize = maximize
        self.tell = tell

    def better(self, than: int | Fraction, by: int | Fraction = 0) -> Any:
        """The objective is better than a value, by at least `by` when that is given."""
        limit = numeral(than + by if self.maximize else than - by, self.kind)
        if by:
            return self.goal >= limit if self.maximize else self.goal <= limit
        return self.goal > limit if self.maximize else self.goal < limit

    def find(self, *more: Any, budget: Budget) -> tuple[Result, Assignment | None, Any]:
        """A solution with its objective."""
        result, model = self.engine.ask(*self.hard, *more, budget=budget)
        if model is None:
            return result, None, None
        return result, self.engine.values(model), value_of(model.eval(self.goal, model_completion=True))

    def run(self, first: Assignment, objective: Any, budget: Budget) -> Best:
        """The best that the budget allows."""
        best = Best(values=first, objective=objective, optimum="best_so_far")
        self.tell(best)
        hint = self._optimiser(budget.share(_OPTIMISER_SHARE))
        if hint is not None and hint[0] in {"unbounded", "not_attained"}:
            return self._beyond(best, hint, budget)
        if hint is not None and hint[0] == "value":
            best = self._from_hint(best, hint[1], budget)
        return self._steps(best, budget)

    def _from_hint(self, best: Best, value: Any, budget: Budget) -> Best:
        result, values, objective = self.find(self.goal == numeral(value, self.kind), budget=budget)
        if result != "sat" or values is None:
            return best
        better = objective > best.objective if self.maximize else objective < best.objective
        return Best(values=values, objective=objective, optimum="best_so_far") if better else best

    def _steps(self, best: Best, budget: Budget) -> Best:
        """Ask for better, in doubling strides over whole numbers, until there is none."""
        stride, growing = 1, 0
        for _ in range(_ROUNDS_MAX):
            by = stride if self.kind == "int" else 0
            result, values, objective = self.find(self.better(best.objective, by), budget=self._slice(stride, budget))
            if result == "sat" and values is not None:
                best = Best(values=values, objective=objective, optimum="best_so_far")
                self.tell(best)
                growing += 1
                stride = stride * 2 if self.kind == "int" else 1
                if growing > _DOUBLINGS_MAX:
                    return best
            elif stride > 1:
                stride, growing = (1 if result == "unknown" else max(1, stride // 4)), 0
            else:
                best.optimum = "proved" if result == "unsat" else "best_so_far"
                return best
        return best

    @staticmethod
    def _slice(stride: int, budget: Budget) -> Budget:
        """A long stride that does not answer soon is not worth all the time."""
        return budget.share(0.25) if stride > 1 else budget

    def _optimiser(self, budget: Budget) -> tuple[str, Any] | None:
        """What Z3's optimiser thinks: a value, unbounded, or a bound that is not attained; None when it gives up."""
        optimiser = z3.Optimize()
        optimiser.set("timeout", budget.left_ms())
        optimiser.add(*self.engine.encoder.domains, *self.engine.parts, *self.hard)
        handle = optimiser.maximize(self.goal) if self.maximize else optimiser.minimize(self.goal)
        try:
            if optimiser.check() != z3.sat:
                return None
            infinite, finite, epsilon = (optimiser.upper_values if self.maximize else optimiser.lower_values)(handle)
        except z3.Z3Exception:
            return None
        try:
            parts = [value_of(z3.simplify(part)) for part in (infinite, finite, epsilon)]
        except ValueError:
            return None
        if parts[0] != 0:
            return "unbounded", None
        return ("not_attained", parts[1]) if parts[2] != 0 else ("value", parts[1])

    def _beyond(self, best: Best, hint: tuple[str, Any], budget: Budget) -> Best:
        """Check the claim of no optimum: something far better, or nothing at the bound and something near it."""
        if hint[0] == "unbounded":
            far = Fraction(10) ** 9 * (1 if self.maximize else -1)
            result, values, objective = self.find(self.better(far), budget=budget)
            if result == "sat" and values is not None:
                return Best(values=values, objective=objective, optimum="unbounded")
            return self._steps(best, budget)
        bound = Fraction(hint[1])
        at_bound, _, _ = self.find(
            self.goal >= numeral(bound, "real") if self.maximize else self.goal <= numeral(bound, "real"), budget=budget
        )
        if at_bound != "unsat":
            return self._steps(best, budget)
        near = Fraction(1, 1000) * max(1, abs(bound))
        result, values, objective = self.find(
            self.better(bound - near if self.maximize else bound + near), budget=budget
        )
        if result == "sat" and values is not None:
            return Best(values=values, objective=objective, optimum="not_attained", bound=bound)
        best.bound = bound
        return best
