"""The guard actor: llama-server over the contract. What it decides and does is in `life` and `server`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from actors.base import Actor, Handler, Job
from protocol import endpoints, settings
from protocol.action import NoParams, Outcome, Severity
from protocol.actions.llm import Choice, LogLines, Logs, Start, Status, Stop
from protocol.errors import Fault

from .estimate import MIB
from .ledger import Ledger
from .profiles import Profile, ProfileError, choose
from .server import Message, ModelServer
from .status import HOW_TO, not_configured, status_of

RUNNING: Final = frozenset({"loading", "ready", "busy", "slow", "suspect", "stuck"})


class GuardActor(Actor):
    """Runs llama-server so that the machine never freezes and the model comes back by itself."""

    name = "guard"

    def __init__(self) -> None:
        super().__init__()
        self._runtime = Path(endpoints.runtime_dir())
        ledger = Ledger(settings.data_dir() / "llm-loads.json")
        self.server = ModelServer(self._runtime, ledger, told=self._tell)

    def handlers(self) -> Mapping[str, Handler]:
        return {
            "llm.status": self._status,
            "llm.plan": self._plan,
            "llm.start": self._start,
            "llm.stop": self._stop,
            "llm.restart": self._restart,
            "llm.logs": self._logs,
        }

    async def start(self) -> tuple[str, ...]:
        self.spawn(self.server.run)
        if not settings.enabled("CHRYSALIS_LLM_AUTOSTART"):
            return ()
        try:
            profile = choose()
        except (ProfileError, ValueError) as error:
            return (f"the model is not started: {error}",)
        if profile:
            self.server.post(lambda life, now: life.start(profile, now))
        return ()

    async def stop(self) -> None:
        await self.server.close()

    def _tell(self) -> None:
        life = self.server.life
        name = life.profile.name if life.profile else ""
        self.news("llm", {"state": life.state, "profile": name, "why": life.why, "wanted": life.wanted})

    # Handlers.

    async def _status(self, job: Job, params: NoParams) -> Outcome:
        del params
        outcome = self._outcome()
        if job.operator:
            return outcome
        shown = msgspec.structs.replace(outcome.data, admission=None, key_file="")
        return msgspec.structs.replace(outcome, data=shown)

    async def _plan(self, job: Job, params: Choice) -> Outcome:
        del job
        try:
            admission = (await self.server.plan(_chosen(params))).admission
        except ProfileError as error:
            raise _not_usable(error) from error
        fits = admission.verdict == "fits"
        return Outcome(
            summary=admission.text,
            data=admission,
            severity="INFO" if fits else "WARN",
            next_action=None if fits else "Take what would fit, or start with --override.",
        )

    async def _start(self, job: Job, params: Start) -> Outcome:
        profile = _chosen(params)
        state = self.server.life.state
        if state in RUNNING:
            running = self.server.life.profile
            raise Fault(
                "conflict",
                f"{running.name if running else 'A model'} is running already ({state}).",
                next_action="Use `chrysalis llm restart` to change the model, or stop it first.",
            )
        return await self._carry_out(job, params, lambda life, now: life.start(profile, now, override=params.override))

    async def _restart(self, job: Job, params: Start) -> Outcome:
        named = params.profile or params.model or self.server.life.profile is None
        profile = _chosen(params) if named else self._running_profile(params)
        return await self._carry_out(
            job, params, lambda life, now: life.restart(profile, now, override=params.override)
        )

    async def _stop(self, job: Job, params: Stop) -> Outcome:
        await self.server.ask(lambda life, now: life.stop(now, hurry=params.now))
        while not (settled := await self.server.settle(1.0, "stopped", "wedged")) and job.remaining_s() > 2:  # noqa: PLR2004
            job.progress(0, None, self.server.life.why)
        return self._outcome(partial=not settled)

    async def _logs(self, job: Job, params: Logs) -> Outcome:
        del job
        lines = self.server.log.tail(params.lines)
        return Outcome(
            summary=f"{len(lines)} lines of the guarded server's log.",
            data=LogLines(lines=lines, dropped=self.server.log.dropped),
        )

    # Inside.

    def _running_profile(self, params: Start) -> Profile:
        profile = self.server.life.profile
        assert profile is not None
        return msgspec.structs.replace(profile, ctx=params.ctx) if params.ctx else profile

    async def _carry_out(self, job: Job, params: Start, message: Message) -> Outcome:
        self._refuse_when_wedged()
        await self.server.ask(message)
        if not params.wait:
            return self._outcome()
        while not (settled := await self.server.settle(1.0)) and job.remaining_s() > 2:  # noqa: PLR2004
            job.progress(0, None, f"{self.server.life.state}: {self.server.life.why}")
        return self._after_start(settled=settled)

    def _refuse_when_wedged(self) -> None:
        life = self.server.life
        if life.state == "wedged":
            raise Fault(
                "conflict",
                f"Nothing may be started: {life.why}.",
                next_action="Wait until the process is gone; if it stays, only a reboot frees the GPU's memory.",
            )

    def _after_start(self, *, settled: bool) -> Outcome:
        life = self.server.life
        if life.state == "stopped" and life.admission and life.admission.verdict in {"refused", "unknown"}:
            raise Fault(
                "conflict",
                life.admission.text,
                next_action="Take what would fit with --ctx or in the profile, or start with --override.",
                details=life.admission,
            )
        if life.state == "fatal" and life.last_exit is None:
            raise _not_usable(ValueError(life.why))
        if life.state == "fatal":
            advice = life.last_exit.next_action if life.last_exit else ""
            raise Fault("conflict", f"The model could not be started: {life.why}.", next_action=advice)
        return self._outcome(partial=not settled)

    def _outcome(self, *, partial: bool = False) -> Outcome:
        status = self._current()
        exit_ = status.last_exit
        advice = exit_.next_action if exit_ and status.state in {"fatal", "backoff"} else None
        return Outcome(
            summary=status.text,
            data=status,
            severity=_severity(status),
            next_action=advice,
            partial=partial,
        )

    def _current(self) -> Status:
        if self.server.life.profile is not None:
            return status_of(self.server, self._runtime / "llm.json")
        try:
            profile = choose()
        except (ProfileError, ValueError) as error:
            return Status(state="not_configured", text=f"The configuration cannot be used: {error}")
        if profile is None or not profile.model:
            return not_configured()
        available = round(self.server.machine.memory().available / MIB)
        text = f"{profile.name} is stopped; `chrysalis llm start` starts it."
        return Status(state="stopped", text=text, profile=profile.name, model=profile.model, available_mib=available)


def _severity(status: Status) -> Severity:
    if status.state in {"fatal", "wedged"}:
        return "ERROR"
    return "WARN" if status.warnings or status.state in {"suspect", "stuck", "backoff"} else "INFO"


def _chosen(params: Choice) -> Profile:
    try:
        profile = choose(params.profile, params.model, params.ctx)
    except (ProfileError, ValueError) as error:
        raise _not_usable(error) from error
    if profile is None:
        raise Fault("not_found", "No model is configured.", next_action=f"{HOW_TO[0].upper()}{HOW_TO[1:]}.")
    return profile


def _not_usable(error: ValueError) -> Fault:
    return Fault("invalid_params", str(error), next_action="Correct the profile or the path; see `chrysalis llm plan`.")
