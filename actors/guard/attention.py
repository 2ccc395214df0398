"""Keeps an eye on one launch: looks, judges progress, probes with one token, notices that the machine slept."""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from . import probe
from .observer import Observer
from .processes import Child
from .profiles import Profile
from .watch import Judgement, Observation, Patience, Watch

LOAD_BYTES_PER_S: Final = 50 << 20
"""The slowest disk that loading is given time for, on top of the profile's load_s."""
PROBE_STALLS: Final = 2.5
SLEEP_GAP_S: Final = 2.0
SLOWER: Final = 5.0
"""A rate this many times lower than before the machine slept means that the GPU was lost (ollama 5464)."""


class Attention:
    """One launch under the eye; made when it is spawned.

    Args:
        child: the processes.
        observer: how they are looked at.
        profile: what was started.
        need: bytes, for the time that loading may take.
        on_gpu: a GPU does the work, so that CPU time proves nothing.
        now: monotonic seconds.
    """

    def __init__(
        self, child: Child, observer: Observer, profile: Profile, *, need: int, on_gpu: bool, now: float
    ) -> None:
        self.child = child
        self.last: Observation | None = None
        self.peak = 0
        self.was_ready = False
        self.warning = ""
        load_s = profile.load_s + need / LOAD_BYTES_PER_S
        self.watch = Watch(Patience(stall_s=profile.stall_s, load_s=load_s, on_gpu=on_gpu), now)
        self._observer, self._profile = observer, profile
        self._probe_at = 0.0
        self._outcome: bool | None = None
        self._probing = False
        self._rate_awake: float | None = None

    async def look(self) -> Observation:
        """Observe the server now."""
        return await self._observer.look()

    def judge(self, seen: Observation, now: float) -> Judgement:
        """Take in a look, with the outcome of a probe if one has ended."""
        if self._outcome is not None:
            seen, self._outcome = msgspec.structs.replace(seen, probe=self._outcome), None
        if self.last and None not in {seen.counter, self.last.counter} and seen.counter != self.last.counter:
            self._probe_at = now + self._profile.probe_idle_s  # a real request is proof enough
        self.last = seen
        judgement = self.watch.judge(seen)
        if judgement.verdict not in {"loading", "foreign"}:
            self.was_ready = True
            held = seen.anonymous + seen.gpu_bytes if seen.gpu_bytes else seen.rss
            self.peak = max(self.peak, held)
        self._compare_rate()
        return judgement

    def probe_is_due(self, now: float) -> bool:
        """Whether an idle server should prove that it still decodes: at first, after sleep, after long idleness."""
        return not self._probing and now >= self._probe_at

    async def probe(self) -> None:
        """Ask for one token; the next look carries the outcome."""
        self._probing, self._probe_at = True, time.monotonic() + self._profile.probe_idle_s
        try:
            self._outcome = await probe.one_token(self.child.launch, self._profile.stall_s * PROBE_STALLS)
        finally:
            self._probing = False

    def slept(self, now: float) -> None:
        """The machine slept: nothing that stood still meanwhile is held against the server; it is probed anew."""
        self._probe_at = 0.0
        self._rate_awake, self.watch.tokens_per_s = self.watch.tokens_per_s, None
        self.watch.resumed(now)

    def _compare_rate(self) -> None:
        rate, before = self.watch.tokens_per_s, self._rate_awake
        if before and rate and rate * SLOWER < before:
            text = f"{rate:.1f} tokens/s since the machine slept, {before:.1f} before: it may have lost the GPU"
            self.warning, self._rate_awake = f"{text}; `chrysalis llm restart` mends that", None


class SleepClock:
    """Tells how long the machine slept between two questions; `asleep_s` is replaced in tests."""

    def __init__(self, asleep_s: Callable[[], float] | None = None) -> None:
        self.asleep_s = asleep_s or _asleep_s
        self._before = self.asleep_s()

    def slept_s(self) -> float:
        """Seconds slept since the last question, 0 for less than a moment."""
        now = self.asleep_s()
        gap, self._before = now - self._before, now
        return gap if gap > SLEEP_GAP_S else 0.0


def _asleep_s() -> float:
    """Seconds that the machine has slept since it started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
