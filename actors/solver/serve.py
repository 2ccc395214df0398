"""One task inside the worker: which spelling it is in, and what serves it."""

from collections.abc import Callable

from protocol.action import Outcome
from protocol.errors import Fault

from .check import check
from .clock import Budget
from .dsl.faults import Defect, ProblemError
from .dsl.logiclm import read_program
from .dsl.problem import Problem, read
from .dsl.spelling import respelled
from .outcomes import refused
from .smtlib.serve import check_script, solve_script
from .solve import solve
from .wire import Final, Task

Tell = Callable[[Outcome], None]


def serve(task: Task, budget: Budget, tell: Tell) -> Final:
    """The answer to one task; what the caller can mend comes back as a failure."""
    try:
        return Final(outcome=_outcome(task, budget, tell))
    except ProblemError as error:
        return Final(failure=refused(error).failure)
    except Fault as fault:
        return Final(failure=fault.failure)


def _outcome(task: Task, budget: Budget, tell: Tell) -> Outcome:
    params = task.params
    given = [name for name in ("smt2", "program", "constraints") if params.get(name)]
    if ("smt2" in given and len(given) > 1) or ("program" in given and len(given) > 1):
        fix = f"give {given[0]} alone, or constraints with vars"
        raise ProblemError([Defect(where=given[1], problem=f"{' and '.join(given)} are given together", fix=fix)])
    if "smt2" in given:
        solving = task.action == "reason.solve"
        return solve_script(params, budget, tell) if solving else check_script(params, budget)
    problem = respelled(_problem(task, given))
    if task.action == "reason.solve":
        return solve(problem, params, budget, tell)
    return check(problem, params, budget)


def _problem(task: Task, given: list[str]) -> Problem:
    if "program" in given:
        return read_program(str(task.params["program"]))
    if not given and not task.params.get("vars"):
        raise ProblemError(
            [
                Defect(
                    where="params",
                    problem="there is no problem to solve",
                    fix="give vars and constraints, or smt2",
                    example='{"vars": {"x": "int 1..5"}, "constraints": ["x > 3"]}',
                )
            ]
        )
    return read(task.params)
