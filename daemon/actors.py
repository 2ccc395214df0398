"""The four actors as the daemon knows them: their socket, their supervision, and how a call gets to one."""

import contextlib
import logging
import time
from typing import Final, get_args

import anyio
import msgspec
import zmq.asyncio
from msgspec import Raw, Struct

from protocol.action import Action, ActorName, Params
from protocol.errors import Failure, Fault
from protocol.limits import ACTOR_MESSAGE_MAX_BYTES
from protocol.messages import (
    DECODE_ERRORS,
    Done,
    Failed,
    News,
    Pong,
    Ready,
    Step,
    ToActor,
    Work,
    decode_from_actor,
)

from .flights import ActorLost, Flights, NeverSent, OnStep
from .poison import Poison
from .states import Cause, State
from .supervisor import Supervised
from .wire import send_now

log = logging.getLogger("chrysalis")
NAMES: Final[tuple[ActorName, ...]] = get_args(ActorName)
_ROUTABLE_WAIT_S: Final = 10.0


class Errand(Struct, frozen=True, kw_only=True):
    """Who asks an actor, under which id, and how long they wait (`deadline` is a monotonic time)."""

    id: str
    session_id: str = ""
    agent_id: str = ""
    client: str = ""
    operator: bool = False
    readonly: bool = False
    deadline: float
    on_step: OnStep | None = None


class Actors:
    """The actors' end of the daemon."""

    def __init__(self, endpoint: str, socket: zmq.asyncio.Socket) -> None:
        self._socket = socket
        self._flights = Flights(self.send)
        self._poison = Poison(time.monotonic)
        self.supervised = {name: Supervised(name, endpoint, self.send, self._flights.lose) for name in NAMES}
        self._news, self.news = anyio.create_memory_object_stream[News](64)

    async def read(self) -> None:
        """Take in what actors send, for ever."""
        while True:
            identity, frame = await self._socket.recv_multipart()
            try:
                message = decode_from_actor(frame)
            except DECODE_ERRORS as error:
                log.warning("undecodable message from %s: %s", identity.decode(errors="replace"), error)
                continue
            self._take(identity.decode(errors="replace"), message)

    def _take(self, incarnation: str, message: Ready | Pong | Done | Failed | Step | News) -> None:
        actor = self.supervised.get(incarnation.partition(".")[0])
        if actor is None or actor.incarnation != incarnation:
            return  # an earlier life; its calls were answered when it ended
        match message:
            case Ready():
                actor.take_ready(message)
            case Pong():
                actor.take_pong(message)
            case Done() | Failed():
                self._flights.land(message)
            case Step():
                self._flights.step(message)
            case News():
                with contextlib.suppress(anyio.WouldBlock):
                    self._news.send_nowait(message)

    def send(self, incarnation: str, message: ToActor) -> bool:
        """Give a message to an incarnation; False when it is gone or its queue is full."""
        return send_now(self._socket, incarnation.encode(), message)

    async def ask(self, action: Action, params: Params, errand: Errand) -> Done | Failure:
        """Have an action done by its actor, and wait for the answer.

        A read whose actor dies is tried once more; a write is not, its id makes the client's own retry safe.

        Raises:
            Fault: unavailable, busy, too_large, or poison.
        """
        body = _packed(params)
        if len(body) > ACTOR_MESSAGE_MAX_BYTES:
            raise Fault("too_large", f"The params have {len(body)} bytes.", next_action="Send them in smaller parts.")
        key = self._poison.key(action.full_name, body)
        for attempt in (1, 2):
            self._poison.check(key, action.full_name)
            actor = await self._routable(action.owner)
            try:
                result = await self._flights.fly(actor.incarnation, _work(action, body, errand), errand.on_step)
            except NeverSent:
                await actor.wait_gone(actor.incarnation)
                if attempt == 1:
                    continue
                return _lost(action, errand.id)
            except ActorLost as lost:
                if lost.cause is not Cause.COMMANDED:
                    self._poison.blame(key)
                if attempt == 1 and action.read_only:
                    continue
                return _lost(action, errand.id)
            self._poison.absolve(key)
            return result
        raise AssertionError  # both arms of the second attempt leave

    async def _routable(self, name: str) -> Supervised:
        actor = self.supervised[name]
        with anyio.move_on_after(_ROUTABLE_WAIT_S):
            if await actor.wait_routable():
                return actor
        if actor.state is State.FATAL:
            raise Fault(
                "unavailable",
                f"The {name} actor ended too often ({actor.last_cause}) and was left down.",
                next_action=f"See the daemon's log, then run: chrysalis restart {name}",
                retryable=False,
            )
        raise Fault("unavailable", f"The {name} actor is {actor.state}.", next_action="Retry in a few seconds.")


def _packed(params: Params) -> bytes:
    try:
        return msgspec.msgpack.encode(params)
    except OverflowError:
        raise Fault(
            "invalid_params",
            "A number in the params is beyond 64 bits.",
            next_action='Write such a number as text, for example inside an expression: "x < 10^30".',
        ) from None


def _work(action: Action, body: bytes, errand: Errand) -> Work:
    return Work(
        id=errand.id,
        action=action.full_name,
        params=Raw(body),
        session_id=errand.session_id,
        agent_id=errand.agent_id,
        client=errand.client,
        operator=errand.operator,
        deadline_ms=max(1, int((errand.deadline - time.monotonic()) * 1000)),
        progress=errand.on_step is not None,
    )


def _lost(action: Action, request_id: str) -> Failure:
    again = "Repeat the call."
    if not action.read_only:
        again = f'Repeat the call with "request_id": "{request_id}" in params; it is then applied once only.'
    message = f"The {action.owner} actor was restarted while it worked on this."
    return Fault("actor_restarted", message, next_action=again, details={"request_id": request_id}).failure
