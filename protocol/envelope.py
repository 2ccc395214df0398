"""The envelope that every call is answered with, and how it is cut to its verbosity without losing anything."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from .action import Outcome, Severity
from .errors import Failure
from .limits import REPLY_DEFAULT_BYTES, REPLY_MAX_BYTES

Path = tuple[str | int, ...]


class Telemetry(Struct, frozen=True, kw_only=True):
    """What the call cost: daemon time, bytes of the reply, and tokens estimated at four bytes each."""

    request_id: str
    ms: float
    bytes: int
    est_tokens: int


class Envelope(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer. `notes` lists each repair; `truncated` and `cursor` say what was cut and how to have it."""

    status: Literal["ok", "error"]
    severity: Severity
    summary: str
    data: Any = None
    next_action: str | None = None
    advisory: Any = None
    notes: tuple[str, ...] = ()
    truncated: bool = False
    cursor: str | None = None
    telemetry: Telemetry | UnsetType = UNSET


CAPS: Final[Mapping[str, tuple[int, int]]] = {
    # verbosity: (items a list, characters a string)
    "detail": (2_000, 200_000),
    "summary": (25, 4_000),
    "brief": (8, 500),
    "terse": (3, 200),
}
LEAN: Final = ("brief", "terse")
"""Verbosities that leave out what a model can do without."""
_MIN_ITEMS: Final = 1
_MIN_CHARS: Final = 40


class Cut(Struct, frozen=True):
    """One list or string that was shortened: where it is, how much of it was sent, how long it is."""

    path: Path
    sent: int
    total: int


def shorten(data: Any, items: int, chars: int) -> tuple[Any, list[Cut]]:
    """A copy of JSON data with lists of at most `items` and strings of at most `chars`; and what was cut."""
    cuts: list[Cut] = []
    return _shorten(data, items, chars, (), cuts), cuts


def _shorten(data: Any, items: int, chars: int, path: Path, cuts: list[Cut]) -> Any:
    if isinstance(data, str):
        if len(data) <= chars:
            return data
        cuts.append(Cut(path, chars, len(data)))
        return f"{data[:chars]}… (+{len(data) - chars} characters)"
    if isinstance(data, list | tuple):
        if len(data) > items:
            cuts.append(Cut(path, items, len(data)))
        return [_shorten(entry, items, chars, (*path, i), cuts) for i, entry in enumerate(data[:items])]
    if isinstance(data, dict):
        return {key: _shorten(entry, items, chars, (*path, str(key)), cuts) for key, entry in data.items()}
    return data


def fit(data: Any, verbosity: str) -> tuple[Any, list[Cut]]:
    """Cut `data` to the caps of its verbosity, and on until it fits the reply's limit in bytes."""
    items, chars = CAPS[verbosity]
    limit = REPLY_MAX_BYTES // 2 if verbosity == "detail" else REPLY_DEFAULT_BYTES - 4_000
    while True:
        kept, cuts = shorten(data, items, chars)
        if len(msgspec.json.encode(kept)) <= limit or (items <= _MIN_ITEMS and chars <= _MIN_CHARS):
            return kept, cuts
        items, chars = max(_MIN_ITEMS, items * 2 // 3), max(_MIN_CHARS, chars * 2 // 3)


def at(data: Any, path: Path) -> Any:
    """The value that lies at a path of keys and indexes.

    Raises:
        KeyError, IndexError, TypeError: when nothing lies there.
    """
    for step in path:
        data = data[step]
    return data


def spell(path: Path) -> str:
    """A path as text: ("nodes", 3, "facts") is `nodes[3].facts`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "data"


def go_on(data: Any, cuts: list[Cut], verbosity: str) -> tuple[dict[str, Any], list[Cut]]:
    """The next part of each list or string that was cut: `{"nodes": [...], ...}`, and what still remains."""
    items, chars = CAPS[verbosity]
    part: dict[str, Any] = {}
    remaining: list[Cut] = []
    room = REPLY_DEFAULT_BYTES // 2
    for cut in cuts:
        whole = at(data, cut.path)
        size = chars if isinstance(whole, str) else items
        piece, _ = shorten(whole[cut.sent : cut.sent + size], size, 10 * chars)
        while not isinstance(piece, str) and len(piece) > 1 and len(msgspec.json.encode(piece)) > room:
            piece = piece[: len(piece) // 2]
        sent = cut.sent + len(piece)
        if room <= 0:
            remaining.append(cut)
            continue
        part[spell(cut.path)] = piece
        room -= len(msgspec.json.encode(piece))
        if sent < cut.total:
            remaining.append(Cut(cut.path, sent, cut.total))
    return part, remaining


def of_outcome(outcome: Outcome, *, notes: tuple[str, ...], advisory: Any, data: Any) -> Envelope:
    """The envelope of an action that was served; `data` is the outcome's, cut."""
    return Envelope(
        status="ok",
        severity="WARN" if outcome.partial and outcome.severity == "INFO" else outcome.severity,
        summary=outcome.summary,
        data=data,
        next_action=outcome.next_action,
        advisory=advisory,
        notes=notes + outcome.notes,
    )


def of_failure(
    failure: Failure, *, notes: tuple[str, ...] = (), advisory: Any = None, verbosity: str = "summary"
) -> Envelope:
    """The envelope of an error: never cut in its words; `data` is the failure, whole.

    In brief and terse what stands in the envelope already (`summary`, `next_action`) is not said again in `data`.
    """
    data: dict[str, Any] = msgspec.to_builtins(failure)
    if verbosity in LEAN:
        data = {key: value for key, value in data.items() if key not in ("message", "next_action")}
    return Envelope(
        status="error",
        severity="ERROR",
        summary=failure.message,
        data=data,
        next_action=failure.next_action,
        advisory=advisory,
        notes=notes,
    )


def pack(envelope: Envelope, verbosity: str, telemetry: bool | None, request_id: str, ms: float) -> bytes:
    """The envelope as JSON, with telemetry where the verbosity has it or it was asked for."""
    body = msgspec.json.encode(envelope)
    if telemetry is False or (telemetry is None and verbosity in LEAN):
        return body
    size = len(body) + 90
    figures = Telemetry(request_id=request_id, ms=round(ms, 2), bytes=size, est_tokens=(size + 3) // 4)
    return msgspec.json.encode(msgspec.structs.replace(envelope, telemetry=figures))
