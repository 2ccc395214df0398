"""What the actor and its worker say to each other: one task in, interim answers and one last answer out.

Frames on a socket pair: four bytes of length, big endian, then msgpack. Single bytes, sent with descriptors, begin it.
"""

from typing import Any

import msgspec
from msgspec import Struct

from protocol.action import Outcome
from protocol.errors import Failure

MAX_FRAME_BYTES = 8 << 20
MAX_REQUEST_BYTES = 512 << 10
HEADER_BYTES = 4
READY = b"R"
"""What the zygote says once: it is warm."""
FORK = b"F"
"""What the zygote is sent, with the socket of the worker to be. That worker answers, not the zygote."""
HERE = b"H"
"""A worker's first byte, sent with a pidfd of it."""


class WorkerMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag=str.lower):
    """Base of what crosses the socket pair."""


class Warm(WorkerMessage, frozen=True, kw_only=True):
    """The worker is confined and waits for its one task."""

    sandbox: str
    pid: int


class Task(WorkerMessage, frozen=True, kw_only=True):
    """The one problem of a worker: the action's name, its params as builtins, the time it has."""

    action: str
    params: dict[str, Any]
    budget_ms: int


class Interim(WorkerMessage, frozen=True, kw_only=True):
    """The best answer so far; it stands when the worker does not live to give a better one."""

    outcome: Outcome


class Final(WorkerMessage, frozen=True, kw_only=True):
    """The answer: an outcome or a failure."""

    outcome: Outcome | None = None
    failure: Failure | None = None


ToWorker = Task
FromWorker = Warm | Interim | Final

decode_task = msgspec.msgpack.Decoder(Task).decode
decode_reply = msgspec.msgpack.Decoder(FromWorker).decode


def frame(message: WorkerMessage) -> bytes:
    """One message with its length before it."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(HEADER_BYTES, "big") + body
