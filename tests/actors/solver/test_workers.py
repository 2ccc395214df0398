"""The pool of single-use workers: deadlines, cancellation, crashes, order, and nothing left behind."""

import contextlib
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest
from anyio.from_thread import start_blocking_portal

from actors.solver.actor import SolverActor
from protocol.actions.reason import Check, Solve
from protocol.errors import Fault
from tests.actors.jobs import make_job

ROOT = Path(__file__).resolve().parents[3]
ENDLESS = "(declare-const x Int)(assert (> " + "(+ 1 (* x " * 50 + "x" + "))" * 50 + " 5))"
HUGE = "(declare-const a (_ BitVec 100000000))(assert (= a (bvadd a a)))"
SMALL = Solve(vars={"x": "int 1..5"}, constraints=["x > 4"])


@asynccontextmanager
async def running():
    actor = SolverActor()
    async with anyio.create_task_group() as tasks:
        actor._tasks = tasks
        await actor.start()
        try:
            yield actor
        finally:
            await actor.stop()
            tasks.cancel_scope.cancel()
    with anyio.move_on_after(5):  # one that was just killed may take a moment to be gone
        while children():  # noqa: ASYNC110 - another process's end has no event here
            await anyio.sleep(0.02)
    assert children() == []


def children() -> list[int]:
    """The zygotes and workers of this process that still live, not those of a daemon that other tests share."""
    found: list[int] = []
    for one in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has just ended
            if "zygote" in " ".join(one.cmdline()):
                found += [one.pid, *(worker.pid for worker in one.children())]
    return found


async def until(happened):
    with anyio.fail_after(30):
        while not happened():  # noqa: ASYNC110 - bounded
            await anyio.sleep(0.01)


async def solve(actor, params, deadline_ms=30_000):
    handler = actor.solve if isinstance(params, Solve) else actor.check
    return await handler(make_job("reason.solve", deadline_ms=deadline_ms), params)


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    """The actor of this module keeps a worker in reserve; that none is left at its end is asserted there."""


@pytest.fixture(scope="module")
def portal():
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="module")
def actor(portal):
    with portal.wrap_async_context_manager(running()) as actor:
        portal.call(solve, actor, SMALL)
        yield actor


def test_a_worker_solves_and_is_confined(portal, actor):
    outcome = portal.call(solve, actor, SMALL)
    assert outcome.data["model"] == {"x": 5}
    assert outcome.data["sandbox"]


def test_a_worker_checks(portal, actor):
    request = Check(vars=SMALL.vars, constraints=SMALL.constraints, assignment={"x": 3})
    assert portal.call(solve, actor, request).data["result"] == "violated"


def test_a_fault_crosses_from_the_worker_as_it_was_found(portal, actor):
    with pytest.raises(Fault, match="not declared") as error:
        portal.call(solve, actor, Solve(vars={"x": "int"}, constraints=["y > 1"]))
    assert error.value.failure.faults[0].path == "constraints[0] (c1), column 1"


def test_what_ignores_z3s_timeout_is_ended_at_the_deadline(portal, actor):
    slow = portal.call(solve, actor, Solve(smt2=ENDLESS, timeout_ms=500))
    assert (slow.data.result, slow.data.reason, slow.partial) == ("unknown", "timeout", True)


def test_a_crash_inside_z3_is_told_and_the_next_call_is_served(portal, actor):
    crashed = portal.call(solve, actor, Solve(smt2=HUGE))
    assert (crashed.data.result, crashed.data.reason) == ("unknown", "memory")
    assert portal.call(solve, actor, SMALL).data["model"] == {"x": 5}


def test_the_callers_deadline_bounds_the_solve(portal, actor):
    started = time.monotonic()
    outcome = portal.call(solve, actor, Solve(smt2=ENDLESS, timeout_ms=60_000), 5_000)
    assert outcome.data.result == "unknown"
    assert time.monotonic() - started < 20


def test_what_was_known_by_the_deadline_is_told(portal, actor):
    hard = [f"x{at} * x{at + 1} * x{at + 2} = {10**9 + at}" for at in range(6)]
    variables = {f"x{at}": "int" for at in range(8)} | {"y": "int 1..5"}
    request = Solve(vars=variables, constraints=["y > 3"], options={"A": " and ".join(hard)}, timeout_ms=900)
    outcome = portal.call(solve, actor, request)
    assert outcome.data["result"] == "sat"
    assert outcome.data["model"]["y"] in {4, 5}


def test_a_cancelled_call_takes_its_worker_along(portal, actor):
    async def cancelled():
        scope = anyio.CancelScope()

        async def wait_and_cancel():
            await until(lambda: actor.pool.busy)
            busy = list(actor.pool.busy)
            scope.cancel()
            await until(lambda: not actor.pool.busy)
            return busy

        async with anyio.create_task_group() as tasks:

            async def call():
                with scope:
                    await solve(actor, Solve(smt2=ENDLESS, timeout_ms=20_000), 60_000)

            tasks.start_soon(call)
            return await wait_and_cancel()

    busy = portal.call(cancelled)
    assert len(busy) == 1
    assert not psutil.pid_exists(busy[0]) or psutil.Process(busy[0]).status() == psutil.STATUS_ZOMBIE


def test_more_than_the_pool_holds_wait_in_order_and_the_loop_stays_free(portal, actor):
    async def crowd():
        ended: list[int] = []
        beats = 0

        async def one(number):
            await solve(actor, Solve(smt2=ENDLESS, timeout_ms=200), 60_000)
            ended.append(number)

        async def beat():
            nonlocal beats
            while True:
                await anyio.sleep(0.01)
                beats += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            async with anyio.create_task_group() as calls:
                for number in range(6):
                    calls.start_soon(one, number)
                    await anyio.sleep(0)  # noqa: ASYNC115
            tasks.cancel_scope.cancel()
        return ended, beats

    ended, beats = portal.call(crowd)
    assert sorted(ended) == list(range(6))
    assert set(ended[:3]) == {0, 1, 2}
    assert beats > 20


def test_a_call_whose_time_is_over_before_its_turn_is_told_busy(portal, actor):
    with pytest.raises(Fault) as error:
        portal.call(solve, actor, SMALL, 100)
    assert error.value.failure.code == "busy"
    assert error.value.failure.retryable


def test_a_request_too_deep_to_be_sent_is_refused(portal, actor):
    deep = "x > 1"
    for _ in range(5000):
        deep = ["not", deep]
    with pytest.raises(Fault) as error:
        portal.call(solve, actor, Solve(vars={"x": "int"}, constraints=[deep]))
    assert error.value.failure.code in {"too_large", "invalid_params"}


def test_no_worker_outlives_an_actor_that_is_killed():
    code = (
        "import anyio\nfrom tests.actors.solver.test_workers import *\n"
        "async def main():\n    async with running() as actor:\n        await solve(actor, SMALL)\n        print('go', flush=True)\n"  # noqa: E501
        "        await solve(actor, Solve(smt2=ENDLESS, timeout_ms=60000), deadline_ms=90000)\nanyio.run(main)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout.readline() == "go\n"
        workers = psutil.Process(process.pid).children(recursive=True)
        assert workers
        os.kill(process.pid, 9)
        process.wait()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert alive == []
