"""The solver actor without a daemon, for benchmarks: its real pool and workers, its handlers called directly."""

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from actors.solver.actor import SolverActor
from evidence.inference import wilson
from protocol.action import Outcome
from protocol.actions.reason import Check, Solve
from protocol.errors import Failure, Fault
from tests.actors.jobs import make_job

AT_ONCE = 3


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """How one request ended: an outcome or a failure, and the wall time until then."""

    outcome: Outcome | None = None
    failure: Failure | None = None
    ms: float

    @property
    def data(self) -> dict[str, Any]:
        """The result as a dict; empty for a failure."""
        return msgspec.to_builtins(self.outcome.data) if self.outcome else {}

    @property
    def result(self) -> str:
        """sat, unsat, unknown, or error."""
        return str(self.data.get("result", "error"))


async def ask(actor: SolverActor, params: Solve | Check, deadline_ms: int = 60_000) -> Reply:
    """One request to the actor, as the daemon would hand it over."""
    started = time.monotonic()
    handler = actor.solve if isinstance(params, Solve) else actor.check
    job: Any = make_job("reason.solve" if isinstance(params, Solve) else "reason.check", deadline_ms=deadline_ms)
    try:
        outcome = await handler(job, params)  # type: ignore[arg-type]
    except Fault as fault:
        return Reply(failure=fault.failure, ms=1000 * (time.monotonic() - started))
    return Reply(outcome=outcome, ms=1000 * (time.monotonic() - started))


async def _all(requests: Sequence[Solve | Check], tell: Callable[[int], None], deadline_ms: int) -> list[Reply]:
    replies: list[Reply | None] = [None] * len(requests)
    places = iter(range(len(requests)))

    async def work(actor: SolverActor) -> None:
        for at in places:
            replies[at] = await ask(actor, requests[at], deadline_ms)
            tell(sum(reply is not None for reply in replies))

    async with running() as actor, anyio.create_task_group() as workers:
        for _ in range(AT_ONCE):
            workers.start_soon(work, actor)
    return [reply for reply in replies if reply is not None]


@asynccontextmanager
async def running() -> AsyncGenerator[SolverActor]:
    """The actor with its pool, ended in order."""
    actor = SolverActor()
    async with anyio.create_task_group() as tasks:
        actor._tasks = tasks  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - what Actor.run does
        await actor.start()
        try:
            yield actor
        finally:
            await actor.stop()
            tasks.cancel_scope.cancel()


async def warm(actor: SolverActor) -> None:
    """Wait until the reserve is there, so that a time measured next is the request's own."""
    with anyio.fail_after(60):
        while not (actor.pool and actor.pool.pids):  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def _each(requests: Sequence[Solve | Check], progress: Callable[[str], None]) -> list[Reply]:
    replies: list[Reply] = []
    async with running() as actor:
        for at, request in enumerate(requests):
            await warm(actor)
            replies.append(await ask(actor, request))
            progress(f"{at + 1} of {len(requests)}: {replies[-1].result}, {replies[-1].ms:.0f} ms")
    return replies


def serve_each(requests: Iterable[Solve | Check], progress: Callable[[str], None]) -> list[Reply]:
    """One request after the other, each when a warm worker waits; replies in order."""
    return anyio.run(_each, list(requests), progress)


def interval(right: int, n: int) -> dict[str, Any]:
    """A proportion with its n and Wilson interval, in per cent."""
    low, high = wilson(right, n)
    return {"n": n, "percent": round(100 * right / n, 2), "ci95_percent": [round(100 * low, 2), round(100 * high, 2)]}


def serve_all(
    requests: Iterable[Solve | Check],
    progress: Callable[[str], None],
    what: str = "solved",
    *,
    deadline_ms: int = 60_000,
) -> list[Reply]:
    """All requests, three at once, each in a worker of its own; replies in order."""
    todo = list(requests)
    step = max(1, len(todo) // 10)

    def tell(done: int) -> None:
        if done % step == 0:
            progress(f"{what}: {done} of {len(todo)}")

    return anyio.run(_all, todo, tell, deadline_ms)
