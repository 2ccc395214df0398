"""What every actor is: a DEALER that connects, says Ready, echoes pings from its work loop and serves Work.

An actor is one anyio task group on asyncio (pyzmq's sockets know no other loop). The reader task decodes;
each Work runs in a task of its own; one writer task owns sending. Stdin is the life line: the daemon holds
its other end, and EOF means that nobody is left to work for.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

import anyio
import anyio.abc
import msgspec
import psutil
import zmq
import zmq.asyncio

from protocol import contract
from protocol.action import Action, Outcome
from protocol.errors import Failure, Fault
from protocol.limits import ACTOR_MESSAGE_MAX_BYTES, ACTOR_QUEUE_MAX, SOCKET_HWM, STOP_GRACE_S
from protocol.messages import (
    DECODE_ERRORS,
    ActorMessage,
    Done,
    Drop,
    Failed,
    News,
    Ping,
    Pong,
    Ready,
    Step,
    Stop,
    Work,
    decode_to_actor,
    encode,
)

log = logging.getLogger("chrysalis")
Handler = Callable[["Job", Any], Awaitable[Outcome]]


class Cancelled(Exception):  # noqa: N818
    """Raised inside a worker thread by `Job.check` when nobody waits for the job any more."""


class Job:
    """One call under way, as its handler sees it; `beat`, `check` and `progress` are safe from any thread.

    Attributes:
        id: the request id that the client minted; stored with each write so that a retry is applied once.
        deadline: `time.monotonic()` at which nobody waits any more.
        operator: the caller is the command line, not a model.
    """

    def __init__(self, work: Work, actor: "Actor") -> None:
        self.id = work.id
        self.action = work.action
        self.session_id = work.session_id
        self.agent_id = work.agent_id
        self.client = work.client
        self.operator = work.operator
        self.wants_progress = work.progress
        self.deadline = time.monotonic() + work.deadline_ms / 1000
        self.last_beat = time.monotonic()
        self.dropped = False
        self.scope = anyio.CancelScope()
        self._actor = actor

    def remaining_s(self) -> float:
        """Seconds until the deadline; negative when it has passed."""
        return self.deadline - time.monotonic()

    def beat(self) -> None:
        """Say that long work moves on, so that it is not taken for hung."""
        self.last_beat = time.monotonic()

    def check(self) -> None:
        """Beat, and stop the work when it was dropped.

        Raises:
            Cancelled: nobody waits for this job.
        """
        self.beat()
        if self.dropped:
            raise Cancelled

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell the caller how far the work is; also a beat. Callable from a worker thread or the loop."""
        self.beat()
        if self.wants_progress:
            self._actor.post(Step(id=self.id, done=done, total=total, message=message))


class Actor(ABC):
    """Base of the four actors. A subclass names itself, maps actions to handlers, and may start and stop.

    What is private here is mangled (`__name`), so that no subclass takes its place unawares.
    Handlers are `async (job, params) -> Outcome`, keyed by full action name ("memory.recall"); `params` is the
    validated params Struct. They raise `Fault` for what the caller can mend.
    """

    name: str

    def __init__(self) -> None:
        self.__jobs: dict[str, Job] = {}
        self._tasks: anyio.abc.TaskGroup
        self.__outbox: list[ActorMessage] = []
        self.__wake = anyio.Event()
        self.__ended = anyio.Event()
        self.__thread = 0
        self.__loop: asyncio.AbstractEventLoop

    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """Each action that this actor serves, with its handler."""

    async def start(self) -> tuple[str, ...]:
        """Get ready to serve; whatever takes long goes on in the background. Returns notes for `Ready`."""
        return ()

    async def stop(self) -> None:
        """Leave everything in order; called once, with `STOP_GRACE_S` to do it."""

    def spawn(self, function: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
        """Run a background task that lives as long as the actor."""
        self._tasks.start_soon(function, *args)

    def post(self, message: ActorMessage) -> None:
        """Send a message to the daemon; from the loop or any thread, never blocks."""
        if threading.get_ident() == self.__thread:
            self.__post(message)
        else:
            self.__loop.call_soon_threadsafe(self.__post, message)

    def news(self, topic: str, body: dict[str, Any]) -> None:
        """Tell the daemon something unasked."""
        self.post(News(topic=topic, body=body))

    def __post(self, message: ActorMessage) -> None:
        self.__outbox.append(message)
        self.__wake.set()

    async def run(self, endpoint: str, identity: str) -> None:
        """Connect, serve until told to stop or the life line breaks, and leave in order."""
        self.__thread, self.__loop = threading.get_ident(), asyncio.get_running_loop()
        context = zmq.asyncio.Context()
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.IDENTITY, identity.encode())
        socket.setsockopt(zmq.LINGER, 1000)
        socket.setsockopt(zmq.IMMEDIATE, 1)
        socket.setsockopt(zmq.SNDHWM, SOCKET_HWM)
        socket.setsockopt(zmq.RCVHWM, SOCKET_HWM)
        socket.setsockopt(zmq.MAXMSGSIZE, 2 * ACTOR_MESSAGE_MAX_BYTES)
        socket.connect(endpoint)
        try:
            async with anyio.create_task_group() as self._tasks:
                self.spawn(self.__write, socket)
                self.spawn(self.__watch_signals)
                threading.Thread(target=self.__watch_lifeline, name="lifeline", daemon=True).start()
                notes = await self.start()
                self.post(Ready(name=self.name, pid=os.getpid(), notes=notes))
                self.spawn(self.__read, socket)
                await self.__ended.wait()
                self.__drop_all()
                with anyio.move_on_after(STOP_GRACE_S, shield=True):
                    await self.stop()
                self._tasks.cancel_scope.cancel()
        finally:
            context.destroy(linger=200)

    async def __read(self, socket: zmq.asyncio.Socket) -> None:
        handlers = self.handlers()
        actions = {name: action for name, action in contract.BY_NAME.items() if name in handlers}
        while True:
            try:
                message = decode_to_actor(await socket.recv())
            except DECODE_ERRORS as error:
                log.warning("undecodable message from the daemon: %s", error)
                continue
            match message:
                case Work():
                    self.__begin(message, actions, handlers)
                case Ping(n=n):
                    self.post(self.__pong(n))
                case Drop(id=id):
                    if job := self.__jobs.get(id):
                        job.dropped = True
                        job.scope.cancel()
                case Stop():
                    self.__ended.set()

    def __begin(self, work: Work, actions: Mapping[str, Action], handlers: Mapping[str, Handler]) -> None:
        if len(self.__jobs) >= ACTOR_QUEUE_MAX:
            failure = Fault(
                "busy", f"{self.name} has {len(self.__jobs)} calls under way.", next_action="Retry shortly."
            )
            self.post(Failed(id=work.id, failure=failure.failure))
            return
        job = self.__jobs[work.id] = Job(work, self)
        self.spawn(self.__serve, job, work, actions.get(work.action), handlers.get(work.action))

    async def __serve(self, job: Job, work: Work, action: Action | None, handler: Handler | None) -> None:
        try:
            with job.scope:
                self.post(await self.__answer(job, work, action, handler))
        finally:
            self.__jobs.pop(job.id, None)

    async def __answer(self, job: Job, work: Work, action: Action | None, handler: Handler | None) -> Done | Failed:
        try:
            if action is None or handler is None:
                raise Fault("unknown_action", f"{work.action} is not served here.", next_action="Call meta.discover.")
            params = msgspec.msgpack.decode(work.params, type=action.params)
            return _checked(Done(id=job.id, outcome=await handler(job, params)))
        except Fault as fault:
            return Failed(id=job.id, failure=fault.failure)
        except Cancelled:
            return Failed(id=job.id, failure=_failure("cancelled", "The call was cancelled.", "Nothing was changed."))
        except Exception as error:
            log.exception("%s failed", work.action)
            text = f"{work.action} failed inside: {type(error).__name__}: {error}"
            return Failed(id=job.id, failure=_failure("internal", text, "Please report this with the daemon's log."))

    def __pong(self, n: int) -> Pong:
        now = time.monotonic()
        overdue = [now - max(job.deadline, job.last_beat) for job in self.__jobs.values()]
        return Pong(
            n=n, running=len(overdue), overdue_s=max(0.0, *overdue, 0.0), rss_bytes=psutil.Process().memory_info().rss
        )

    async def __write(self, socket: zmq.asyncio.Socket) -> None:
        while True:
            await self.__wake.wait()
            self.__wake = anyio.Event()
            batch, self.__outbox = self.__outbox, []
            for message in batch:
                await socket.send(encode(message))

    def __drop_all(self) -> None:
        for job in self.__jobs.values():
            job.dropped = True
            job.scope.cancel()

    async def __watch_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                if number == signal.SIGTERM:  # SIGINT of a terminal is the daemon's to act on
                    self.__ended.set()

    def __watch_lifeline(self) -> None:
        """Wait for the end of stdin, end the work loop, and the process itself if the loop does not follow."""
        while os.read(0, 4096):
            pass
        self.__loop.call_soon_threadsafe(self.__ended.set)
        time.sleep(STOP_GRACE_S)
        os._exit(1)


def _failure(code: Any, message: str, next_action: str) -> Failure:
    return Fault(code, message, next_action=next_action).failure


def _checked(done: Done) -> Done | Failed:
    """A Done that surely fits the wire, or the Failed that says why it does not."""
    try:
        size = len(encode(done))
    except (OverflowError, UnicodeEncodeError, TypeError) as error:
        return Failed(
            id=done.id, failure=_failure("internal", f"The result cannot be sent: {error}", "Please report this.")
        )
    if size > ACTOR_MESSAGE_MAX_BYTES:
        text = f"The result has {size} bytes, more than {ACTOR_MESSAGE_MAX_BYTES}."
        return Failed(id=done.id, failure=_failure("too_large", text, "Ask for less: a smaller k or fewer solutions."))
    return done


def run_actor(actor: Actor) -> None:
    """Be an actor process: the whole of `python -m actors.NAME`.

    Where to connect and who to be come from the environment that the daemon sets:
    `CHRYSALIS_ACTOR_ENDPOINT` and `CHRYSALIS_INCARNATION`.
    """
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=f"%(levelname)s {actor.name}: %(message)s")
    try:
        endpoint, identity = os.environ["CHRYSALIS_ACTOR_ENDPOINT"], os.environ["CHRYSALIS_INCARNATION"]
    except KeyError as missing:
        sys.exit(f"{actor.name}: {missing} is not set; actors are started by `chrysalis daemon`.")
    anyio.run(actor.run, endpoint, identity, backend="asyncio")
    os._exit(0)  # a worker thread stuck in foreign code must not keep the process
