"""A small problem from request to answer: a fork of the warm zygote, beside a cold start and Z3 in process."""
# ruff: noqa: E501 - tables and formulas read best on one line

import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import psutil
import z3

from actors.solver.forking import Zygote
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
NAMES = ("solve", "smt2", "fork_to_confined", "cold_zygote_and_worker", "cold_python_z3", "in_process")
CLIENTS = 4
PUBLISHED_NOTE = (
    "the rival in process has no deadline, no memory limit and no confinement; it is a lower bound, not a peer"
)


def run(context: Context) -> Measured:
    """Rounds of all contestants in turn, so that the machine's mood is the same for each."""
    rounds = 8 if context.quick else 40
    times, throughput, memory = anyio.run(_measure, rounds, context)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["cold_zygote_and_worker"] / medians["solve"]
    gain = throughput["ours"]["per_s"] / throughput["a_process_each"]["per_s"]
    overhead = medians["solve"] - medians["in_process"]
    return Measured(
        headline=f"median {medians['solve']:.1f} ms from request to answer, {ratio:.1f} times faster than a cold start; {throughput['ours']['per_s']:.1f} solves/s with {CLIENTS} clients, {gain:.1f} times a fresh process each",
        figures={
            "ms_median": {name: round(value, 2) for name, value in medians.items()},
            "ms_quartiles": {
                name: [round(q, 2) for q in statistics.quantiles(values, n=4)] for name, values in times.items()
            },
            "cold_over_warm": round(ratio, 2),
            "over_in_process_ms": round(overhead, 2),
            "throughput_4_clients": throughput,
            "throughput_over_a_process_each": round(gain, 2),
            "memory": memory,
        },
        goals=[
            Goal(
                "a small solve, request to answer",
                "<= 40 ms median",
                round(medians["solve"], 1),
                medians["solve"] <= 40,
            ),
            Goal("beside a cold start", ">= 5 times faster", round(ratio, 1), ratio >= 5),
            Goal(
                "a worker, from the fork to confined",
                "<= 40 ms median",
                round(medians["fork_to_confined"], 1),
                medians["fork_to_confined"] <= 40,
            ),
            Goal(
                "throughput with 4 clients, beside a fresh Python process for each",
                ">= 5 times",
                round(gain, 1),
                gain >= 5,
            ),
            Goal(
                "private memory of a worker in reserve",
                "<= 16 MiB",
                max(memory["reserve_uss_mib"]),
                max(memory["reserve_uss_mib"]) <= 16,
            ),
            Goal("slower than unconfined Z3 in process by", "<= 30 ms", round(overhead, 1), overhead <= 30),
        ],
        n=rounds,
        notes=[
            PUBLISHED_NOTE,
            "a fresh process each: import z3, the same problem unconfined, four at once; what a pool without a zygote is bound by",
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
            for name, wall in (await _cold()).items():
                times[name].append(wall)
            times["cold_python_z3"].append(_timed(_cold_python))
            times["in_process"].append(_timed(_in_process))
            context.progress(
                f"round {number + 1} of {rounds}: {times['solve'][-1]:.1f} ms warm, {times['cold_zygote_and_worker'][-1]:.0f} ms cold"
            )
        count = 40 if context.quick else 200
        throughput = {"ours": await _rate(count, lambda: ask(actor, Solve(**PROBLEM)))}
        throughput["a_process_each"] = await _rate(count // 5, _cold_process)
        await warm(actor)
        memory = _memory(actor)
    return times, throughput, memory


async def _cold() -> dict[str, float]:
    """Wall times of a second worker of a fresh zygote until it is confined, and of all from nothing to an answer."""
    started = time.monotonic()
    zygote = await Zygote.start()
    try:
        worker = await Worker.spawn(zygote)
        await worker.run(frame(Task(action="reason.solve", params=PROBLEM, budget_ms=5000)), 5000)
        cold = 1000 * (time.monotonic() - started)
        await worker.kill()
        started = time.monotonic()
        worker = await Worker.spawn(zygote)
        spawned = 1000 * (time.monotonic() - started)
        await worker.kill()
    finally:
        await zygote.kill()
    return {"cold_zygote_and_worker": cold, "fork_to_confined": spawned}


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


async def _cold_process() -> None:
    await anyio.run_process([sys.executable, "-c", COLD], stdout=subprocess.DEVNULL, cwd=ROOT)


async def _rate(count: int, request: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
    """Clients that each send the next request when the last one is answered."""
    todo = iter(range(count))
    started = time.monotonic()

    async def client() -> None:
        for _ in todo:
            await request()

    async with anyio.create_task_group() as tasks:
        for _ in range(CLIENTS):
            tasks.start_soon(client)
    seconds = time.monotonic() - started
    return {"n": count, "seconds": round(seconds, 2), "per_s": round(count / seconds, 2)}


def _memory(actor: Any) -> dict[str, Any]:
    """Memory of the zygote and of the reserve: private, and each one's share of all (PSS)."""
    zygote = psutil.Process(actor.pool.zygote).memory_full_info()
    reserve = [psutil.Process(pid).memory_full_info() for pid in actor.pool.pids]
    return {
        "zygote_uss_mib": round(zygote.uss / 2**20, 1),
        "zygote_pss_mib": round(zygote.pss / 2**20, 1),
        "reserve_uss_mib": [round(one.uss / 2**20, 1) for one in reserve],
        "reserve_pss_mib": [round(one.pss / 2**20, 1) for one in reserve],
    }
