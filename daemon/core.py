"""The daemon put together: sockets bound, actors supervised, calls served, and an orderly end."""

import contextlib
import logging
import os
import resource
import time
from collections.abc import Mapping
from typing import Any, Final

import anyio
import anyio.abc
import msgspec
import zmq.asyncio

from protocol import endpoints
from protocol.action import Outcome
from protocol.limits import ACTOR_MESSAGE_MAX_BYTES, HEARTBEAT_INTERVAL_S, REQUEST_MAX_BYTES, STOP_GRACE_S
from protocol.messages import Control
from protocol.settings import enabled, value

from .actors import NAMES, Actors
from .advice import Advisor
from .answers import Answers
from .batch import BatchRun
from .clients import Clients
from .instance import ReadyPipe
from .meta import VERSION, Meta
from .notify import notify, watchdog_interval_s
from .perform import Performer, Task
from .sessions import Sessions
from .states import State
from .wire import router

log = logging.getLogger("chrysalis")
_FRAME_SLACK_BYTES: Final = 64_000


class Daemon:
    """One run of the daemon.

    Args:
        ready: told READY once clients can connect.
        idle_exit_s: end after so long without clients; 0 stays for ever.
    """

    def __init__(self, ready: ReadyPipe, idle_exit_s: float) -> None:
        self._ready = ready
        self._idle_exit_s = idle_exit_s
        self._ended = anyio.Event()
        self._started = time.monotonic()
        self._context = zmq.asyncio.Context()
        self._model: dict[str, Any] = {}
        self._actors: Actors
        self._clients: Clients

    def end(self) -> None:
        """Ask for an orderly end."""
        self._ended.set()

    async def run(self) -> None:
        """Serve until the end is asked for.

        Raises:
            zmq.ZMQError: a socket cannot be bound.
        """
        raise_descriptor_limit()
        readonly = enabled("CHRYSALIS_READONLY")
        front = router(self._context, REQUEST_MAX_BYTES + _FRAME_SLACK_BYTES)
        back = router(self._context, 2 * ACTOR_MESSAGE_MAX_BYTES)
        try:
            front.bind(endpoints.bridge_endpoint())
            back.bind(endpoints.actors_endpoint())
            async with anyio.create_task_group() as tasks:
                self._wire(tasks, front, back, readonly=readonly)
                for name in NAMES:
                    tasks.start_soon(self._actors.supervised[name].run)
                for background in (
                    self._actors.read,
                    self._clients.read,
                    self._take_news,
                    self._tick,
                    self._tell_ready,
                ):
                    tasks.start_soon(background)
                self._ready.say("READY")
                await self._ended.wait()
                await self._close(front)
                tasks.cancel_scope.cancel()
        finally:
            self._context.destroy(linger=500)

    def _wire(
        self, tasks: anyio.abc.TaskGroup, front: zmq.asyncio.Socket, back: zmq.asyncio.Socket, *, readonly: bool
    ) -> None:
        sessions = Sessions(time.monotonic)
        self._actors = Actors(endpoints.actors_endpoint(), back)
        performer = Performer(self._actors, Advisor(self._actors), sessions.drop_results)
        meta = Meta(self._actors, sessions)

        async def batch(task: Task) -> Outcome:
            return await BatchRun(task, performer).run()

        performer.own = {
            "meta.schema": meta.schema,
            "meta.discover": meta.discover,
            "meta.stats": meta.stats,
            "meta.batch": batch,
        }
        self._meta, self._sessions = meta, sessions
        self._clients = Clients(front, tasks, Answers(performer, sessions, readonly=readonly), self._obey)

    async def _take_news(self) -> None:
        async for news in self._actors.news:
            if news.topic == "slot":
                self._clients.slot.take(news.body)
            elif news.topic == "llm":
                self._model = news.body

    async def _tell_ready(self) -> None:
        """READY for systemd: the sockets are bound and memory can serve."""
        await self._actors.supervised["memory"].wait_routable()
        notify(f"READY=1\nMAINPID={os.getpid()}\nSTATUS=Serving")

    async def _tick(self) -> None:
        """Once a second: watchdog, silent clients, idle end."""
        last = time.monotonic()
        while True:
            await anyio.sleep(HEARTBEAT_INTERVAL_S)
            now = time.monotonic()
            if now - last > 3 * HEARTBEAT_INTERVAL_S:
                self._clients.forgive_silence()
            last = now
            self._clients.forget_silent()
            self._watchdog()
            if self._unused(now):
                log.info("no client for %.0f s: ending", self._idle_exit_s)
                self.end()

    def _unused(self, now: float) -> bool:
        """Whether nobody has wanted anything of this daemon for long: no client, and no model that is to be served."""
        idle_s = now - self._clients.idle_since
        wanted = len(self._clients) > 0 or bool(self._model.get("wanted"))
        return self._idle_exit_s > 0 and not wanted and idle_s > self._idle_exit_s

    def _watchdog(self) -> None:
        states = {name: actor.state for name, actor in self._actors.supervised.items()}
        down = [f"{name} {state}" for name, state in states.items() if state is not State.RUNNING]
        if watchdog_interval_s() is not None and State.SUSPECT not in states.values():
            notify("WATCHDOG=1")
        model = f"; model {self._model.get('profile')} {self._model.get('state')}" if self._model.get("wanted") else ""
        notify(f"STATUS={len(self._clients)} clients; {', '.join(down) or 'all actors running'}{model}")

    async def _close(self, front: zmq.asyncio.Socket) -> None:
        """Stop accepting, let calls finish for a while, stop the actors."""
        notify("STOPPING=1")
        self._clients.closing = True
        with contextlib.suppress(zmq.ZMQError):
            front.unbind(endpoints.bridge_endpoint())
        with anyio.move_on_after(STOP_GRACE_S):
            await self._clients.wait_quiet()
        self._clients.cancel_all()
        async with anyio.create_task_group() as tasks:
            for actor in self._actors.supervised.values():
                tasks.start_soon(actor.stop)

    async def _obey(self, control: Control) -> tuple[bool, bytes]:
        """The operator's words."""
        match control.verb:
            case "status":
                return True, msgspec.json.encode(self.status())
            case "stop":
                self.end()
                return True, msgspec.json.encode({"stopping": True, "pid": os.getpid()})
            case "restart" if control.target in self._actors.supervised:
                await self._actors.supervised[control.target].restart()
                return True, msgspec.json.encode({"restarted": control.target})
            case _:
                known = {"verbs": ["status", "stop", "restart"], "actors": list(NAMES)}
                return False, msgspec.json.encode({"error": f"{control.verb} {control.target}".strip(), **known})

    def status(self) -> Mapping[str, Any]:
        """Everything `chrysalis status` shows."""
        return {
            "version": VERSION,
            "pid": os.getpid(),
            "uptime_s": round(time.monotonic() - self._started, 1),
            "runtime_dir": endpoints.runtime_dir(),
            "actors": self._meta.actor_figures(),
            "clients": self._clients.describe(),
            "sessions": len(self._sessions),
            "calls": sum(self._sessions.figures.calls.values()),
            "errors": dict(self._sessions.figures.errors),
            "calls_under_way": self._clients.calls_under_way,
            "answers_dropped": self._clients.dropped_answers,
            "advisory": self._clients.slot.text,
            "idle_exit_s": self._idle_exit_s,
            "profile": value("CHRYSALIS_MODEL_PROFILE"),
        }


def raise_descriptor_limit() -> None:
    """Allow as many descriptors as the system does: libzmq aborts the process when an ipc accept finds none left."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
