"""Sessions: the result cache and the figures that outlive a client. Profiles live with the advisory actor."""

import statistics
import uuid
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from protocol.envelope import Cut
from protocol.errors import Fault
from protocol.limits import (
    SESSION_CACHE_MAX_AGE_S,
    SESSION_CACHE_MAX_BYTES,
    SESSION_CACHE_MAX_ENTRIES,
    SESSION_IDLE_MAX_S,
    SESSIONS_MAX,
)


class Kept(Struct, frozen=True):
    """One result in a cache: its data, its size, when it was stored."""

    data: Any
    size_bytes: int
    at: float


class Rest(Struct, frozen=True):
    """What a cut answer still owes, kept under its cursor."""

    data: Any
    cuts: list[Cut]
    summary: str


class Cache:
    """Results by key, limited in bytes, entries and age; the oldest go first, and a key that went says so."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._gone: deque[str] = deque(maxlen=SESSION_CACHE_MAX_ENTRIES)
        self.size_bytes = 0

    def put(self, key: str, data: Any) -> bool:
        """Keep data under a key; False when it is larger than the whole cache."""
        size = len(msgspec.msgpack.encode(data))
        self._drop(key)
        if size > SESSION_CACHE_MAX_BYTES:
            return False
        self._kept[key] = Kept(data, size, self._clock())
        self.size_bytes += size
        self._shrink()
        return True

    def get(self, key: str) -> Any:
        """The data under a key.

        Raises:
            Fault: not_found, saying whether it expired and which keys there are.
        """
        self._shrink()
        if key in self._kept:
            return self._kept[key].data
        why = "has expired" if key in self._gone else "was never stored in this session"
        keys = [name for name in self._kept if not name.startswith(_CURSOR)]
        raise Fault(
            "not_found",
            f"The result {key!r} {why}.",
            next_action=f"Kept results: {', '.join(keys[-20:]) or 'none'}. Run the call again with store_as.",
        )

    def keys(self) -> list[str]:
        """The keys of the results kept, cursors left out."""
        return [name for name in self._kept if not name.startswith(_CURSOR)]

    def clear(self) -> None:
        """Drop everything; who asks for it is told that it has expired."""
        for key in list(self._kept):
            self._drop(key)
            self._gone.append(key)

    def _shrink(self) -> None:
        oldest_allowed = self._clock() - SESSION_CACHE_MAX_AGE_S
        while self._kept:
            key, kept = next(iter(self._kept.items()))
            full = self.size_bytes > SESSION_CACHE_MAX_BYTES or len(self._kept) > SESSION_CACHE_MAX_ENTRIES
            if not full and kept.at >= oldest_allowed:
                return
            self._drop(key)
            self._gone.append(key)

    def _drop(self, key: str) -> None:
        if kept := self._kept.pop(key, None):
            self.size_bytes -= kept.size_bytes


_CURSOR = "cursor:"


class Figures:
    """Calls, errors and times by action; times are the last 200 of each, in milliseconds."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._ms: dict[str, deque[float]] = {}

    def count(self, action: str, ms: float, error: str | None) -> None:
        """Take one call into account."""
        self.calls[action] += 1
        if error is not None:
            self.errors[error] += 1
        self._ms.setdefault(action, deque(maxlen=200)).append(ms)

    def medians_ms(self) -> dict[str, float]:
        """The median time of each action."""
        return {action: round(statistics.median(times), 2) for action, times in self._ms.items()}


class Session:
    """One session: what its clients share across their lives."""

    def __init__(self, session_id: str, clock: Callable[[], float]) -> None:
        self.id = session_id
        self.cache = Cache(clock)
        self.figures = Figures()
        self.used_at = clock()

    def keep_rest(self, data: Any, cuts: list[Cut], summary: str) -> str | None:
        """Keep what an answer still owes; its cursor, or None when it is too large to keep."""
        cursor = uuid.uuid4().hex[:12]
        rest = {"data": data, "cuts": msgspec.to_builtins(cuts), "summary": summary}
        return cursor if self.cache.put(_CURSOR + cursor, rest) else None

    def take_rest(self, cursor: str) -> Rest:
        """What is owed under a cursor.

        Raises:
            Fault: not_found.
        """
        try:
            return msgspec.convert(self.cache.get(_CURSOR + cursor), Rest)
        except Fault:
            raise Fault(
                "not_found",
                f"The cursor {cursor!r} is not known; it was used in another session or has expired.",
                next_action="Run the call again without cursor, in the same session.",
            ) from None


class Sessions:
    """Every session by its handle; the longest unused go when there are too many."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self.figures = Figures()

    def get(self, session_id: str) -> Session:
        """The session of this handle, made when it is new."""
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = Session(session_id, self._clock)
        session.used_at = self._clock()
        self._sessions.move_to_end(session_id)
        self._forget_unused()
        return session

    def drop_results(self) -> None:
        """Empty every cache: what was forgotten must not be read from an answer of before."""
        for session in self._sessions.values():
            session.cache.clear()

    def __len__(self) -> int:
        return len(self._sessions)

    def _forget_unused(self) -> None:
        while self._sessions:
            session_id, oldest = next(iter(self._sessions.items()))
            if len(self._sessions) <= SESSIONS_MAX and self._clock() - oldest.used_at < SESSION_IDLE_MAX_S:
                return
            del self._sessions[session_id]
