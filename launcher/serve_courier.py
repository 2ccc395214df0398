"""Takes the calls of one HTTP client name to the daemon: the bridge's link, run in a thread for an event loop."""

import collections
import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.from_thread import BlockingPortal

from .bridge.calls import Call, failure
from .bridge.link import Link
from .bridge.tool import Tool

log = logging.getLogger("chrysalis")
Progress = tuple[float, float | None, str]
_COURIERS_MAX: Final = 32
_CLOSE_S: Final = 2.0


class Waiting:
    """A call that a handler waits for; written by the courier's thread through the portal, read on the loop."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.envelope = b""
        self.is_error = True
        self._steps: collections.deque[Progress] = collections.deque(maxlen=100)
        self._news = anyio.Event()

    def tell(self, step: Progress) -> None:
        """There is progress."""
        self._steps.append(step)
        self._news.set()

    def end(self, envelope: bytes, is_error: bool) -> None:
        """Here is the answer."""
        self.envelope, self.is_error = envelope, is_error
        self._news.set()

    async def steps(self) -> list[Progress] | None:
        """The next steps of progress; None once there is an answer and all of them were given."""
        await self._news.wait()
        self._news = anyio.Event()
        steps = list(self._steps)
        self._steps.clear()
        if self.envelope:
            self._news.set()
        return steps if steps or not self.envelope else None


class Courier:
    """One connection to the daemon, with a thread that polls it.

    Attributes:
        client: the name under which the daemon knows these callers; it names their default session.
    """

    def __init__(
        self, client: str, tool: Tool, portal: BlockingPortal, on_change: Callable[[], Awaitable[None]]
    ) -> None:
        self.client = client
        self.alive = True
        self._portal, self._on_change = portal, on_change
        self._link = Link(self, tool, kind="http")
        self._waiting: dict[str, Waiting] = {}
        self._asked: collections.deque[tuple[str, Call]] = collections.deque()
        self._ear, self._mouth = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)
        self._thread.start()

    # from the event loop

    def submit(self, waiting: Waiting) -> None:
        """Send a call on its way."""
        self._waiting[waiting.call.id] = waiting
        self._ask("submit", waiting.call)

    def cancel(self, waiting: Waiting) -> None:
        """Nobody waits for it any more."""
        if self._waiting.pop(waiting.call.id, None):
            self._ask("cancel", waiting.call)

    def close(self) -> None:
        """End thread and connection."""
        with contextlib.suppress(OSError):  # it has ended by itself
            os.write(self._mouth, b"x")
        self._thread.join(_CLOSE_S)

    def _ask(self, verb: str, call: Call) -> None:
        self._asked.append((verb, call))
        with contextlib.suppress(OSError):  # it has been told often enough, or has ended
            os.write(self._mouth, b".")

    # in the thread

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except Exception:
            log.exception("the courier of %s failed; its calls are answered, the next gets a new one", self.client)
        finally:
            self.alive = False
            for waiting in list(self._waiting.values()):
                text = failure("internal", "The way to the daemon failed.", "Retry.", retryable=True)
                self._portal.start_task_soon(waiting.end, text, True)
            self._link.close()
            os.close(self._ear)
            os.close(self._mouth)

    def _turn(self) -> bool:
        poller = select.poll()
        poller.register(self._ear, select.POLLIN)
        for fd, events in self._link.wishes():
            poller.register(fd, events)
        now = time.monotonic()
        for fd, _ in poller.poll(max(0.0, self._link.next_at() - now) * 1000 + 1):
            if fd == self._ear:
                if b"x" in os.read(self._ear, 4096):
                    return False
            else:
                self._link.ready(fd, time.monotonic())
        self._take_asked()
        self._link.tick(time.monotonic())
        return True

    def _take_asked(self) -> None:
        while self._asked:
            verb, call = self._asked.popleft()
            if verb == "submit":
                self._link.submit(call, time.monotonic())
            else:
                self._link.cancel(call)

    def answered(self, call: Call, envelope: bytes, *, is_error: bool) -> None:
        """The link has an answer."""
        if waiting := self._waiting.pop(call.id, None):
            self._portal.start_task_soon(waiting.end, envelope, is_error)

    def progressed(self, call: Call, done: float, total: float | None, message: str) -> None:
        """The link has progress."""
        waiting = self._waiting.get(call.id)
        if waiting and call.token is not None and call.advances(done):
            self._portal.start_task_soon(waiting.tell, (done, total, message))

    def tools_changed(self) -> None:
        """The daemon's advice changed the description."""
        self._portal.start_task_soon(self._on_change)


class Couriers:
    """One courier a client name, so that each has its own default session; beyond a limit they share one."""

    def __init__(self, tool: Tool, portal: BlockingPortal, on_change: Callable[[], Awaitable[None]]) -> None:
        self._make = lambda name: Courier(name, tool, portal, on_change)
        self._known: dict[str, Courier] = {}

    def of(self, client: str) -> Courier:
        """The courier of a client."""
        name = client if client in self._known or len(self._known) < _COURIERS_MAX else "http"
        if name not in self._known or not self._known[name].alive:
            self._known[name] = self._make(name)
        return self._known[name]

    def close(self) -> None:
        """End all of them."""
        for courier in self._known.values():
            courier.close()
        self._known.clear()
