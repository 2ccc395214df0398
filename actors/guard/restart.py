"""Whether and when to start again after an exit; pure, the clock passed in.

Exponential delay, reset after stable time; a budget over a window and over equal causes in a row, since an
out-of-memory loop must end (ollama 1148, 12692) and three GPU hangs in a row will be four (llama.cpp 29054).
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from .cause import HOPELESS

DELAY_MIN_S: Final = 1.0
DELAY_MAX_S: Final = 60.0
BUDGET: Final = 6
WINDOW_S: Final = 600.0
SAME_CAUSE_MAX: Final = {"out_of_memory": 3, "device_lost": 3, "bad_flag": 1, "bad_model": 1, "bad_binary": 1}
STABLE_S: Final = 300.0
"""A run this long clears the history."""
WAITS_FOR_MEMORY: Final = frozenset({"pressure"})
MEMORY_DELAY_S: Final = 30.0
MEMORY_DELAY_MAX_S: Final = 600.0
MEMORY_WINDOW_S: Final = 3_600.0


class Ended(Struct, frozen=True):
    """One exit: when, why, and how long the server had been ready."""

    at: float
    cause: str
    ready_s: float


class Decision(Struct, frozen=True):
    """Start again after `delay_s`, or never (`fatal`) with the reason."""

    delay_s: float = 0.0
    fatal: str = ""


def decide(history: Sequence[Ended], now: float) -> Decision:
    """What to do after the last exit of `history` (oldest first)."""
    last = history[-1]
    if last.cause in HOPELESS:
        return Decision(fatal=f"no restart mends a {last.cause.replace('_', ' ')}")
    if last.cause in WAITS_FOR_MEMORY:
        streak = _streak([end for end in since_stable(history) if now - end.at <= MEMORY_WINDOW_S])
        return Decision(delay_s=min(MEMORY_DELAY_MAX_S, MEMORY_DELAY_S * 2.0 ** min(streak - 1, 8)))
    counted = since_stable([end for end in history if end.cause not in WAITS_FOR_MEMORY])
    streak = _streak(counted)
    limit = SAME_CAUSE_MAX.get(last.cause)
    if limit is not None and streak >= limit:
        return Decision(fatal=f"{last.cause.replace('_', ' ')} {streak} times in a row")
    recent = [end for end in counted if now - end.at <= WINDOW_S]
    if len(recent) >= BUDGET:
        return Decision(fatal=f"it ended {len(recent)} times in {WINDOW_S / 60:.0f} minutes")
    return Decision(delay_s=min(DELAY_MAX_S, DELAY_MIN_S * 2 ** (len(recent) - 1)))


def since_stable(history: Sequence[Ended]) -> list[Ended]:
    """The exits since the last run that was stable, that one included."""
    for index in range(len(history) - 1, -1, -1):
        if history[index].ready_s >= STABLE_S:
            return list(history[index:])
    return list(history)


def _streak(history: Sequence[Ended]) -> int:
    count = 0
    for end in reversed(history):
        if end.cause != history[-1].cause:
            break
        count += 1
    return count
