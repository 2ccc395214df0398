"""One validated request, done: by the daemon itself or by an actor, with the advice that goes with it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
from msgspec import Struct

from protocol.action import Outcome
from protocol.errors import Failure, Fault
from protocol.request import Request

from .actors import Actors, Errand
from .advice import Advisor, Consultation
from .sessions import Session


class Served(Struct, frozen=True, kw_only=True):
    """What came of a request: an outcome or a failure, and the advice on it."""

    result: Outcome | Failure
    advisory: Any = None


class Task(Struct, frozen=True, kw_only=True):
    """A request with the session it belongs to and the errand it is done on."""

    request: Request
    session: Session
    errand: Errand


OwnHandler = Callable[[Task], Awaitable[Outcome]]
_NO_HANDLERS: Final[Mapping[str, OwnHandler]] = {}


class Performer:
    """Does requests. `own` holds the handlers of the daemon's own actions, set once they exist.

    Args:
        on_destroyed: called when something stored was taken away, as by a forget or a restore.
    """

    def __init__(self, actors: Actors, advisor: Advisor, on_destroyed: Callable[[], None]) -> None:
        self._actors = actors
        self._advisor = advisor
        self._on_destroyed = on_destroyed
        self.own: Mapping[str, OwnHandler] = _NO_HANDLERS

    async def perform(self, task: Task) -> Served:
        """Do a request; what goes wrong comes back as a failure."""
        try:
            if task.request.action.owner == "daemon":
                return Served(result=await self.own[task.request.action.full_name](task))
            served = await self._by_actor(task)
        except Fault as fault:
            advisory = fault.failure.details if fault.failure.code == "discouraged" else None
            return Served(result=fault.failure, advisory=advisory)
        params = task.request.params
        if task.request.action.destructive and params and params.takes_away() and isinstance(served.result, Outcome):
            self._on_destroyed()
        self._advisor.note_end(served.advisory, "error" if isinstance(served.result, Failure) else "ok")
        return served

    async def _by_actor(self, task: Task) -> Served:
        advice = await self._advisor.permit(task.request, task.errand)
        if advice is not None:
            return Served(result=await self._ask(task), advisory=advice.advisory)
        consultation = Consultation(self._advisor, task.request, task.errand)
        failed: Fault | None = None
        served: Served | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consultation.run)
            try:
                result = await self._ask(task)
                served = Served(result=result, advisory=(await consultation.result()).advisory)
            except Fault as fault:  # leaves the task group unwrapped
                failed = fault
            tasks.cancel_scope.cancel()
        if served is None:
            assert failed is not None
            raise failed
        return served

    async def _ask(self, task: Task) -> Outcome | Failure:
        params = task.request.params
        assert params is not None
        result = await self._actors.ask(task.request.action, params, task.errand)
        return result if isinstance(result, Failure) else result.outcome
