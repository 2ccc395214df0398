"""A small problem from request to answer: confined single-use worker, beside a cold one and Z3 in process."""
# ruff: noqa: E501 - tables and formulas read best on one line

import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import anyio
import psutil
import z3

from actors.solver.process import Worker
from actors.solver.wire import Task, frame
from protocol.actions.reason import Solve
from validation.result import ROOT, Goal, Measured
from validation.run import Context

from ._solver import ask, running, warm

PROBLEM: dict[str, Any] = {"vars": {"x": "int 1..9", "y": "int 1..9"}, "constraints": ["x + y = 12", "x > y"]}
SCRIPT = "(declare-const x Int)(declare-const y Int)(assert (and (<= 1 x 9) (<= 1 y 9) (= (+ x y) 12) (> x y)))"
COLD = (
    "import z3\ns = z3.Solver()\ns.from_string('''"
    + SCRIPT
    + "''')\nassert s.check() == z3.sat\nm = s.model()\nprint({str(d): m[d].as_long() for d in m})"
)
NAMES = ("solve", "smt2", "cold_own_worker", "cold_python_z3", "in_process", "cpu_until_warm", "cpu_of_request")
PUBLISHED_NOTE = (
    "the rival in process has no deadline, no memory limit and no confinement; it is a lower bound, not a peer"
)


def run(context: Context) -> Measured:
    """Rounds of all contestants in turn, so that the machine's mood is the same for each."""
    rounds = 8 if context.quick else 40
    times, throughput, memory = anyio.run(_measure, rounds, context)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["cold_own_worker"] / medians["solve"]
    overhead = medians["solve"] - medians["in_process"]
    return Measured(
        headline=f"median {medians['solve']:.1f} ms from request to answer, {ratio:.1f} times faster than a cold worker; {throughput['per_s']:.1f} solves/s with 4 clients",
        figures={
            "ms_median": {name: round(value, 2) for name, value in medians.items()},
            "ms_quartiles": {
                name: [round(q, 2) for q in statistics.quantiles(values, n=4)] for name, values in times.items()
            },
            "cold_over_warm": round(ratio, 2),
            "over_in_process_ms": round(overhead, 2),
            "throughput_4_clients": throughput,
            "memory": memory,
        },
        goals=[
            Goal(
                "a small solve, request to answer",
                "<= 40 ms median",
                round(medians["solve"], 1),
                medians["solve"] <= 40,
            ),
            Goal("beside a cold worker", ">= 5 times faster", round(ratio, 1), ratio >= 5),
            Goal("slower than unconfined Z3 in process by", "<= 30 ms", round(overhead, 1), overhead <= 30),
        ],
        n=rounds,
        notes=[
            PUBLISHED_NOTE,
            "cpu_* are CPU times of the worker (free of the machine's load, in steps of 10 ms until warm); all others are wall times",
        ],
    )


async def _measure(rounds: int, context: Context) -> tuple[dict[str, list[float]], dict[str, Any], dict[str, Any]]:
    times: dict[str, list[float]] = {name: [] for name in NAMES}
    async with running() as actor:
        for number in range(rounds):
            await warm(actor)
            await anyio.sleep(0.3)  # the reserve is full again; nothing of ours runs beside the measured request
            times["solve"].append((await ask(actor, Solve(**PROBLEM))).ms)
            await warm(actor)
            await anyio.sleep(0.3)
            times["smt2"].append((await ask(actor, Solve(smt2=SCRIPT))).ms)
            await warm(actor)
            wall, warming, solving = await _cold_worker()
            times["cold_own_worker"].append(wall)
            times["cpu_until_warm"].append(warming)
            times["cpu_of_request"].append(solving)
            times["cold_python_z3"].append(_timed(_cold_python))
            times["in_process"].append(_timed(_in_process))
            context.progress(
                f"round {number + 1} of {rounds}: {times['solve'][-1]:.1f} ms warm, {times['cold_own_worker'][-1]:.0f} ms cold"
            )
        throughput = await _throughput(actor, 20 if context.quick else 60)
        await warm(actor)
        memory = _memory(actor)
    return times, throughput, memory


async def _cold_worker() -> tuple[float, float, float]:
    """Wall time from spawn to answer, and the CPU time of the worker until it was warm and after that."""
    started = time.monotonic()
    before = _children_cpu_ms()
    worker = await Worker.spawn()
    try:
        times = psutil.Process(worker.process.pid).cpu_times()
        await worker.run(frame(Task(action="reason.solve", params=PROBLEM, budget_ms=5000)), 5000)
        wall = 1000 * (time.monotonic() - started)
    finally:
        await worker.kill()
    warming = 1000 * (times.user + times.system)
    return wall, warming, max(0.0, _children_cpu_ms() - before - warming)


def _children_cpu_ms() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


def _timed(function: Any) -> float:
    started = time.monotonic()
    function()
    return 1000 * (time.monotonic() - started)


def _cold_python() -> None:
    subprocess.run([sys.executable, "-c", COLD], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


def _in_process() -> None:
    solver = z3.Solver(ctx=z3.Context())
    solver.from_string(SCRIPT)
    assert solver.check() == z3.sat
    solver.model()


async def _throughput(actor: Any, count: int) -> dict[str, Any]:
    """Four clients that each send the next request when the last one is answered."""
    todo = iter(range(count))
    started = time.monotonic()

    async def client() -> None:
        for _ in todo:
            await ask(actor, Solve(**PROBLEM))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(client)
    seconds = time.monotonic() - started
    return {"n": count, "seconds": round(seconds, 2), "per_s": round(count / seconds, 2)}


def _memory(actor: Any) -> dict[str, Any]:
    """Private memory of the reserve."""
    found = [psutil.Process(pid).memory_full_info() for pid in actor.pool.pids]
    return {
        "workers_in_reserve": len(found),
        "uss_mib": [round(one.uss / 2**20, 1) for one in found],
        "rss_mib": [round(one.rss / 2**20, 1) for one in found],
    }
