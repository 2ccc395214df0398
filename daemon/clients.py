"""The clients' end of the daemon: greets them, takes their calls, answers each once, notices when they are gone."""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable

import anyio
import anyio.abc
import zmq.asyncio

from protocol.envelope import of_failure, pack
from protocol.errors import Fault
from protocol.limits import BUSY_RETRY_AFTER_MS, CLIENT_CALLS_MAX, CLIENT_SILENT_MAX_S, PROTOCOL_VERSION
from protocol.messages import (
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
    Notice,
    Progress,
    Step,
    ToClient,
    Welcome,
    decode_from_client,
)

from .advice import Slot
from .answers import Answers, Caller, Packed
from .meta import VERSION
from .wire import send_now

log = logging.getLogger("chrysalis")
OnControl = Callable[[Control], Awaitable[tuple[bool, bytes]]]


class Peer:
    """One connected client: who it is, when it was last heard, what it waits for."""

    def __init__(self, identity: bytes, hello: Hello, now: float) -> None:
        self.identity = identity
        self.hello = hello
        self.heard_at = now
        self.calls: dict[str, UnderWay] = {}
        self.pidfd: int | None = None


class UnderWay:
    """One call that is being served: whom to answer, how to stop it, and whether it was sent again after a stop."""

    def __init__(self, owner: Peer) -> None:
        self.owner = owner
        self.scope = anyio.CancelScope()
        self.again: Call | None = None


class Clients:
    """All clients, by the identity of their connection."""

    def __init__(
        self, socket: zmq.asyncio.Socket, tasks: anyio.abc.TaskGroup, answers: Answers, control: OnControl
    ) -> None:
        self._socket = socket
        self._tasks = tasks
        self._answers = answers
        self._control = control
        self._peers: dict[bytes, Peer] = {}
        self._under_way: dict[str, UnderWay] = {}
        self.slot = Slot(self._tell_slot)
        self.closing = False
        self._quiet = anyio.Event()
        self.idle_since = time.monotonic()
        self.dropped_answers = 0

    def __len__(self) -> int:
        return len(self._peers)

    @property
    def calls_under_way(self) -> int:
        """Calls that are being served."""
        return len(self._under_way)

    def describe(self) -> list[dict[str, object]]:
        """Each client for `chrysalis status`."""
        return [
            {"kind": p.hello.kind, "client": p.hello.client, "pid": p.hello.pid, "calls": len(p.calls)}
            for p in self._peers.values()
        ]

    async def read(self) -> None:
        """Take in what clients send, for ever."""
        while True:
            frames = await self._socket.recv_multipart()
            if len(frames) != 2:  # noqa: PLR2004 - identity and message
                continue
            try:
                message = decode_from_client(frames[1])
            except DECODE_ERRORS as error:
                log.warning("undecodable message from a client: %s", error)
                continue
            self._take(frames[0], message)

    def _take(self, identity: bytes, message: FromClient) -> None:
        peer = self._peers.get(identity)
        if isinstance(message, Hello):
            self._greet(identity, message)
            return
        if peer is None:
            return  # it will greet again when it notices that this is another daemon
        peer.heard_at = time.monotonic()
        match message:
            case Call():
                self._begin(peer, message)
            case Cancel(id=call_id):
                if under_way := peer.calls.get(call_id):
                    under_way.scope.cancel()
            case Control():
                self._tasks.start_soon(self._obey, peer, message)
            case Bye():
                self._forget(peer)
            case Alive():
                pass

    def _greet(self, identity: bytes, hello: Hello) -> None:
        refused = ""
        if hello.v != PROTOCOL_VERSION:
            refused = (
                f"This client speaks protocol {hello.v}, the daemon {PROTOCOL_VERSION}; "
                "restart the client and run: chrysalis stop"
            )
        known = self._peers.get(identity)
        if known is None and not refused:
            peer = self._peers[identity] = Peer(identity, hello, time.monotonic())
            self._watch(peer)
        elif known is not None:
            known.hello, known.heard_at = hello, time.monotonic()
        welcome = Welcome(
            pid=os.getpid(),
            version=VERSION,
            slot=self.slot.text,
            instructions=self.slot.instructions,
            refused=refused,
        )
        self._send(identity, welcome)

    def _watch(self, peer: Peer) -> None:
        """Notice at once when the client's process ends, where the system can tell."""
        with contextlib.suppress(OSError, AttributeError):
            peer.pidfd = os.pidfd_open(peer.hello.pid)
            asyncio.get_running_loop().add_reader(peer.pidfd, self._forget, peer)

    def _forget(self, peer: Peer) -> None:
        """A client is gone: nobody waits for its calls."""
        if peer.pidfd is not None:
            asyncio.get_running_loop().remove_reader(peer.pidfd)
            os.close(peer.pidfd)
            peer.pidfd = None
        self._peers.pop(peer.identity, None)
        for under_way in peer.calls.values():
            under_way.scope.cancel()
        if not self._peers:
            self.idle_since = time.monotonic()

    def forget_silent(self) -> None:
        """Forget the clients that have not been heard of for too long, where the system cannot tell that they live.

        One that was stopped for a while, or slept with the laptop, is still there and goes on.
        """
        now = time.monotonic()
        unwatched = [peer for peer in self._peers.values() if peer.pidfd is None]
        for peer in [p for p in unwatched if now - p.heard_at > CLIENT_SILENT_MAX_S]:
            log.info("client %s (pid %d) fell silent", peer.hello.client, peer.hello.pid)
            self._forget(peer)

    def forgive_silence(self) -> None:
        """The daemon itself was stopped for a while: nobody is to be blamed for the silence."""
        for peer in self._peers.values():
            peer.heard_at = time.monotonic()

    def _begin(self, peer: Peer, call: Call) -> None:
        if under_way := self._under_way.get(call.id):
            self._take_over(peer, call, under_way)
            return
        if self.closing or len(peer.calls) >= CLIENT_CALLS_MAX:
            self._send_answer(peer, call.id, self._refusal(call))
            return
        under_way = self._under_way[call.id] = peer.calls[call.id] = UnderWay(peer)
        self._tasks.start_soon(self._serve, under_way, call)

    def _take_over(self, peer: Peer, call: Call, under_way: UnderWay) -> None:
        """A call sent again over a new connection: its answer follows; one that is being stopped is begun anew."""
        under_way.owner.calls.pop(call.id, None)
        under_way.owner = peer
        peer.calls[call.id] = under_way
        if under_way.scope.cancel_called:
            under_way.again = call

    def _refusal(self, call: Call) -> Packed:
        if self.closing:
            fault = Fault("unavailable", "The daemon is stopping.", next_action="Retry in a few seconds.")
        else:
            fault = Fault(
                "busy",
                f"This client has {CLIENT_CALLS_MAX} calls under way.",
                next_action=f"Send it again in {BUSY_RETRY_AFTER_MS} ms.",
                retry_after_ms=BUSY_RETRY_AFTER_MS,
            )
        return Packed(pack(of_failure(fault.failure), "summary", None, call.id, 0.0), is_error=True)

    async def _serve(self, under_way: UnderWay, call: Call) -> None:
        def on_step(step: Step) -> None:
            told = Progress(id=call.id, done=step.done, total=step.total, message=step.message)
            self._send(under_way.owner.identity, told)

        hello = under_way.owner.hello
        caller = Caller(
            name=hello.client or hello.kind,
            operator=hello.operator,
            readonly=hello.readonly,
            on_step=on_step if call.progress else None,
        )
        try:
            with under_way.scope:
                packed = await self._answers.answer(call, caller)
                self._send_answer(under_way.owner, call.id, packed)
        finally:
            self._end(under_way, call)

    def _end(self, under_way: UnderWay, call: Call) -> None:
        under_way.owner.calls.pop(call.id, None)
        del self._under_way[call.id]
        if under_way.again is not None:
            self._begin(under_way.owner, under_way.again)
        if not self._under_way:
            self._quiet.set()

    def _send_answer(self, peer: Peer, call_id: str, packed: Packed) -> None:
        if not self._send(peer.identity, Answer(id=call_id, envelope=packed.body, is_error=packed.is_error)):
            self.dropped_answers += 1
            log.warning("an answer to %s could not be delivered", peer.hello.client)

    async def _obey(self, peer: Peer, control: Control) -> None:
        ok, body = await self._control(control)
        self._send(peer.identity, ControlReply(id=control.id, ok=ok, body=body))

    def _tell_slot(self, text: str, instructions: str) -> None:
        for peer in self._peers.values():
            self._send(peer.identity, Notice(slot=text, instructions=instructions))

    def _send(self, identity: bytes, message: ToClient) -> bool:
        return send_now(self._socket, identity, message)

    async def wait_quiet(self) -> None:
        """Wait until no call is being served."""
        while self._under_way:
            self._quiet = anyio.Event()
            await self._quiet.wait()

    def cancel_all(self) -> None:
        """Stop every call under way."""
        for peer in list(self._peers.values()):
            for under_way in peer.calls.values():
                under_way.scope.cancel()
