"""The messages that cross process borders: one tagged union for clients, one for actors.

Client messages stay open to new fields (an old bridge may meet a newer daemon); actor messages are
closed, since both ends come from one build. Everything is decoded strictly at the border.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from .action import Outcome
from .errors import Failure
from .limits import PROTOCOL_VERSION


class ClientMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag=str.lower):
    """Base of what bridge, command line and daemon say to each other."""


class Hello(ClientMessage, frozen=True, kw_only=True):
    """First message of a client. `kind`: bridge, cli, http or test."""

    v: int = PROTOCOL_VERSION
    kind: str
    pid: int
    client: str = ""
    operator: bool = False
    readonly: bool = False


class Welcome(ClientMessage, frozen=True, kw_only=True):
    """The daemon's answer to Hello; `refused` is a sentence when versions do not match."""

    v: int = PROTOCOL_VERSION
    pid: int
    version: str
    slot: str = ""
    instructions: str = ""
    refused: str = ""


class Alive(ClientMessage, frozen=True, kw_only=True):
    """A client's sign of life; the daemon drops the calls of those that fall silent."""


class Bye(ClientMessage, frozen=True, kw_only=True):
    """The client leaves: its calls are cancelled."""


class Call(ClientMessage, frozen=True, kw_only=True):
    """One tool call. `arguments` is the tool's argument object as raw JSON, repaired by the daemon."""

    id: str
    arguments: bytes
    deadline_ms: int | None = None
    progress: bool = False
    attempt: int = 1


class Cancel(ClientMessage, frozen=True, kw_only=True):
    """Stop working for this call; nothing more is sent for it."""

    id: str


class Answer(ClientMessage, frozen=True, kw_only=True):
    """The one answer to a call: the envelope as JSON."""

    id: str
    envelope: bytes
    is_error: bool = False


class Progress(ClientMessage, frozen=True, kw_only=True):
    """How far a call is, for clients that asked."""

    id: str
    done: float
    total: float | None = None
    message: str = ""


class Notice(ClientMessage, frozen=True, kw_only=True):
    """The daemon-wide advisory slot of the tool description changed."""

    slot: str
    instructions: str


class Control(ClientMessage, frozen=True, kw_only=True):
    """An operator's word: status, stop, or restart of one actor."""

    id: str
    verb: str
    target: str = ""


class ControlReply(ClientMessage, frozen=True, kw_only=True):
    """The answer to Control, as JSON."""

    id: str
    ok: bool
    body: bytes


FromClient = Hello | Alive | Bye | Call | Cancel | Control
ToClient = Welcome | Answer | Progress | Notice | ControlReply


class ActorMessage(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="t", tag=str.lower
):
    """Base of what daemon and actors say to each other."""


class Ready(ActorMessage, frozen=True, kw_only=True):
    """First message of an actor: it can serve calls now."""

    name: str
    pid: int
    notes: tuple[str, ...] = ()


class Ping(ActorMessage, frozen=True, kw_only=True):
    """A numbered question for life."""

    n: int


class Pong(ActorMessage, frozen=True, kw_only=True):
    """Echo of a ping by the work loop. `overdue_s`: the longest that a job is past its deadline without a beat."""

    n: int
    running: int = 0
    overdue_s: float = 0.0
    rss_bytes: int = 0


class Work(ActorMessage, frozen=True, kw_only=True):
    """One validated call for an actor; `params` is msgpack of the action's params Struct."""

    id: str
    action: str
    params: Raw
    session_id: str = ""
    agent_id: str = ""
    client: str = ""
    operator: bool = False
    deadline_ms: int = 0
    progress: bool = False


class Drop(ActorMessage, frozen=True, kw_only=True):
    """Stop this work: nobody waits for it."""

    id: str


class Done(ActorMessage, frozen=True, kw_only=True):
    """Work that was served."""

    id: str
    outcome: Outcome


class Failed(ActorMessage, frozen=True, kw_only=True):
    """Work that could not be served."""

    id: str
    failure: Failure


class Step(ActorMessage, frozen=True, kw_only=True):
    """Progress of work under way."""

    id: str
    done: float
    total: float | None = None
    message: str = ""


class News(ActorMessage, frozen=True, kw_only=True):
    """Something an actor tells unasked, by topic: `slot` (advisory), `llm` (guard)."""

    topic: str
    body: dict[str, Any]


class Stop(ActorMessage, frozen=True, kw_only=True):
    """Finish and exit."""


ToActor = Ping | Work | Drop | Stop
FromActor = Ready | Pong | Done | Failed | Step | News

_encode = msgspec.msgpack.Encoder().encode
decode_from_client = msgspec.msgpack.Decoder(FromClient).decode
decode_to_client = msgspec.msgpack.Decoder(ToClient).decode
decode_to_actor = msgspec.msgpack.Decoder(ToActor).decode
decode_from_actor = msgspec.msgpack.Decoder(FromActor).decode

DECODE_ERRORS = (msgspec.DecodeError, RecursionError)
"""What a decoder raises on malformed, truncated, mistyped or too deep input."""


def encode(message: ClientMessage | ActorMessage) -> bytes:
    """Encode one message as msgpack.

    Raises:
        OverflowError, UnicodeEncodeError, TypeError: for integers beyond 64 bit, lone surrogates and
            foreign types; handlers must send such integers as text.
    """
    return _encode(message)
