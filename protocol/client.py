"""A synchronous client of the daemon: what the command line, the tests and the benchmarks speak through."""

import os
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import zmq

from .endpoints import bridge_endpoint
from .limits import DEADLINE_DEFAULT_MS, REQUEST_MAX_BYTES, SOCKET_HWM
from .messages import (
    DECODE_ERRORS,
    Alive,
    Answer,
    Bye,
    Call,
    Cancel,
    Control,
    ControlReply,
    FromClient,
    Hello,
    Progress,
    ToClient,
    Welcome,
    decode_to_client,
    encode,
)

_ALIVE_EVERY_S: Final = 5.0
_GRACE_S: Final = 2.0
OnProgress = Callable[[Progress], None]


class NoDaemon(Exception):  # noqa: N818
    """Raised when no daemon answers at the endpoint in time, or it speaks another version."""


class Client:
    """One connection. Not for use by several threads at once.

    Calls that are under way when the daemon dies are sent once more, under the same id, to the daemon that
    comes next; since a write's id is stored with it, it is applied once.

    Args:
        kind: cli, test or http. client: the name that the session defaults are made from.
        operator: may use operator actions and controls.
        readonly: may only read, as with CHRYSALIS_READONLY=1.
        connect_timeout_s: how long to wait for a daemon; 0 does not wait at all.
        away_max_s: how long a call waits for the next daemon when this one went away; None: as long as for its answer.
    """

    def __init__(
        self,
        *,
        kind: str = "cli",
        client: str = "chrysalis",
        operator: bool = True,
        readonly: bool = False,
        connect_timeout_s: float = 3.0,
        away_max_s: float | None = None,
        endpoint: str | None = None,
    ) -> None:
        self._hello = Hello(kind=kind, pid=os.getpid(), client=client, operator=operator, readonly=readonly)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        for option, number in (
            (zmq.LINGER, 200),
            (zmq.SNDHWM, SOCKET_HWM),
            (zmq.RCVHWM, SOCKET_HWM),
            (zmq.RECONNECT_IVL, 20),
            (zmq.RECONNECT_IVL_MAX, 500),
        ):
            self._socket.setsockopt(option, number)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._socket.connect(endpoint or bridge_endpoint())
        self._under_way: dict[str, Call] = {}
        self._answers: dict[str, Answer | ControlReply] = {}
        self._on_progress: dict[str, OnProgress] = {}
        self._alive_at = time.monotonic()
        self._away_max_s = away_max_s
        self._away_since: float | None = None
        self.welcome: Welcome | None = None
        if connect_timeout_s:
            self.wait_welcome(connect_timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def wait_welcome(self, timeout_s: float) -> Welcome:
        """Greet the daemon and wait for its answer.

        Raises:
            NoDaemon: nobody answered, or it refuses this version.
        """
        self._send(self._hello)
        until = time.monotonic() + timeout_s
        while self.welcome is None and time.monotonic() < until:
            self.pump(until - time.monotonic())
        if self.welcome is None:
            self.close()
            raise NoDaemon("No daemon answers. Start one: chrysalis daemon")
        if self.welcome.refused:
            refused = self.welcome.refused
            self.close()
            raise NoDaemon(refused)
        return self.welcome

    def call(self, domain: str, action: str, params: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """Call one action and wait for its envelope.

        Args:
            domain: which part is asked.
            action: what it is to do.
            params: the action's params.
            options: `session_id`, `verbosity`, `store_as`, `telemetry`, `agent_id` as the tool has them;
                `deadline_ms`, `on_progress` and `call_id` for this client.

        Returns:
            The envelope. When the daemon stays away past the deadline: an error envelope `unavailable`.
        """
        deadline_ms = options.pop("deadline_ms", None)
        on_progress = options.pop("on_progress", None)
        call_id = options.pop("call_id", None)
        arguments = {"domain": domain, "action": action, "params": params or {}, **options}
        return self.call_raw(
            msgspec.json.encode(arguments), deadline_ms=deadline_ms, on_progress=on_progress, call_id=call_id
        )

    def call_raw(
        self,
        arguments: bytes,
        *,
        deadline_ms: int | None = None,
        on_progress: OnProgress | None = None,
        call_id: str | None = None,
    ) -> dict[str, Any]:
        """As `call`, with the argument object as raw JSON, well formed or not."""
        call_id = self.begin(arguments, deadline_ms=deadline_ms, on_progress=on_progress, call_id=call_id)
        return self.wait(call_id, deadline_ms)

    def begin(
        self,
        arguments: bytes,
        *,
        deadline_ms: int | None = None,
        on_progress: OnProgress | None = None,
        call_id: str | None = None,
    ) -> str:
        """Send a call without waiting; returns its id for `wait`."""
        call_id = call_id or uuid.uuid4().hex
        call = Call(id=call_id, arguments=arguments, deadline_ms=deadline_ms, progress=on_progress is not None)
        if len(arguments) > REQUEST_MAX_BYTES:
            self._answers[call_id] = Answer(id=call_id, envelope=_too_large(len(arguments)), is_error=True)
            return call_id
        self._under_way[call_id] = call
        if on_progress:
            self._on_progress[call_id] = on_progress
        self._send(call)
        return call_id

    def wait(self, call_id: str, deadline_ms: int | None = None) -> dict[str, Any]:
        """The envelope of a call that was begun."""
        until = time.monotonic() + (deadline_ms or DEADLINE_DEFAULT_MS) / 1000 + _GRACE_S
        while call_id not in self._answers and time.monotonic() < until and not self.away_too_long():
            self.pump(until - time.monotonic())
        self._under_way.pop(call_id, None)
        self._on_progress.pop(call_id, None)
        answer = self._answers.pop(call_id, None)
        if not isinstance(answer, Answer):
            return msgspec.json.decode(_unavailable())
        return msgspec.json.decode(answer.envelope)

    def cancel(self, call_id: str) -> None:
        """Say that nobody waits for a call any more."""
        self._under_way.pop(call_id, None)
        self._send(Cancel(id=call_id))

    def control(self, verb: str, target: str = "", timeout_s: float = 15.0) -> dict[str, Any]:
        """An operator's word: `status`, `stop`, or `restart` of an actor.

        Raises:
            NoDaemon: no answer in time.
        """
        call_id = uuid.uuid4().hex
        self._send(Control(id=call_id, verb=verb, target=target))
        until = time.monotonic() + timeout_s
        while call_id not in self._answers and time.monotonic() < until:
            self.pump(until - time.monotonic())
        reply = self._answers.pop(call_id, None)
        if not isinstance(reply, ControlReply):
            raise NoDaemon(f"The daemon did not answer {verb} within {timeout_s:.0f} s.")
        return msgspec.json.decode(reply.body)

    def pump(self, timeout_s: float) -> None:
        """Take in what comes within `timeout_s`, at most one second; give a sign of life when it is time."""
        if time.monotonic() - self._alive_at > _ALIVE_EVERY_S:
            self._alive_at = time.monotonic()
            self._send(Alive())
        if self._monitor.poll(0):
            self._reconnect()
        if self._socket.poll(max(0, min(int(timeout_s * 1000), 50 if self._under_way else 1000))):
            self._take(self._socket.recv())

    def away_too_long(self) -> bool:
        """Whether the daemon went away and none has come in `away_max_s`."""
        limit, since = self._away_max_s, self._away_since
        return limit is not None and since is not None and time.monotonic() - since > limit

    def _reconnect(self) -> None:
        """The daemon went away: greet the next one and send once more what is under way."""
        while self._monitor.poll(0):
            self._monitor.recv_multipart()
        self._away_since = self._away_since or time.monotonic()
        self._send(self._hello)
        for call_id, call in list(self._under_way.items()):
            again = msgspec.structs.replace(call, attempt=call.attempt + 1)
            self._under_way[call_id] = again
            self._send(again)

    def _take(self, frame: bytes) -> None:
        try:
            message: ToClient = decode_to_client(frame)
        except DECODE_ERRORS:
            return
        match message:
            case Welcome():
                self.welcome = message
                self._away_since = None
            case Answer() | ControlReply():
                self._answers[message.id] = message
                self._under_way.pop(message.id, None)
            case Progress():
                if told := self._on_progress.get(message.id):
                    told(message)
            case _:
                pass

    def _send(self, message: FromClient) -> None:
        try:
            self._socket.send(encode(message), zmq.NOBLOCK)
        except zmq.Again:
            raise NoDaemon(f"No daemon has taken the last {SOCKET_HWM} messages. Start one: chrysalis daemon") from None

    def close(self) -> None:
        """Say goodbye and let go of the sockets; may be called twice."""
        if self._socket.closed:
            return
        if self.welcome is not None:
            self._send(Bye())
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close()
        self._context.term()


def _unavailable() -> bytes:
    return _error("unavailable", "The daemon did not answer in time.", "Retry; `chrysalis status` shows how it is.")


def _too_large(size: int) -> bytes:
    text = f"The call has {size} bytes; the limit is {REQUEST_MAX_BYTES}."
    return _error("too_large", text, "Send it in smaller parts.")


def _error(code: str, message: str, next_action: str) -> bytes:
    retryable = code == "unavailable"
    data = {"code": code, "message": message, "next_action": next_action, "retryable": retryable}
    envelope = {"status": "error", "severity": "ERROR", "summary": message, "data": data, "next_action": next_action}
    return msgspec.json.encode(envelope)
