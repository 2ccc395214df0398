"""One Z3 solver under the budget: hard constraints with a switch each, checks that never run past the deadline."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import z3

from ..clock import Budget
from ..dsl.declarations import Declarations
from ..dsl.problem import Item, Problem
from ..dsl.types import IndexValue
from ..dsl.values import Assignment
from ..encoding.encoder import Encoder
from ..encoding.model import assignment, literal

Result = Literal["sat", "unsat", "unknown"]
_CORE_S: Final = 1.0
_RESCUE_SHARE: Final = 0.5
_SECOND_OPINIONS: Final = ("finite domain", "combined")


class Engine:
    """The constraints of one problem inside Z3.

    Attributes:
        problem: what was asked.
        encoder: its cells and notes.
        parts: the Z3 truth value of each constraint, in order.
        reason: why the last check was unknown: timeout, memory, or incomplete.
        exhausted: Z3 ran out of memory; it is not used any more, since then even `pop` fails ("unreachable", measured).
    """

    def __init__(self, problem: Problem, encoder: Encoder, parts: Sequence[Any], budget: Budget) -> None:
        self.problem = problem
        self.encoder = encoder
        self.parts = list(parts)
        self.budget = budget
        self.reason = ""
        self.exhausted = False
        self.finite = problem.declarations.finite()
        self.solver = new_solver(finite=self.finite)
        self._others: dict[str, z3.Solver] = {}
        self.add(*encoder.domains, *self.parts)

    @property
    def declarations(self) -> Declarations:
        return self.problem.declarations

    def add(self, *parts: Any) -> None:
        """Add constraints for good."""
        if self.exhausted:
            return
        for solver in (self.solver, *self._others.values()):
            solver.add(*parts)

    def check(self, *more: Any, budget: Budget | None = None) -> Result:
        """Check the constraints, and `more` with them, within the budget."""
        return self.ask(*more, budget=budget)[0]

    def find(self, *more: Any, budget: Budget | None = None) -> tuple[Result, Assignment | None]:
        """Check, and the values of a model when there is one."""
        result, model = self.ask(*more, budget=budget)
        return result, None if model is None else self.values(model)

    def ask(self, *more: Any, budget: Budget | None = None) -> tuple[Result, z3.ModelRef | None]:
        """Check the constraints with `more`; `reason` says why it is unknown.

        A finite problem that the SMT core does not settle in a second goes to Z3's bit-blasting finite-domain
        solver for half of the rest (measured: cryptarithms from 29 to 13 s), and then to its combined solver,
        which is the strongest on products.
        """
        budget = budget or self.budget
        if not self.finite:
            return self._ask(self.solver, more, budget)
        result, model = self._ask(self.solver, more, budget.within(_CORE_S))
        for name in _SECOND_OPINIONS:
            if result != "unknown" or budget.spent():
                break
            last = name == _SECOND_OPINIONS[-1]
            result, model = self._ask(self._other(name), more, budget if last else budget.share(_RESCUE_SHARE))
        return result, model

    def _other(self, name: str) -> z3.Solver:
        if name not in self._others:
            solver = z3.SolverFor("QF_FD") if name == "finite domain" else new_solver(finite=False)
            solver.add(*self.solver.assertions())
            self._others[name] = solver
        return self._others[name]

    def _ask(self, solver: z3.Solver, more: Sequence[Any], budget: Budget) -> tuple[Result, z3.ModelRef | None]:
        if self.exhausted or budget.spent():
            self.reason = "memory" if self.exhausted else "timeout"
            return "unknown", None
        try:
            solver.push()
            solver.add(*more)
            result, self.reason = verdict(solver, budget)
            model = solver.model() if result == "sat" else None
        except z3.Z3Exception as error:
            if reason_of(str(error)) != "memory":
                raise
            result, self.reason, model = "unknown", "memory", None
        self.exhausted = self.reason == "memory"
        if not self.exhausted:
            solver.pop()
        return result, model

    def values(self, model: z3.ModelRef) -> Assignment:
        """Plain values of a model."""
        return assignment(self.declarations, self.encoder.cells, model)

    def differs(self, values: Assignment) -> Any | None:
        """Some value is another one; None when the values are all irrational and cannot be excluded."""
        parts: list[Any] = []
        for name, cells in self.encoder.cells.items():
            kind = self.declarations.symbols[name].type
            for index, cell in cells.items():
                value = literal(kind, _at(values, name, index))
                if value is not None:
                    parts.append(cell != value)
        return z3.Or(parts) if parts else None

    def tracked(self, items: Sequence[Item]) -> "Tracked":
        """A second solver in which each constraint has a switch, to find conflicts."""
        return Tracked(self.encoder.domains, self.parts, items, finite=self.declarations.finite())


class Tracked:
    """Constraints behind switches: which of them cannot hold together."""

    def __init__(
        self, domains: Sequence[Any], parts: Sequence[Any], items: Sequence[Item], *, finite: bool = False
    ) -> None:
        self.items = list(items)
        self.solver = new_solver(finite=finite)
        self.solver.add(*domains)
        self._parts = list(parts)
        self._switches = [z3.Bool(f"switch!{at}") for at in range(len(self.items))]
        for switch, part in zip(self._switches, self._parts, strict=True):
            self.solver.add(z3.Implies(switch, part))

    def check(self, chosen: Sequence[int], budget: Budget) -> Result:
        """Check with these constraints only."""
        return "unknown" if budget.spent() else verdict(self.solver, budget, *(self._switches[at] for at in chosen))[0]

    def unbounded(self, chosen: Sequence[int], budget: Budget) -> Result:
        """Check with these constraints only, and without the declared ranges."""
        solver = new_solver(finite=False)
        solver.push()  # without, Z3 takes tactics that start a thread of their own, after which a zygote cannot fork
        solver.add(*(self._parts[at] for at in chosen))
        return "unknown" if budget.spent() else verdict(solver, budget)[0]

    def core(self) -> list[int]:
        """The constraints that Z3 names guilty after an unsat."""
        names = {str(switch): at for at, switch in enumerate(self._switches)}
        return sorted(names[str(switch)] for switch in self.solver.unsat_core())

    def satisfied(self) -> list[int]:
        """All constraints that the model of the last sat satisfies, chosen or not."""
        model = self.solver.model()
        return [at for at, part in enumerate(self._parts) if z3.is_true(model.eval(part, model_completion=True))]


def verdict(solver: z3.Solver, budget: Budget, *assumptions: Any) -> tuple[Result, str]:
    """One check within the budget, and the reason when it is unknown."""
    solver.set("timeout", budget.left_ms())
    try:
        result = solver.check(*assumptions)
    except z3.Z3Exception as error:
        return "unknown", reason_of(str(error))
    if result == z3.unknown:
        return "unknown", reason_of(solver.reason_unknown())
    return ("sat" if result == z3.sat else "unsat"), ""


def _at(values: Assignment, name: str, index: tuple[IndexValue, ...]) -> Any:
    return values[name][index]


def new_solver(*, finite: bool) -> z3.Solver:
    """A solver with a fixed seed, so that answers repeat.

    Where all values come from finite sets, Z3's plain SMT core is taken: measured twice as fast as its combined
    solver on grids and cryptarithms, which in turn is stronger on real and nonlinear arithmetic.
    """
    solver = z3.SimpleSolver() if finite else z3.Solver()
    solver.set("random_seed", 0)
    return solver


def reason_of(text: str) -> str:
    """Z3's words for giving up, in ours: timeout, memory, or incomplete with what Z3 said."""
    folded = text.lower()
    if "timeout" in folded or "cancel" in folded or "interrupted" in folded or "resource" in folded:
        return "timeout"
    return "memory" if "memory" in folded else f"incomplete ({text[:120]})"
