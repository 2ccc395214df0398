"""Is the server making progress? Liveness judged by work done, never by `/health` alone; pure, the clock passed in.

llama-server answers `/health` from a flag while its decoder is dead (llama.cpp 27388, 13281), and a healthy
server under load took 2.9 s for one token. So a deadline on answers kills healthy servers and misses dead ones;
what counts is whether any counter, or the processor that does the work, still moves:

    evidence                                  patience while a request is served
    counters move (/slots, /metrics)          for ever
    GPU engine time moves                     for ever on a GPU profile
    CPU time moves, prompt phase or unknown   `PREFILL_MAX_S` on a CPU profile, `GPU_PREFILL_S` on a GPU profile
    CPU time moves, tokens were coming        four times `stall_s` on a CPU profile: a token may be slow
    nothing moves                             `stall_s`, or four of the slowest steps seen if that is more

On a GPU profile CPU time proves nothing: a driver that waits for a lost GPU spins.
"""

from typing import Final, Literal

from msgspec import Struct

PREFILL_MAX_S: Final = 7_200.0
GPU_PREFILL_S: Final = 60.0
SLOW_TOKENS_PER_S: Final = 1.0
CPU_SHARE: Final = 0.05
"""Cores used between two looks that count as working; idle servers use a thousandth, starved ones more than this."""
STEPS_MARGIN: Final = 4.0
UNWATCHED_S: Final = 8.0
"""A longer gap between two looks means that the guard or the machine slept; nothing is concluded from it."""

Verdict = Literal["loading", "ready", "busy", "slow", "suspect", "stuck", "foreign"]


class Observation(Struct, frozen=True, kw_only=True):
    """One look at the server.

    Attributes:
        at: monotonic seconds.
        process: kernel state letter; "" when it could not be read.
        cpu_s, engine_ns: used so far by the process and its descendants.
        health: HTTP status of /health; 0 refused, None no answer in time.
        ours: whether the answering server proved to be ours; None when it was not asked.
        busy: whether a request is being served; None when it did not say.
        counter: sum of everything that grows with work; None when it did not say.
        decoded: tokens decoded in the running requests; None when it did not say.
        blind: it has neither /slots nor /metrics, so that only processor time and probes tell.
        probe: outcome of a one-token completion, if one was made.
    """

    at: float
    process: str = "S"
    cpu_s: float = 0.0
    engine_ns: int | None = None
    rss: int = 0
    anonymous: int = 0
    gpu_bytes: int = 0
    read: int = 0
    health: int | None = 200
    ours: bool | None = None
    busy: bool | None = None
    counter: int | None = None
    decoded: int | None = None
    blind: bool = False
    probe: bool | None = None


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait for what, in seconds; from the profile."""

    stall_s: float = 10.0
    load_s: float = 60.0
    on_gpu: bool = True


class Judgement(Struct, frozen=True):
    """What an observation means, and why in words."""

    verdict: Verdict
    why: str = ""


class Watch:
    """Remembers what is needed to judge progress; one per launch."""

    def __init__(self, patience: Patience, started: float) -> None:
        self.patience = patience
        self.started = started
        self.answered_while_busy = False
        self.tokens_per_s: float | None = None
        self._last: Observation | None = None
        self._moved_at = started
        self._worked_at = started
        self._proved_at = started
        self._slowest_step_s = 0.0
        self._ready = False
        self._rate_from: tuple[float, int] | None = None

    def judge(self, seen: Observation) -> Judgement:
        """Take in one observation and say what it means."""
        before, self._last = self._last, seen
        if before and seen.at - before.at > UNWATCHED_S:
            self.resumed(seen.at)
        if seen.ours is False:
            return Judgement("foreign", "another server answers at the port")
        if not self._ready:
            return self._loading(seen)
        self._note(before, seen)
        if seen.probe is not None:
            return self._probed(seen)
        idle = seen.at - self._worked_at > 1 if seen.blind else seen.busy is False
        return self._idle(seen) if idle and seen.health == 200 else self._serving(seen)  # noqa: PLR2004 - HTTP OK

    def resumed(self, now: float) -> None:
        """The machine slept: time that passed meanwhile counts for nothing."""
        self._moved_at = self._worked_at = self._proved_at = now
        self.started = max(self.started, now) if not self._ready else self.started
        self._rate_from = None

    def _loading(self, seen: Observation) -> Judgement:
        if seen.health == 200:  # noqa: PLR2004 - HTTP OK
            self._ready, self._moved_at, self._worked_at, self._proved_at = True, seen.at, seen.at, seen.at
            return Judgement("ready")
        spent = seen.at - self.started
        if spent > self.patience.load_s:
            return Judgement("stuck", f"not ready after {spent:.0f} s of loading")
        return Judgement("loading", "bound, loading the model" if seen.health else "not listening yet")

    def _note(self, before: Observation | None, seen: Observation) -> None:
        """Keep when counters moved and when the working processor moved."""
        if seen.counter is not None and seen.busy:
            self.answered_while_busy = True
        if before is None:
            return
        if seen.counter is not None and seen.counter != before.counter:
            if seen.busy and before.busy:
                self._slowest_step_s = max(self._slowest_step_s * 0.99, seen.at - self._moved_at)
            self._moved_at = self._proved_at = seen.at
        self._rate(seen)
        if self._processor_moves(before, seen):
            self._worked_at = seen.at

    def _processor_moves(self, before: Observation, seen: Observation) -> bool:
        if self.patience.on_gpu and seen.engine_ns is not None and before.engine_ns is not None:
            return seen.engine_ns > before.engine_ns
        return seen.cpu_s - before.cpu_s >= CPU_SHARE * (seen.at - before.at)

    def _rate(self, seen: Observation) -> None:
        if not seen.busy or seen.decoded is None:
            self._rate_from = None
            return
        if self._rate_from is None or seen.decoded < self._rate_from[1]:
            self._rate_from = (seen.at, seen.decoded)
        elif seen.decoded > self._rate_from[1] and seen.at - self._rate_from[0] >= 1:
            self.tokens_per_s = (seen.decoded - self._rate_from[1]) / (seen.at - self._rate_from[0])

    def _probed(self, seen: Observation) -> Judgement:
        if seen.probe:
            self._moved_at = self._proved_at = seen.at
            return Judgement("ready")
        proved_at = self._proved_at if self.patience.on_gpu else max(self._proved_at, self._worked_at)
        if seen.at - proved_at > self.patience.stall_s:
            return Judgement("stuck", "a one-token request was not answered")
        return Judgement("suspect", "a one-token request was not answered, but it works on something")

    def _idle(self, seen: Observation) -> Judgement:
        self._moved_at = seen.at
        return Judgement("ready")

    def _serving(self, seen: Observation) -> Judgement:
        still_s = seen.at - self._moved_at
        allowed, what = self._allowed(seen)
        if still_s <= max(1.0, self.patience.stall_s / 2) or still_s <= min(allowed, self._normal_step_s()):
            return self._moving(seen)
        if still_s > allowed:
            return Judgement("stuck", f"{what} for {still_s:.0f} s while a request is served")
        if allowed > self._floor_s():
            return Judgement("busy", f"no new token for {still_s:.0f} s, but the processor works")
        return Judgement("suspect", f"{what} for {still_s:.0f} s")

    def _moving(self, seen: Observation) -> Judgement:
        if seen.health != 200 and seen.busy is None:  # noqa: PLR2004 - HTTP OK
            works = seen.at - self._worked_at <= self.patience.stall_s / 2
            return (
                Judgement("busy", "no answer, but the processor works") if works else Judgement("suspect", "no answer")
            )
        slow = self.tokens_per_s is not None and self.tokens_per_s < SLOW_TOKENS_PER_S and bool(seen.decoded)
        return Judgement("slow", f"{self.tokens_per_s:.2f} tokens/s") if slow else Judgement("busy")

    def _normal_step_s(self) -> float:
        return self._slowest_step_s * STEPS_MARGIN / 2

    def _floor_s(self) -> float:
        return max(self.patience.stall_s, self._slowest_step_s * STEPS_MARGIN)

    def _allowed(self, seen: Observation) -> tuple[float, str]:
        """How long counters may stand still now, and what to say when they have for longer."""
        floor = self._floor_s()
        works = seen.at - self._worked_at <= self.patience.stall_s / 2
        if not works:
            return floor, "nothing moved"
        if self.patience.on_gpu and seen.engine_ns is not None:
            return PREFILL_MAX_S, "the GPU works but no counter moved"
        silent = seen.counter is None
        if silent and self.answered_while_busy:
            return floor, "the server stopped answering"
        if self.patience.on_gpu:
            return (floor if seen.decoded else max(floor, GPU_PREFILL_S)), "the processor spins but no counter moved"
        if silent or not seen.decoded:
            return PREFILL_MAX_S, "the processor works but no counter moved"
        return max(floor, STEPS_MARGIN * self.patience.stall_s), "the processor spins but no token came"
