"""The life of one guarded server as a state machine; pure: events in, effects out, the clock passed in.

stopped ─start─▶ admitting ─fits─▶ loading ─▶ ready ⇄ busy ⇄ slow ⇄ suspect ─▶ stuck
   ▲                │ refused                    │ pressure, stop, exit          │
   │                ▼                            ▼                               ▼
   └──────── stopped / backoff ◀─memory back─ stopping ◀───────────────────── stopping
fatal: no restart mends it, or the budget is spent. wedged: the pid survives KILL, or its GPU memory does not
come back; a second model would hang the machine, so nothing is started until that is over.
"""

import signal
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from protocol.actions.llm import Admission, Exit

from . import restart
from .cause import Cause, Circumstances, classify
from .pressure import Finding
from .profiles import Profile
from .watch import Judgement

State = Literal[
    "stopped", "admitting", "loading", "ready", "busy", "slow", "suspect", "stuck", "stopping", "backoff", "fatal",
    "wedged",
]  # fmt: skip
UP: Final = frozenset({"loading", "ready", "busy", "slow", "suspect"})
SERVING: Final = frozenset({"ready", "busy", "slow", "suspect"})
SETTLED: Final = frozenset({"stopped", "ready", "busy", "slow", "fatal", "wedged"})
_SERVING_NEXT: Final = SERVING | {"stuck", "stopping"}
NEXT: Final[Mapping[str, frozenset[str]]] = {
    "stopped": frozenset({"admitting", "wedged"}),
    "admitting": frozenset({"loading", "stopped", "backoff", "fatal"}),
    "loading": frozenset({"ready", "stuck", "stopping"}),
    "ready": _SERVING_NEXT,
    "busy": _SERVING_NEXT,
    "slow": _SERVING_NEXT,
    "suspect": _SERVING_NEXT,
    "stuck": frozenset({"stopping"}),
    "stopping": frozenset({"stopped", "admitting", "backoff", "fatal", "wedged"}),
    "backoff": frozenset({"admitting", "stopped"}),
    "fatal": frozenset({"admitting", "stopped"}),
    "wedged": frozenset({"stopped", "backoff"}),
}
"""The transition table."""
KILL_WAIT_S: Final = 10.0
RETURN_WAIT_S: Final = 15.0
PRESSURE_GRACE_S: Final = 3.0
DRAIN_S: Final = 30.0
TRAIL_MAX: Final = 100
HISTORY_MAX: Final = 50


class Admit(Struct, frozen=True):
    """Decide whether the profile may be loaded, and answer with `admitted`."""

    override: bool = False


class Spawn(Struct, frozen=True):
    """Start the server, and answer with `spawned` or `exited(None)`."""


class Send(Struct, frozen=True):
    """Send a signal to every process of the launch."""

    signal: int


Effect = Admit | Spawn | Send


class Step(Struct, frozen=True):
    """One transition: when, into what, why."""

    at: float
    state: State
    why: str


class IllegalTransition(AssertionError):  # noqa: N818
    """Raised for a transition that the table lacks: a fault of ours."""


class Life:
    """Owns the state; every method takes the time and returns what is to be done."""

    def __init__(self, now: float) -> None:
        self.state: State = "stopped"
        self.since = now
        self.why = "not started"
        self.wanted = False
        self.profile: Profile | None = None
        self.admission: Admission | None = None
        self.last_exit: Exit | None = None
        self.history: list[restart.Ended] = []
        self.trail: list[Step] = []
        self.restarts = 0
        self.due: float | None = None
        self._asked: Cause | None = None
        self._override = False
        self._again = False
        self._kill_at = 0.0
        self._drain_until: float | None = None
        self._killed_at: float | None = None
        self._gone_at: float | None = None
        self._ready_at: float | None = None

    # What the operator says.

    def start(self, profile: Profile, now: float, *, override: bool = False) -> list[Effect]:
        """Start (or, from backoff and fatal, start now); after a stop under way; nothing when it is up already."""
        if self.state == "stopping":
            self.wanted, self.profile, self._override, self._again = True, profile, override, True
        if self.state in {"stopped", "backoff", "fatal"}:
            self.wanted, self.profile, self._override = True, profile, override
            self.history.clear()
            self._move("admitting", "asked to start", now)
            return [Admit(override)]
        return []

    def stop(self, now: float, *, hurry: bool = False) -> list[Effect]:
        """Stop and stay stopped; a request under way may finish within `DRAIN_S` unless it is to `hurry`."""
        self.wanted, self._again = False, False
        if self.state in {"busy", "slow"} and not hurry:
            self._drain_until = now + DRAIN_S
            self.why = "stops when the request under way is done"
            return []
        if self.state in UP or self.state == "stuck":
            return self._begin_stop("commanded", "asked to stop", now, 0.0 if hurry else self._grace())
        if self.state == "stopping" and hurry:
            return self._kill(now)
        if self.state in {"backoff", "fatal"}:
            self._move("stopped", "asked to stop", now)
        return []

    def restart(self, profile: Profile, now: float, *, override: bool = False) -> list[Effect]:
        """Stop if need be, then start afresh with an empty history."""
        if self.state in UP:
            effects = self.stop(now)
            self.profile, self.wanted, self._again, self._override = profile, True, True, override
            return effects
        return self.start(profile, now, override=override)

    def inherit(self, profile: Profile, now: float, *, override: bool, survivors: list[int]) -> list[Effect]:
        """Take up an earlier guard's wish; wedged at first where processes of it survive even KILL."""
        if not survivors:
            return self.start(profile, now, override=override)
        self.wanted, self.profile, self._override, self._gone_at = True, profile, override, None
        self._move("wedged", f"processes {survivors} of an earlier guard survive SIGKILL", now)
        return []

    def survivors_gone(self, now: float) -> list[Effect]:
        """What an earlier guard left is gone at last."""
        self._gone_at = now
        return []

    # What happened.

    def admitted(self, admission: Admission, now: float) -> list[Effect]:
        """The admission's decision is there."""
        self.admission = admission
        if self.state != "admitting":
            return []
        if not self.wanted:
            self._move("stopped", "asked to stop", now)
        elif admission.verdict in {"fits", "overridden"}:
            self._asked = self._ready_at = None
            return [Spawn()]
        elif self.restarts or self.history:
            self.due = now + restart.MEMORY_DELAY_S
            self._move("backoff", f"waits for memory: {admission.text}", now)
        else:
            self.wanted = False
            self._move("stopped", f"refused: {admission.text}", now)
        return []

    def refused(self, why: str, now: float) -> list[Effect]:
        """It could not even be decided: a file or the binary is missing."""
        self.wanted, self.last_exit = False, None
        if self.state == "admitting":
            self._move("fatal", why, now)
        return []

    def spawned(self, now: float) -> list[Effect]:
        """The process exists."""
        self._killed_at = self._gone_at = self._drain_until = None
        self._move("loading", "started", now)
        return [] if self.wanted else self._begin_stop("commanded", "asked to stop", now, self._grace())

    def observed(self, judgement: Judgement, now: float) -> list[Effect]:
        """The watch has judged."""
        if self.state not in UP:
            return []
        if judgement.verdict == "foreign":
            return self._begin_stop("foreign", judgement.why, now, self._grace())
        if judgement.verdict == "stuck":
            self._move("stuck", judgement.why, now)
            return self._begin_stop("stuck", judgement.why, now, self._grace())
        if judgement.verdict != "loading":
            self._ready_at = now if self._ready_at is None else self._ready_at
            self._move("ready" if self.state == "loading" else judgement.verdict, judgement.why, now)
            if self._drain_until is not None and judgement.verdict == "ready":
                return self._begin_stop("commanded", "asked to stop", now, self._grace())
        else:
            self.why = judgement.why
        return []

    def pressed(self, finding: Finding, now: float) -> list[Effect]:
        """Memory pressure was judged."""
        if self.state == "stopping":
            return self._kill(now) if finding.level == "kill" and self._gone_at is None else []
        idle = self.state == "ready"
        if self.state not in UP or finding.level in {"ok", "low"} or (finding.level == "shed" and not idle):
            return []
        grace = 0.0 if finding.level == "kill" else PRESSURE_GRACE_S
        return self._begin_stop("pressure", f"memory pressure: {finding.why}", now, grace)

    def exited(self, code: int | None, log: list[str], now: float, *, oom_kills: int = 0) -> list[Effect]:
        """Every process of the launch is gone, or none could be started (`code` None)."""
        ready_s = now - self._ready_at if self._ready_at is not None else 0.0
        around = Circumstances(asked=self._asked, oom_kills=oom_kills, was_ready=self._ready_at is not None)
        self.last_exit = classify(code, log, around)
        if self.last_exit.cause != "commanded":
            self.history = [*self.history, restart.Ended(now, self.last_exit.cause, ready_s)][-HISTORY_MAX:]
        self._gone_at = now
        if self.state == "wedged":
            return []
        if self.state == "admitting":
            return self._settle(now)
        self._move("stopping", f"{self.last_exit.text}; its memory is awaited", now)
        return []

    def tick(self, now: float, *, returned: bool = True) -> list[Effect]:
        """Time passes; `returned` says whether the GPU memory of the last launch is back."""
        if self.state == "stopping":
            return self._tick_stopping(now, returned=returned)
        if self.state in UP and self._drain_until is not None and now >= self._drain_until:
            return self._begin_stop("commanded", "asked to stop, and the request did not end", now, self._grace())
        if self.state == "wedged" and self._gone_at is not None and returned:
            self._leave_wedged(now)
        if self.state == "backoff" and self.due is not None and now >= self.due:
            self.restarts += 1
            self._move("admitting", "starts again", now)
            return [Admit(self._override)]
        return []

    # Inside.

    def _tick_stopping(self, now: float, *, returned: bool) -> list[Effect]:
        if self._gone_at is not None:
            if returned:
                return self._settle(now)
            if now - self._gone_at > RETURN_WAIT_S:
                self._move("wedged", "the process is gone but its GPU memory did not come back", now)
            return []
        if self._killed_at is None:
            return self._kill(now) if now >= self._kill_at else []
        if now - self._killed_at > KILL_WAIT_S:
            self._move("wedged", "the process survives SIGKILL: the kernel or the GPU driver holds it", now)
        return []

    def _begin_stop(self, cause: Cause, why: str, now: float, grace_s: float) -> list[Effect]:
        self._asked, self._killed_at, self._kill_at, self._drain_until = cause, None, now + grace_s, None
        self._move("stopping", why, now)
        return self._kill(now) if grace_s <= 0 else [Send(signal.SIGTERM)]

    def _kill(self, now: float) -> list[Effect]:
        if self._killed_at is None:
            self._killed_at = now
        return [Send(signal.SIGKILL)]

    def _settle(self, now: float) -> list[Effect]:
        """Everything of the last launch is gone: stay stopped, start again, wait, or give up."""
        why = self.last_exit.text if self.last_exit else ""
        if not self.wanted:
            self._move("stopped", why, now)
            return []
        if self._again:
            self._again = False
            self.history.clear()
            self._move("admitting", "starts again as asked", now)
            return [Admit(self._override)]
        decision = restart.decide(self.history, now)
        if decision.fatal:
            self.wanted = False
            self._move("fatal", f"{decision.fatal}; {why}", now)
        else:
            self.due = now + decision.delay_s
            self._move("backoff", why, now)
        return []

    def _leave_wedged(self, now: float) -> None:
        if self.wanted:
            self.due = now + restart.DELAY_MIN_S
        self._move("backoff" if self.wanted else "stopped", "the process is gone and its memory is back", now)

    def _grace(self) -> float:
        return self.profile.stop_grace_s if self.profile else 0.0

    def _move(self, state: State, why: str, now: float) -> None:
        if state == self.state:
            self.why = why or self.why
            return
        if state not in NEXT[self.state]:
            raise IllegalTransition(f"{self.state} -> {state}: {why}")
        self.state, self.since, self.why = state, now, why
        self.due = self.due if state == "backoff" else None
        self.trail = [*self.trail, Step(now, state, why)][-TRAIL_MAX:]
