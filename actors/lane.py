"""A lane: one thread of work at a time, with what callers wait for before what runs in the background."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")
PATIENCE_S: Final = 0.5
"""A background turn that has waited so long goes before callers."""


class _Turn(NamedTuple):
    """Somebody in a lane's queue: the event of their turn, and since when they wait."""

    come: anyio.Event
    since: float


class Lane:
    """One thread of work at a time, for what must not run twice at once, as a database connection.

    What a caller waits for goes first, in order; a background turn comes when no caller waits, or once it has
    waited `PATIENCE_S`, so that it goes on however busy the callers keep the lane.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._taken = False
        self._callers: deque[_Turn] = deque()
        self._background: deque[_Turn] = deque()

    async def run(self, function: Callable[..., T], *args: Any, background: bool = False) -> T:
        """Run `function(*args)` in the lane's turn; cancellation waits for it to end (use `Job.check`)."""
        await self._wait_turn(self._background if background else self._callers)
        try:
            return await anyio.to_thread.run_sync(function, *args)
        finally:
            self._hand_on()

    async def _wait_turn(self, queue: deque[_Turn]) -> None:
        if not self._taken:
            self._taken = True
            return
        turn = _Turn(anyio.Event(), self._clock())
        queue.append(turn)
        try:
            await turn.come.wait()
        except BaseException:
            if turn.come.is_set():
                self._hand_on()
            else:
                queue.remove(turn)
            raise

    def _hand_on(self) -> None:
        """Give the lane to who is next; it stays taken, so that nobody who comes now goes before them."""
        behind, waited = self._background, 0.0
        if behind:
            waited = self._clock() - behind[0].since
        queue = behind if behind and (not self._callers or waited > PATIENCE_S) else self._callers
        self._taken = bool(queue)
        if queue:
            queue.popleft().come.set()
