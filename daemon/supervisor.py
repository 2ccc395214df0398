"""One supervised actor: a single task owns its life; everybody else asks and waits."""

import logging
import random
import time
import uuid
from collections import deque
from collections.abc import Callable
from typing import Final

import anyio

from protocol.limits import ACTOR_START_MAX_S, HEARTBEAT_INTERVAL_S, RESTART_INTENSITY, STOP_GRACE_S
from protocol.messages import Ping, Pong, Ready, Stop, ToActor

from .policy import Fatal, Health, decide_restart, judge_heartbeat
from .process import ActorProcess
from .states import Cause, State, step

log = logging.getLogger("chrysalis")
_GONE_S: Final = 2.0
ROUTABLE: Final = frozenset({State.RUNNING})


class Supervised:
    """An actor under supervision.

    Args:
        name: the actor. endpoint: where it connects to.
        send: sends a message to an incarnation. lost: called at once when an incarnation has ended.
    """

    def __init__(
        self,
        name: str,
        endpoint: str,
        send: Callable[[str, ToActor], bool],
        lost: Callable[[str, Cause], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.state = State.STOPPED
        self.incarnation = ""
        self.pid = 0
        self.restarts = 0
        self.last_cause: Cause | None = None
        self.notes: tuple[str, ...] = ()
        self.pong = Pong(n=0)
        self._endpoint = endpoint
        self._send = send
        self._lost = lost
        self._clock = clock
        self._deaths: deque[float] = deque(maxlen=RESTART_INTENSITY)
        self._process: ActorProcess | None = None
        self._sent = 0
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self._down = anyio.Event()
        self._stop = False
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Own the actor's life until `stop` is called and it is down."""
        with self._scope:
            while not self._stop:
                self._to(State.STARTING)
                cause = await self._live()
                if cause is Cause.COMMANDED or self._stop:
                    self._to(State.STOPPING)
                else:
                    await self._after_death(cause)
        self._to(State.STOPPING)
        self._to(State.STOPPED)
        self._down.set()

    async def _after_death(self, cause: Cause) -> None:
        self.restarts += 1
        self._deaths.append(self._clock())
        verdict = decide_restart(self._deaths, self._clock(), random.random())  # noqa: S311 - jitter
        if isinstance(verdict, Fatal):
            log.error("%s ended %d times within a minute (%s): fatal", self.name, verdict.deaths, cause)
            self._to(State.FATAL)
            self._wanted = anyio.Event()
            await self._wanted.wait()
            self._deaths.clear()
        else:
            log.warning("%s ended (%s); started again in %.1f s", self.name, cause, verdict.delay_s)
            self._to(State.BACKOFF)
            await anyio.sleep(verdict.delay_s)

    async def _live(self) -> Cause:
        """One incarnation, from spawn to its end."""
        self.incarnation = f"{self.name}.{uuid.uuid4().hex[:8]}"
        self._ready, self._sent, self.pong = anyio.Event(), 0, Pong(n=0)
        try:
            self._process = await ActorProcess.spawn(self.name, self.incarnation, self._endpoint)
        except OSError as error:
            log.error("%s cannot be started: %s", self.name, error)  # noqa: TRY400 - the sentence is enough
            return Cause.CRASHED
        self.pid = self._process.pid
        cause = Cause.UNKNOWN
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._beat, self._process)
                cause = await self._process.wait()
                tasks.cancel_scope.cancel()
        finally:
            if self._process.cause is None and self._scope.cancel_called:
                self._process.kill()
            self.last_cause = cause
            self._lost(self.incarnation, cause)
            self.incarnation, self.pid = "", 0
        return cause

    async def _beat(self, process: ActorProcess) -> None:
        with anyio.move_on_after(ACTOR_START_MAX_S):
            await self._ready.wait()
        if not self._ready.is_set():
            log.error("%s was not ready within %.0f s", self.name, ACTOR_START_MAX_S)
            await process.end(Cause.HUNG)
            return
        last = self._clock()
        while True:
            await anyio.sleep(HEARTBEAT_INTERVAL_S)
            now = self._clock()
            if now - last > 3 * HEARTBEAT_INTERVAL_S:
                self._sent = self.pong.n  # we ourselves were stopped or starved: start counting anew
            last = now
            if await self._judge(process):
                return

    async def _judge(self, process: ActorProcess) -> bool:
        """Send the next ping and judge the last ones; whether the process was ended as hung."""
        missed = self._sent - self.pong.n
        match judge_heartbeat(missed, self.pong.overdue_s):
            case Health.HUNG:
                log.error("%s hangs: %d pings missed, %.0f s overdue", self.name, missed, self.pong.overdue_s)
                await process.end(Cause.HUNG)
                return True
            case Health.SUSPECT if self.state is State.RUNNING:
                log.warning("%s is suspect: %d pings missed", self.name, missed)
                self._to(State.SUSPECT)
            case Health.GOOD if self.state is State.SUSPECT:
                self._to(State.RUNNING)
            case _:
                pass
        self._sent += 1
        self._send(self.incarnation, Ping(n=self._sent))
        return False

    def take_ready(self, ready: Ready) -> None:
        """The current incarnation says that it can serve."""
        self.notes = ready.notes
        if self.state is State.STARTING:
            self._ready.set()
            self._to(State.RUNNING)

    def take_pong(self, pong: Pong) -> None:
        """A sign of life."""
        if pong.n >= self.pong.n:
            self.pong = pong

    @property
    def routable(self) -> bool:
        """Whether calls may be sent to it."""
        return self.state in ROUTABLE

    async def wait_routable(self) -> bool:
        """Wait until it can be sent calls; False at once when it is fatal or going down."""
        while not self.routable:
            if self.state in (State.FATAL, State.STOPPING) or self._stop:
                return False
            await self._changed.wait()
        return True

    async def wait_gone(self, incarnation: str) -> None:
        """Wait until the end of an incarnation that nobody can reach has been noticed; a moment at most."""
        with anyio.move_on_after(_GONE_S):
            while self.incarnation == incarnation:
                await self._changed.wait()

    async def restart(self) -> None:
        """The operator's restart: out of fatal, or an orderly end and a new start."""
        if self.state is State.FATAL:
            self._wanted.set()
        elif self._process is not None and self.incarnation:
            await self._process.end(Cause.COMMANDED, STOP_GRACE_S)

    async def stop(self) -> None:
        """Tell it to stop and wait until it is down; TERM and KILL when it does not go by itself."""
        self._stop = True
        process = self._process if self.incarnation else None
        if process is None:
            self._scope.cancel()
        elif self.routable and self._send(self.incarnation, Stop()):
            process.cause = Cause.COMMANDED
            with anyio.move_on_after(STOP_GRACE_S):
                await self._down.wait()
        if process is not None and self.incarnation:
            await process.end(Cause.COMMANDED)
        await self._down.wait()

    def _to(self, new: State) -> None:
        if new is not self.state:
            self.state = step(self.state, new)
        self._changed.set()
        self._changed = anyio.Event()
