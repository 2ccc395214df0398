"""Thirty-seven public complaints about solvers answered right, limits that Z3 ignores kept, hostile input contained."""
# ruff: noqa: E501, ASYNC110, ASYNC220 - tables and formulas read best on one line

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import psutil

from protocol.actions.reason import Solve
from validation.result import ROOT, Goal, Measured, data
from validation.run import Context

from ._solver import ask, interval, running, serve_all, serve_each, warm
from ._solver_cases import CASES, GRACE_MS, HUGE, NESTED, RECURSIVE, said
from ._solver_fuzz import Watch, fuzz
from ._solver_hostile import Hostile

SEED = 20_261_130
WORKER_GONE_S = 3.0


def run(context: Context) -> Measured:
    """The cases one by one, the processes' own, the deadlines, then fuzzing in bulk and through the actor."""
    cases = CASES[::4] if context.quick else CASES
    replies = serve_each([case.request for case in cases], context.progress)
    verdicts = {case.number: bool(case.right(reply)) for case, reply in zip(cases, replies, strict=True)}
    wrong = {
        case.number: f"{case.source}: {said(reply)[:300]}"
        for case, reply in zip(cases, replies, strict=True)
        if not verdicts[case.number]
    }
    for number, play in ({} if context.quick else PLAYED).items():
        verdicts[number], told = anyio.run(play)
        context.progress(f"case {number}: {told}")
        if not verdicts[number]:
            wrong[number] = told
    deadlines = serve_each([Solve(smt2=text, timeout_ms=1500) for text in (NESTED, RECURSIVE)], context.progress)
    over = [round(reply.ms - 1500) for reply in deadlines]
    scripts = [one for one in _scripts() if len(one) < 2000]
    bulk = fuzz(200 if context.quick else 10_000, SEED, scripts, context.progress)
    direct = _through_actor(context, 20 if context.quick else 300, scripts)
    right = sum(verdicts.values())
    contained = not bulk["touched"] and not direct["touched"] and direct["same_pid"]
    return Measured(
        headline=f"{right} of {len(verdicts)} complaints right; {bulk['n'] + direct['n']} hostile inputs, none escaped: {contained}; slowest {bulk['slowest_s']} s",
        figures={
            "cases": interval(right, len(verdicts)),
            "wrong": wrong,
            "sources": {case.number: case.source for case in cases},
            "over_the_deadline_ms": over,
            "fuzzed_in_bulk": bulk,
            "fuzzed_through_the_actor": direct,
        },
        goals=[
            Goal(
                "public complaints answered right", f"{len(verdicts)} of {len(verdicts)}", right, right == len(verdicts)
            ),
            Goal(
                "what ignores Z3's timeout ends with the deadline",
                f"<= {GRACE_MS} ms over",
                over,
                all(late <= GRACE_MS for late in over),
            ),
            Goal(
                "hostile inputs that touched a file or a port",
                "0",
                len(bulk["touched"]) + len(direct["touched"]),
                not bulk["touched"] and not direct["touched"],
            ),
            Goal(
                "hostile inputs that hung past deadline + 0.5 s",
                "0",
                bulk["slowest_s"],
                bulk["slowest_s"] <= 0.4 + 0.5 + 0.1,
            ),
            Goal(
                "hostile inputs that made our own code fail",
                "0",
                sum(bulk["internal"].values()) + direct["internal"],
                not bulk["internal"] and not direct["internal"],
            ),
            Goal("the actor's process is the same", "yes", direct["same_pid"], bool(direct["same_pid"])),
        ],
        n=len(verdicts) + bulk["n"] + direct["n"],
        seed=SEED,
        notes=["each hostile input had a single-use worker of its own"],
    )


def _scripts() -> list[str]:
    text = data("puzzles/z3test_plain_verified.jsonl").read_text(encoding="utf-8")
    return [json.loads(line)["smt2"] for line in text.splitlines()]


def _through_actor(context: Context, count: int, scripts: list[str]) -> dict[str, Any]:
    """Hostile requests through the real actor and its single-use workers."""
    watch, before = Watch(), os.getpid()
    hostile = Hostile(SEED + 1, str(watch.canary), watch.port, scripts)
    requests: list[Solve] = []
    while len(requests) < count:
        _, action, params = hostile.request()
        if action == "reason.solve":
            requests.append(Solve(**params, timeout_ms=400))
    replies = serve_all(requests, context.progress, "hostile, through the actor")
    internal = [said(reply)[:200] for reply in replies if reply.failure and reply.failure.code == "internal"]
    left = [child.pid for child in psutil.Process().children(recursive=True)]
    return {
        "n": count,
        "answered": len(replies),
        "internal": len(internal),
        "said": internal[:5],
        "same_pid": os.getpid() == before,
        "left_behind": len(left),
        "touched": watch.touched(),
    }


Played = tuple[bool, str]


async def _interrupted() -> Played:
    """5: SIGINT reaches a worker in C code; it is ended at the deadline all the same."""
    async with running() as actor:
        await warm(actor)
        assert actor.pool
        pid = actor.pool.pids[0]
        reply: Any = None
        async with anyio.create_task_group() as tasks:

            async def interrupt() -> None:
                await anyio.sleep(0.4)
                os.kill(pid, signal.SIGINT)

            tasks.start_soon(interrupt)
            reply = await ask(actor, Solve(smt2=NESTED, timeout_ms=1500))
        took = await _gone([pid], GRACE_MS / 1000)
        right = reply.result == "unknown" and reply.ms <= 1500 + GRACE_MS and not _alive(pid)
        return right, f"{reply.result} after {reply.ms:.0f} ms, its worker gone {1000 * took:.0f} ms later"


async def _own_session() -> Played:
    """6: a terminal's Ctrl-C never reaches a worker."""
    async with running() as actor:
        await warm(actor)
        assert actor.pool
        session = os.getsid(actor.pool.pids[0])
        return session != os.getsid(0), f"session {'own' if session != os.getsid(0) else 'shared'}"


async def _orphaned() -> Played:
    """7: kill -9 of the actor in the middle of a solve leaves no worker."""
    code = (
        "import anyio\nfrom validation.benchmarks import _solver as s\nfrom validation.benchmarks._solver_cases import NESTED\nfrom protocol.actions.reason import Solve\n"
        "async def main():\n    async with s.running() as actor:\n        await s.warm(actor)\n        print(actor.pool.pids[0], flush=True)\n        await s.ask(actor, Solve(smt2=NESTED, timeout_ms=60000))\nanyio.run(main)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert process.stdout
    pid = int(process.stdout.readline())
    await anyio.sleep(0.5)
    children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    process.kill()
    process.wait()
    process.stdout.close()
    took = await _gone(children, 5)
    return pid in children and took < WORKER_GONE_S, f"{len(children)} workers gone after {took:.2f} s"


async def _gone(pids: list[int], within_s: float) -> float:
    """Wait for the end of all, not longer than `within_s`; the seconds waited."""
    started = time.monotonic()
    while any(map(_alive, pids)) and time.monotonic() - started < within_s:
        await anyio.sleep(0.01)
    return time.monotonic() - started


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def _side_by_side() -> Played:
    """33: requests at once do not meet in one context."""
    async with running() as actor:
        results: list[bool] = []

        async def one(number: int) -> None:
            reply = await ask(actor, Solve(vars={"x": "int"}, constraints=[f"x = {number}"]))
            results.append(reply.data.get("model") == {"x": number})

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(one, number)
        return len(results) == 8 and all(results), f"{sum(results)} of 8 right"


async def _one_of_many() -> Played:
    """37: an item that takes all memory ends alone."""
    async with running() as actor:
        results: list[str] = []

        async def one(request: Solve) -> None:
            results.append((await ask(actor, request)).result)

        async with anyio.create_task_group() as tasks:
            for request in (
                Solve(smt2=HUGE),
                *(Solve(vars={"x": "int 1..3"}, constraints=["x > 2"]) for _ in range(3)),
            ):
                tasks.start_soon(one, request)
        return sorted(results) == ["sat", "sat", "sat", "unknown"], str(results)


PLAYED: dict[int, Callable[[], Awaitable[Played]]] = {
    5: _interrupted,
    6: _own_session,
    7: _orphaned,
    33: _side_by_side,
    37: _one_of_many,
}
