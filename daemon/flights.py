"""Calls under way at actors: each answered exactly once, by its actor or by its actor's end."""

from collections.abc import Callable

import anyio
from msgspec import Raw

from protocol.errors import Failure, Fault
from protocol.limits import ACTOR_QUEUE_MAX, BUSY_RETRY_AFTER_MS
from protocol.messages import Done, Drop, Failed, Step, ToActor, Work

from .states import Cause

OnStep = Callable[[Step], None]


class ActorLost(Exception):  # noqa: N818
    """Raised to whoever waits for a call whose actor ended: `cause` says how."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause)
        self.cause = cause


class NeverSent(ActorLost):
    """Raised when the actor was gone before it was given the call: it may be given to the next one, write or not."""

    def __init__(self) -> None:
        super().__init__(Cause.UNKNOWN)


class _Flight:
    """One call at one incarnation of an actor."""

    def __init__(self, incarnation: str, on_step: OnStep | None) -> None:
        self.incarnation = incarnation
        self.on_step = on_step
        self.landed = anyio.Event()
        self.result: Done | Failed | Cause | None = None

    def land(self, result: Done | Failed | Cause) -> None:
        if self.result is None:
            self.result = result
            self.landed.set()


class Flights:
    """The table of calls under way. `send` gives a message to an incarnation, False when it cannot take it."""

    def __init__(self, send: Callable[[str, ToActor], bool]) -> None:
        self._send = send
        self._flights: dict[str, _Flight] = {}

    def count(self, incarnation: str) -> int:
        """How many calls are under way at one incarnation."""
        return sum(flight.incarnation == incarnation for flight in self._flights.values())

    async def fly(self, incarnation: str, work: Work, on_step: OnStep | None = None) -> Done | Failure:
        """Send work and wait for what comes back; when the waiting is cancelled, the actor is told to drop it.

        Raises:
            Fault: busy, when the actor has as many calls as it may.
            ActorLost: the actor ended before it answered. NeverSent: before it was given the call.
        """
        if self.count(incarnation) >= ACTOR_QUEUE_MAX:
            raise busy(incarnation)
        key = work.id
        flight = self._flights[key] = _Flight(incarnation, on_step)
        try:
            if not self._send(incarnation, work):
                raise NeverSent  # its queue is longer than the calls that it may have: nobody is there
            await flight.landed.wait()
        finally:
            del self._flights[key]
            if flight.result is None:
                self._send(incarnation, Drop(id=key))
        match flight.result:
            case Done() as done:
                return done
            case Failed(failure=failure):
                return failure
            case cause:
                assert isinstance(cause, Cause)
                raise ActorLost(cause)

    def land(self, result: Done | Failed) -> None:
        """An answer came; one that nobody waits for any more is dropped."""
        if flight := self._flights.get(result.id):
            flight.land(result)

    def step(self, step: Step) -> None:
        """Progress came."""
        flight = self._flights.get(step.id)
        if flight is not None and flight.on_step is not None:
            flight.on_step(step)

    def lose(self, incarnation: str, cause: Cause) -> None:
        """An incarnation ended: everyone who waits for it is told at once."""
        for flight in self._flights.values():
            if flight.incarnation == incarnation:
                flight.land(cause)


def busy(incarnation: str) -> Fault:
    """The Fault for an actor that can take no more."""
    return Fault(
        "busy",
        f"{incarnation.partition('.')[0]} has too many calls under way.",
        next_action=f"Send it again in {BUSY_RETRY_AFTER_MS} ms.",
        retry_after_ms=BUSY_RETRY_AFTER_MS,
    )


NO_PARAMS = Raw(b"\x80")
"""An empty params object in msgpack."""
