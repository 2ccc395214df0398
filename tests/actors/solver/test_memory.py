"""Z3 without memory: what was known stands, and nothing more is asked of it."""

import os
from pathlib import Path

import pytest
import z3

from actors.solver import worker
from actors.solver.clock import Unlimited
from actors.solver.dsl.problem import read
from actors.solver.encoding.encoder import Encoder
from actors.solver.search import engine as engines
from actors.solver.search.engine import Engine
from actors.solver.wire import Task
from protocol.action import Outcome
from protocol.actions.reason import Solved


class Exhausted:
    """A solver whose memory ends in the given method; any use after that fails as Z3's own then does."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._gone = False

    def __getattr__(self, name):
        def called(*_):
            if self._gone:
                raise z3.Z3Exception(b"unreachable")
            if name == self._method:
                self._gone = True
                raise z3.Z3Exception(b"out of memory")

        return called


@pytest.mark.parametrize("method", ["push", "add", "check"])
def test_memory_that_ends_in_any_step_is_told_and_z3_is_left_alone(method):
    problem = read({"vars": {"x": "int"}, "constraints": ["x > 1"]})
    engine = Engine(problem, Encoder(problem.declarations), [], Unlimited())
    engine.solver = Exhausted(method)
    for _ in range(2):
        assert engine.ask() == ("unknown", None)
        assert engine.reason == "memory"
    engine.add(z3.BoolVal(val=True))


def test_a_refusal_of_z3_that_is_not_about_memory_is_not_swallowed(monkeypatch):
    def refuses(*_):
        raise z3.Z3Exception(b"sort mismatch")

    problem = read({"vars": {"x": "int"}, "constraints": ["x > 1"]})
    engine = Engine(problem, Encoder(problem.declarations), [], Unlimited())
    monkeypatch.setattr(engines, "verdict", refuses)
    with pytest.raises(z3.Z3Exception, match="sort mismatch"):
        engine.ask()


@pytest.mark.parametrize("error", [MemoryError(), z3.Z3Exception(b"out of memory"), z3.Z3Exception(b"unreachable")])
def test_what_was_told_before_z3_failed_is_the_answer(monkeypatch, error):
    def serve(_, __, tell):
        tell(Outcome(summary="There is a solution.", data=Solved(result="sat", model={"x": 1})))
        raise error

    monkeypatch.setattr(worker, "serve", serve)
    with Path(os.devnull).open("wb") as null:
        final = worker.answer(Task(action="reason.solve", params={}, budget_ms=100), null.fileno())
    assert final.failure is None
    assert final.outcome.data.model == {"x": 1}
    assert final.outcome.partial
    assert "memory" in final.outcome.notes[-1]


def test_memory_that_ends_before_anything_is_known_is_too_large(monkeypatch):
    def serve(*_):
        raise MemoryError

    monkeypatch.setattr(worker, "serve", serve)
    final = worker.answer(Task(action="reason.solve", params={}, budget_ms=100), 0)
    assert final.failure.code == "too_large"
