"""A request served in this process, without worker or sandbox."""

import time

import msgspec

from actors.solver.clock import Budget
from actors.solver.serve import serve
from actors.solver.wire import Task


class Said(dict):
    """The answer's data, with the envelope's words beside it."""

    outcome = None
    failure = None


def ask(action: str = "reason.solve", timeout_s: float = 10.0, **params) -> Said:
    final = serve(
        Task(action=action, params=params, budget_ms=int(timeout_s * 1000)),
        Budget(time.monotonic() + timeout_s),
        lambda _: None,
    )
    said = Said(msgspec.to_builtins(final.outcome.data) if final.outcome else {})
    said.outcome, said.failure = final.outcome, final.failure
    return said


def faults(**params) -> list[dict]:
    """The faults of a refused request."""
    said = ask(**params)
    assert said.failure is not None, said
    assert said.failure.code == "invalid_params"
    return [msgspec.to_builtins(one) for one in said.failure.faults]
