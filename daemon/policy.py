"""What to do when an actor ends or falls silent: pure decisions, the clock and the dice passed in."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from protocol.limits import (
    ACTOR_OVERDUE_HUNG_S,
    HEARTBEAT_HUNG_MISSES,
    HEARTBEAT_SUSPECT_MISSES,
    RESTART_BACKOFF_MAX_S,
    RESTART_BACKOFF_MIN_S,
    RESTART_INTENSITY,
    RESTART_PERIOD_S,
)

_JITTER: Final = 0.25


class Restart(Struct, frozen=True):
    """Start it again after `delay_s`."""

    delay_s: float


class Fatal(Struct, frozen=True):
    """Leave it down: it ended `deaths` times within the period."""

    deaths: int


def decide_restart(deaths: Sequence[float], now: float, dice: float) -> Restart | Fatal:
    """Whether and when an actor is started again.

    Args:
        deaths: monotonic times of its ends that were not commanded, this one included, oldest first.
        now: the monotonic time.
        dice: a random number in [0, 1) for the jitter.

    Returns:
        `Fatal` from the fifth death within 60 s on, else an exponential backoff from 0.1 s to 10 s.
    """
    recent = [at for at in deaths if now - at < RESTART_PERIOD_S]
    if len(recent) >= RESTART_INTENSITY:
        return Fatal(len(recent))
    delay = min(RESTART_BACKOFF_MAX_S, RESTART_BACKOFF_MIN_S * 2 ** max(0, len(recent) - 1))
    return Restart(delay * (1 - _JITTER + 2 * _JITTER * dice))


class Health(StrEnum):
    """What the heartbeat says of an actor."""

    GOOD = "good"
    SUSPECT = "suspect"
    HUNG = "hung"


def judge_heartbeat(missed: int, overdue_s: float) -> Health:
    """Health by the pings missed in a row, and by how long a job is past its deadline without progress."""
    if missed >= HEARTBEAT_HUNG_MISSES or overdue_s >= ACTOR_OVERDUE_HUNG_S:
        return Health.HUNG
    return Health.SUSPECT if missed >= HEARTBEAT_SUSPECT_MISSES else Health.GOOD
