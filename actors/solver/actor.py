"""The solver actor: hands each problem to a single-use worker and tells how it ended."""

from collections.abc import Mapping
from typing import Any

import msgspec

from actors.base import Actor, Handler, Job
from protocol.action import Outcome
from protocol.actions.reason import Check, Solve
from protocol.errors import Fault

from .outcomes import crashed, expired, with_sandbox
from .pool import Pool, PoolClosed
from .process import Ended, Orphaned, WorkerDied, budget_left_ms
from .wire import MAX_REQUEST_BYTES, Task, frame

_RESERVE_MS = 600
"""Kept of the caller's deadline for killing a worker and sending the answer."""


class SolverActor(Actor):
    """Serves `reason.solve` and `reason.check`."""

    name = "solver"

    def __init__(self) -> None:
        super().__init__()
        self.pool: Pool | None = None

    def handlers(self) -> Mapping[str, Handler]:
        return {"reason.solve": self.solve, "reason.check": self.check}

    async def start(self) -> tuple[str, ...]:
        self.pool = Pool(self._tasks)
        self.pool.start()
        return ()

    async def stop(self) -> None:
        if self.pool:
            await self.pool.close()

    async def solve(self, job: Job, params: Solve) -> Outcome:
        """Solve a problem in a worker of its own."""
        return await self._have_done(job, "reason.solve", params, params.timeout_ms)

    async def check(self, job: Job, params: Check) -> Outcome:
        """Check an assignment in a worker of its own."""
        return await self._have_done(job, "reason.check", params, params.timeout_ms)

    async def _have_done(self, job: Job, action: str, params: Solve | Check, wanted_ms: int) -> Outcome:
        """The answer of a worker; of a second one when the first was lost with its zygote, since solving is pure."""
        try:
            return await self._attempt(job, action, params, wanted_ms)
        except Orphaned:
            pass
        try:
            return await self._attempt(job, action, params, wanted_ms)
        except Orphaned:
            raise _lost() from None

    async def _attempt(self, job: Job, action: str, params: Solve | Check, wanted_ms: int) -> Outcome:
        if self.pool is None:
            raise Fault("unavailable", "The solver has not started.", next_action="Retry in a second.")
        try:
            async with self.pool.worker(job.remaining_s() - _RESERVE_MS / 1000) as worker:
                budget_ms = min(wanted_ms, budget_left_ms(job.deadline) - _RESERVE_MS)
                if budget_ms <= 0:
                    raise _waited_too_long()
                task = Task(action=action, params=_builtins(params), budget_ms=budget_ms)
                return _outcome(action, await worker.run(_framed(task), budget_ms), budget_ms)
        except Orphaned:
            raise
        except WorkerDied:
            return crashed(action)
        except (PoolClosed, TimeoutError):
            raise _waited_too_long(failing=self.pool.failures > 0) from None


def _builtins(params: Solve | Check) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(params).items() if value is not None}


def _framed(task: Task) -> bytes:
    """The task as it goes to the worker.

    Raises:
        Fault: it is nested too deep or too large to be sent.
    """
    try:
        data = frame(task)
    except (RecursionError, OverflowError, UnicodeEncodeError) as error:
        raise Fault(
            "too_large", f"The problem cannot be sent to a worker ({error}).", next_action="Nest less."
        ) from None
    if len(data) > MAX_REQUEST_BYTES:
        text = f"The problem has {len(data)} bytes, more than {MAX_REQUEST_BYTES}."
        raise Fault("too_large", text, next_action="Use forall(...) instead of listing, or split the problem.")
    return data


def _lost() -> Fault:
    return Fault(
        "unavailable",
        "The solver's processes were ended from outside, twice in a row, before they had an answer.",
        next_action="Retry; nothing was found out about the problem.",
    )


def _waited_too_long(*, failing: bool = False) -> Fault:
    """The call's time was over before a worker was free, or because none can be started."""
    if failing:
        return Fault(
            "unavailable",
            "No solver worker could be started in this call's time.",
            next_action="Retry; if it stays so, run `chrysalis restart solver` and look at `chrysalis doctor`.",
        )
    return Fault(
        "busy",
        "All solver workers were busy until this call's time was over.",
        next_action="Retry, or allow more time.",
        retry_after_ms=1000,
    )


def _outcome(action: str, ended: Ended, budget_ms: int) -> Outcome:
    if ended.final is not None:
        if ended.final.failure is not None:
            failure = ended.final.failure
            raise Fault(
                failure.code,
                failure.message,
                next_action=failure.next_action,
                faults=failure.faults,
                details=failure.details,
            )
        if ended.final.outcome is not None:
            return with_sandbox(ended.final.outcome, ended.sandbox)
    return with_sandbox(expired(action, ended.interim, budget_ms, timed_out=ended.timed_out), ended.sandbox)
