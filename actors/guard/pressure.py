"""What memory pressure asks for; pure. Acts before the floor is crossed, since beyond it the whole machine freezes.

    level   when (reserve = what the profile leaves to everything else)             asks for
    low     available < reserve                                                     nothing, it is told
    shed    available < 3/4 reserve, or all tasks wait 10 % of the time             an idle model is stopped
    term    available < 5/8 reserve, or at this rate it will be below the floor
            within `AHEAD_S`, or all tasks wait 25 % of the time                    TERM, also when busy
    kill    available < floor (half the reserve)                                    KILL

Never on the size of the model alone, except that its anonymous memory may not outgrow what was admitted.
"""

from typing import Final, Literal

from msgspec import Struct

from .machine import Pressure

Level = Literal["ok", "low", "shed", "term", "kill"]
SHED_SHARE: Final = 0.75
TERM_SHARE: Final = 0.625
FLOOR_SHARE: Final = 0.5
SHED_FULL: Final = 10.0
TERM_FULL: Final = 25.0
AHEAD_S: Final = 3.0
FALL_MIN_BYTES_PER_S: Final = 32 << 20
"""Slower falls leave time for the thresholds themselves."""
GROWTH_SHARE: Final = 1.25


class Sample(Struct, frozen=True, kw_only=True):
    """One reading: bytes available, PSI, and what the model holds beyond mapped files."""

    at: float
    available: int
    pressure: Pressure | None = None
    anonymous: int = 0


class Finding(Struct, frozen=True):
    """What a sample asks for, and why in words."""

    level: Level
    why: str = ""


def judge(sample: Sample, before: Sample | None, *, reserve: int, admitted: int) -> Finding:
    """The level that a sample asks for.

    Args:
        sample: now.
        before: the previous sample, for the rate; None at first.
        reserve: bytes to leave to everything else.
        admitted: bytes that the model was admitted with; 0 = no cap.
    """
    mib, floor = 1 << 20, reserve * FLOOR_SHARE
    text = f"{sample.available // mib} MiB available, {reserve // mib} reserved"
    if sample.available < floor:
        return Finding("kill", text)
    full = sample.pressure.full if sample.pressure else 0.0
    ahead = sample.available + _slope(sample, before) * AHEAD_S
    if sample.available < reserve * TERM_SHARE or ahead < floor:
        return Finding("term", text if ahead >= floor else f"{text}, falling fast")
    if full >= TERM_FULL:
        return Finding("term", f"every task waits for memory {full:.0f} % of the time")
    if sample.available < reserve * SHED_SHARE:
        return Finding("shed", text)
    if full >= SHED_FULL:
        return Finding("shed", f"every task waits for memory {full:.0f} % of the time")
    return _by_growth(sample, admitted) or Finding("low" if sample.available < reserve else "ok", text)


def _by_growth(sample: Sample, admitted: int) -> Finding | None:
    if not admitted or sample.anonymous <= admitted * GROWTH_SHARE:
        return None
    text = f"the model grew to {sample.anonymous >> 20} MiB, admitted with {admitted >> 20}"
    return Finding("term" if sample.anonymous > admitted * GROWTH_SHARE**2 else "shed", text)


def _slope(sample: Sample, before: Sample | None) -> float:
    """Bytes per second that memory falls by (negative), 0 when it does not fall fast."""
    if before is None or sample.at <= before.at:
        return 0.0
    slope = (sample.available - before.available) / (sample.at - before.at)
    return slope if slope < -FALL_MIN_BYTES_PER_S else 0.0
