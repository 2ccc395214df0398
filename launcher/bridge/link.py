"""The way to the daemon: finds or starts it when a call needs it, and carries calls over its death.

A call that was under way when the daemon died is sent once more under the same id; a write's id is stored
with it, so that it is applied once. Nothing here blocks: the loop asks `wishes`, polls, and says `ready`.
"""

from __future__ import annotations

import os
import select

from launcher import autostart
from protocol.endpoints import EndpointError
from protocol.limits import CLIENT_SILENT_MAX_S, DAEMON_START_MAX_S, PROTOCOL_VERSION

from . import zmtp
from .calls import ATTEMPTS_MAX, GRACE_S, Call, failure, unavailable
from .msgpack import Undecodable, pack, unpack

ALIVE_EVERY_S = 5.0
LOOK_EVERY_S = 0.05
IDLE_LOOK_EVERY_S = 5.0
START_EVERY_S = 1.0
_READ_BYTES = 1 << 18
_SILENT_S = CLIENT_SILENT_MAX_S / 2
"""Silent for so long, as after SIGSTOP or a suspended laptop, we may soon be forgotten."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Protocol

    from .tool import Tool

    class Party(Protocol):
        """Whom the link works for: a session, or an HTTP courier."""

        client: str

        def answered(self, call: Call, envelope: bytes, *, is_error: bool) -> None: ...
        def progressed(self, call: Call, done: float, total: float | None, message: str) -> None: ...
        def tools_changed(self) -> None: ...


class Link:
    """One client's connection to the daemon, present or wanted; `kind` as `Hello` has it."""

    def __init__(self, party: Party, tool: Tool, kind: str = "bridge") -> None:
        self._party, self._tool, self._kind = party, tool, kind
        self._calls: dict[str, Call] = {}
        self._socket: socket.socket | None = None
        self._peer = zmtp.Peer()
        self._start: autostart.Start | None = None
        self._wanted_since = 0.0
        self._look_at = 0.0
        self._start_at = 0.0
        self._alive_at = 0.0
        self._error = ""

    # what the session asks

    def submit(self, call: Call, now: float) -> None:
        """Take over a call: send it, or look for a daemon to send it to."""
        self._calls[call.id] = call
        if self._socket:
            if self._peer.ready:
                self._stay_known(now)
                self._send(call.wire(now))
        elif len(self._calls) == 1 or not self._wanted_since:
            self._wanted_since, self._look_at, self._error = now, now, ""

    def cancel(self, call: Call) -> None:
        """Nobody waits for this call any more."""
        if self._calls.pop(call.id, None) and self._socket and call.attempt:
            self._send({"t": "cancel", "id": call.id})

    def close(self) -> None:
        """Say goodbye, without waiting for anything."""
        if self._socket:
            self._send({"t": "bye"})
            self._flush()
            self._drop_socket()
        if self._start:
            self._start.close()
            self._start = None

    # what the loop does

    def wishes(self) -> list[tuple[int, int]]:
        """The file descriptors to poll, with their events."""
        wanted: list[tuple[int, int]] = []
        if self._socket:
            writing = select.POLLOUT if self._peer.outgoing else 0
            wanted.append((self._socket.fileno(), select.POLLIN | writing))
        if self._start:
            wanted.append((self._start.fd, select.POLLIN))
        return wanted

    def ready(self, fd: int, now: float) -> None:
        """Something can be read or written at `fd`."""
        if self._start and fd == self._start.fd:
            if self._start.advance():
                self._error, self._start = self._start.error, None
                self._look_at = now
        elif self._socket and fd == self._socket.fileno():
            self._flush()
            self._read(now)

    def next_at(self) -> float:
        """When `tick` is to be called at the latest."""
        times = [call.deadline + GRACE_S for call in self._calls.values()]
        times.append(self._alive_at + ALIVE_EVERY_S if self._socket else self._look_at)
        return min(times)

    def tick(self, now: float) -> None:
        """Whatever is due: a look for the daemon, a sign of life, calls whose time is over."""
        for call in [call for call in self._calls.values() if now >= call.deadline + GRACE_S]:
            self._give_up(call)
        if self._socket:
            self._stay_known(now)
        elif now >= self._look_at:
            self._look(now)

    # finding the daemon

    def _look(self, now: float) -> None:
        self._look_at = now + (LOOK_EVERY_S if self._calls else IDLE_LOOK_EVERY_S)
        try:
            self._socket = autostart.connect()
            if self._socket:
                self._greet(now)
            elif self._calls:
                self._insist(now)
        except (EndpointError, autostart.StartError, OSError) as error:
            self._fail_all(str(error))

    def _insist(self, now: float) -> None:
        """Calls wait and nobody listens: start a daemon, unless that is under way or has failed."""
        if now > self._wanted_since + DAEMON_START_MAX_S:
            self._fail_all(f"No daemon within {DAEMON_START_MAX_S:.0f} s; see {autostart.log_file()}")
        elif self._error:
            self._fail_all(self._error)
        elif self._start is None and now >= self._start_at:
            self._start_at = now + START_EVERY_S
            self._start = autostart.begin()

    def _greet(self, now: float) -> None:
        self._peer = zmtp.Peer()
        self._wanted_since = 0.0
        self._error = ""
        self._say_hello(now)

    def _say_hello(self, now: float) -> None:
        self._alive_at = now
        hello = {"t": "hello", "v": PROTOCOL_VERSION, "kind": self._kind, "pid": os.getpid()}
        self._send({**hello, "client": self._party.client, "readonly": self._tool.readonly})

    def _stay_known(self, now: float) -> None:
        """Give a sign of life when it is time; after a silence, in which we may have been forgotten, greet again."""
        if now >= self._alive_at + _SILENT_S:
            self._say_hello(now)
            for call in [call for call in self._calls.values() if call.attempt]:
                self._send(call.wire(now))
        elif now >= self._alive_at + ALIVE_EVERY_S:
            self._alive_at = now
            self._send({"t": "alive"})

    # the wire

    def _send(self, message: dict[str, object]) -> None:
        self._peer.send(pack(message))

    def _flush(self) -> None:
        while self._socket and self._peer.outgoing:
            try:
                sent = self._socket.send(self._peer.outgoing)
            except BlockingIOError:
                return
            except OSError:
                return  # reading tells it too, and only once
            del self._peer.outgoing[:sent]

    def _read(self, now: float) -> None:
        assert self._socket
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        met = self._peer.ready
        try:
            messages = self._peer.feed(data) if data else None
        except zmtp.WireError:
            messages = None
        if messages is None:
            self._lost(now, met=met)
            return
        if self._peer.ready and not met:  # not before: what never left is no attempt
            for call in list(self._calls.values()):
                self._send(call.wire(now))
        self._take_all(messages)

    def _lost(self, now: float, *, met: bool) -> None:
        """The daemon is gone: once more for what it was doing, and an error for what it died of twice."""
        self._drop_socket()
        self._wanted_since, self._look_at, self._error = now, now if met else now + LOOK_EVERY_S, ""
        for call in [call for call in self._calls.values() if call.attempt >= ATTEMPTS_MAX]:
            self._finish(call, unavailable("The daemon ended twice while it served this call."))

    def _drop_socket(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def _take_all(self, bodies: list[bytes]) -> None:
        for body in bodies:
            try:
                message = unpack(body)
            except Undecodable:
                continue
            if isinstance(message, dict):
                self._take(message)

    def _take(self, message: dict[object, object]) -> None:
        kind = message.get("t")
        if kind == "welcome" and message.get("refused"):
            self._drop_socket()  # the next call asks again: by then it may be another daemon
            self._look_at = self._alive_at + IDLE_LOOK_EVERY_S
            self._fail_all(str(message["refused"]))
        elif kind in ("welcome", "notice"):
            if self._tool.advise(message.get("slot"), message.get("instructions")):
                self._party.tools_changed()
        elif call := self._calls.get(str(message.get("id"))):
            self._told(kind, call, message)

    def _told(self, kind: object, call: Call, message: dict[object, object]) -> None:
        if kind == "answer":
            envelope = message.get("envelope")
            if isinstance(envelope, bytes):
                self._finish(call, envelope, is_error=message.get("is_error") is True)
            else:
                self._finish(call, failure("internal", "The daemon's answer has no envelope.", "Please report this."))
        elif kind == "progress":
            done, total = message.get("done"), message.get("total")
            if isinstance(done, int | float):
                total = total if isinstance(total, int | float) else None
                self._party.progressed(call, done, total, str(message.get("message") or ""))

    # ends of calls

    def _finish(self, call: Call, envelope: bytes, *, is_error: bool = True) -> None:
        del self._calls[call.id]
        self._party.answered(call, envelope, is_error=is_error)

    def _fail_all(self, reason: str) -> None:
        self._wanted_since = 0.0
        for call in list(self._calls.values()):
            self._finish(call, unavailable(reason))

    def _give_up(self, call: Call) -> None:
        if self._socket:
            self._send({"t": "cancel", "id": call.id})
            text = "The daemon did not answer before the deadline."
            self._finish(call, failure("timeout", text, "Ask for less, or retry.", retryable=True))
        else:
            self._finish(call, unavailable("No daemon could be reached before the deadline."))
