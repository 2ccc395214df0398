"""The outcome log: which advice was shown, whether it was followed, how the call ended. Local, never learned from.

What clients choose by themselves confounds every comparison of followed and unfollowed advice, so this log only
yields compliance; levels come from measured records alone.
"""

import secrets
from collections import Counter, OrderedDict
from typing import Any, Literal

import msgspec
from msgspec import Struct

FOLLOW_WINDOW_S = 600.0
OPEN_MAX = 1_000
"""Pieces of advice whose outcome is still awaited; beyond it the oldest stay unknown."""

Channel = Literal["reply", "advise", "prompt_hint"]


class Shown(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of advice as it was given. `followed` and `outcome` stay unknown until something shows them."""

    advice_id: str
    session_id: str
    action: str
    level: str
    channel: Channel
    at_s: float
    followed: bool | None = None
    outcome: str = ""


class OutcomeLog:
    """Keeps the open advice in memory and hands changed lines to `take` for writing; off means nothing is kept."""

    def __init__(self, *, on: bool) -> None:
        self.on = on
        self._open: OrderedDict[str, Shown] = OrderedDict()
        self._changed: dict[str, Shown] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def restore(self, lines: list[bytes]) -> None:
        """Count what earlier processes wrote."""
        for line in lines:
            shown = msgspec.msgpack.decode(line, type=Shown)
            for name in _names(shown):
                self._counts[shown.level, name] += 1

    def show(self, session_id: str, action: str, level: str, channel: Channel, now_s: float) -> str:
        """Note that advice is shown; its id, also when the log is off."""
        advice_id = f"a-{secrets.token_hex(6)}"
        if self.on:
            shown = Shown(
                advice_id=advice_id,
                session_id=session_id,
                action=action,
                level=level,
                channel=channel,
                at_s=now_s,
            )
            self._put(shown)
        return advice_id

    def called(self, session_id: str, action: str, now_s: float) -> None:
        """A real call: open advice of this session about this action was followed, or not."""
        if not self.on:
            return
        for shown in [s for s in self._open.values() if s.session_id == session_id and s.action == action]:
            # advice that rode on a reply came after its call, so a later call says nothing about it
            if shown.followed is None and shown.channel != "reply" and now_s - shown.at_s <= FOLLOW_WINDOW_S:
                self._put(msgspec.structs.replace(shown, followed=shown.level != "discouraged"))

    def ended(self, advice_id: str, outcome: str) -> bool:
        """How the call that carried this advice ended; False for an id that is not open, or known already."""
        shown = self._open.get(advice_id)
        if shown is None or shown.outcome:
            return False
        self._put(msgspec.structs.replace(shown, outcome=outcome))
        return True

    def _put(self, shown: Shown) -> None:
        before = self._open.pop(shown.advice_id, None)
        for name in set(_names(shown)) - set(_names(before) if before else ()):
            self._counts[shown.level, name] += 1
        self._open[shown.advice_id] = self._changed[shown.advice_id] = shown
        while len(self._open) > OPEN_MAX:
            self._open.popitem(last=False)

    def take(self) -> list[tuple[str, bytes]]:
        """The lines that changed since the last time, for the store."""
        changed, self._changed = self._changed, {}
        return [(key, msgspec.msgpack.encode(shown)) for key, shown in changed.items()]

    def figures(self) -> dict[str, Any]:
        """Counts by level, for `meta.stats`."""
        levels = sorted({level for level, _ in self._counts})
        by_level = {level: {n: c for (v, n), c in sorted(self._counts.items()) if v == level} for level in levels}
        return {"on": self.on, "by_level": by_level}


def _names(shown: Shown) -> list[str]:
    """The counters that one line adds to."""
    told = {True: ["followed"], False: ["not_followed"], None: []}[shown.followed]
    return ["shown", *told, *([f"outcome_{shown.outcome}"] if shown.outcome else [])]
