"""The advisory actor: handlers over the advisor, the store and the outcome log."""

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import anyio
import apsw
import msgspec

from actors.base import Actor, Handler, Job
from actors.lane import Lane
from evidence.derive import verified
from evidence.features import tokens_in
from evidence.hints import hint
from evidence.lookup import Advice
from evidence.profiles import Profile, parse_forced
from evidence.records import SCHEMA, capability
from evidence.rules import Evidence, Rule, load, shipped
from protocol import contract, settings
from protocol.action import NoParams, Outcome
from protocol.actions.advisory import (
    Advise,
    AdvisoryFigures,
    Calibrate,
    Consult,
    Consulted,
    Handshake,
    Handshaken,
    Logged,
    OutcomeReport,
)
from protocol.errors import Fault

from .advisor import Advisor
from .outcomes import Channel, OutcomeLog
from .replies import advised, asking, calibrated, consulted, everything, full_name, shaken, view
from .sitting import Sitting, answer, begin
from .store import SESSIONS_KEPT, SessionState, Store, open_store
from .taken import declared_model, learned

log = logging.getLogger("chrysalis")
FLUSH_INTERVAL_S = 1.0
ADVISED_DOMAINS = frozenset({"memory", "reason"})
Change = Callable[[SessionState], tuple[Outcome, SessionState | None, bytes | None]]


class AdvisoryActor(Actor):
    """Advice from measurements, per session; all state lives in advisory.db and this process.

    Args:
        evidence: what to advise from; None = the evidence that ships with this version.
    """

    name = "advisory"

    def __init__(self, evidence: Evidence | None = None) -> None:
        super().__init__()
        self._evidence = evidence
        self._lane = Lane()
        self._notes: list[str] = []
        self._store: Store
        self._advisor: Advisor
        self._log = OutcomeLog(on=settings.enabled("CHRYSALIS_OUTCOME_LOG"))
        self._sessions: dict[str, SessionState] = {}
        self._ingested_tokens = 0
        self._ingested_kept = 0

    def handlers(self) -> Mapping[str, Handler]:
        return {
            "meta.handshake": self.handshake,
            "meta.advise": self.advise,
            "meta.calibrate": self.calibrate,
            "meta.consult": self.consult,
            "meta.slot": self.slot,
            "meta.outcome": self.outcome,
            "meta.advisory_stats": self.stats,
        }

    async def start(self) -> tuple[str, ...]:
        await self.open()
        self.spawn(self._flush_forever)
        self.spawn(self._announce)
        return tuple(self._notes)

    async def open(self) -> None:
        """Load evidence and sessions; all of `start` but its background tasks."""
        evidence = self._evidence or self._load_evidence()
        forced = parse_forced(settings.value("CHRYSALIS_MODEL_PROFILE"))
        if forced is not None and forced.kind == "unknown":
            self._say(f"CHRYSALIS_MODEL_PROFILE names no class or model that is known: {forced.name}.")
        readonly = settings.enabled("CHRYSALIS_READONLY")
        self._advisor = Advisor(evidence.rules, forced, _capabilities(evidence.rules), readonly=readonly)
        self._store = await self._lane.run(open_store, settings.database_path().with_name("advisory.db"), self._say)
        await self._lane.run(self._load)

    def _load_evidence(self) -> Evidence:
        """The evidence in force; a file that cannot be trusted gives none, which means silence."""
        chosen = settings.value("CHRYSALIS_EVIDENCE")
        try:
            return verified(load(Path(chosen).expanduser()) if chosen else shipped())
        except (OSError, ValueError) as error:
            self._say(f"No advice: {chosen or 'evidence.json'}: {error}.")
            return Evidence(schema=SCHEMA)

    def _say(self, note: str) -> None:
        log.warning("%s", note)
        self._notes.append(note)

    def _load(self) -> None:
        self._sessions = self._store.sessions()
        self._log.restore(self._store.logged())
        self._ingested_tokens = self._ingested_kept = int(self._store.fact("ingested_tokens") or b"0")

    async def stop(self) -> None:
        await self._flush()
        await self._lane.run(self._store.close)

    async def _announce(self) -> None:
        self.news("slot", msgspec.to_builtins(self._advisor.slot(_today())))

    async def _flush_forever(self) -> None:
        while True:
            await anyio.sleep(FLUSH_INTERVAL_S)
            try:
                await self._flush()
            except apsw.Error as error:  # a full disk must not take advice away; the counts are lost
                log.warning("the outcome log was not written: %s", error)

    async def _flush(self) -> None:
        """Write what changed; the log itself is only ever touched on the loop."""
        if lines := self._log.take():
            await self._lane.run(self._store.log, lines)
        if self._ingested_tokens != self._ingested_kept:
            self._ingested_kept = self._ingested_tokens
            await self._lane.run(self._store.set_fact, "ingested_tokens", str(self._ingested_kept).encode())

    def _state(self, session_id: str) -> SessionState:
        return self._sessions.get(session_id) or SessionState()

    def _profile(self, state: SessionState) -> Profile:
        return self._advisor.profile(state, time.time_ns())

    async def _once(self, job: Job, change: Change) -> Outcome:
        """Apply a change exactly once for the job's id; a repeated request gets the stored reply."""
        return await self._lane.run(self._apply, job.id, job.session_id, change)

    def _apply(self, request_id: str, session_id: str, change: Change) -> Outcome:
        if stored := self._store.replay(request_id):
            return msgspec.msgpack.decode(stored, type=Outcome)
        outcome, state, calibration = change(self._state(session_id))
        self._store.apply(request_id, msgspec.msgpack.encode(outcome), session_id, state, calibration)
        if state is not None:
            self._remember(session_id, state)
        return outcome

    def _remember(self, session_id: str, state: SessionState) -> None:
        self._sessions.pop(session_id, None)
        self._sessions[session_id] = state
        if len(self._sessions) > SESSIONS_KEPT:
            del self._sessions[next(iter(self._sessions))]

    async def handshake(self, job: Job, params: Handshake) -> Outcome:
        """Take down what the client says of its model, and answer with what was measured on such models."""
        outcome = await self._once(job, lambda state: self._handshake(job, state, params))
        if isinstance(outcome.data, Handshaken):  # a stored reply was shown before
            for figures in outcome.data.rests_on:
                self._log.show(job.session_id, figures["action"], figures["level"], "prompt_hint", time.monotonic())
        return outcome

    def _handshake(
        self, job: Job, state: SessionState, params: Handshake
    ) -> tuple[Outcome, SessionState, bytes | None]:
        state = msgspec.structs.replace(
            state,
            declared=declared_model(params) or state.declared,
            context=params.context or state.context,
            client=params.client or job.client or state.client,
        )
        profile = self._profile(state)
        outcome = shaken(profile, *self._advisor.prompt_hint(profile, _today()))
        return outcome, state, self._store.calibration(job.session_id)

    async def calibrate(self, job: Job, params: Calibrate) -> Outcome:
        """Ask a few items, grade the answers, and in the end say what the model can do by itself."""
        return await self._once(job, lambda state: self._calibrate(job.session_id, state, params))

    def _calibrate(
        self, session_id: str, state: SessionState, params: Calibrate
    ) -> tuple[Outcome, SessionState | None, bytes | None]:
        now, secret = time.time_ns(), self._store.secret
        if params.step == "start":
            sitting = begin(secret, secrets.token_hex(16), params.focus, now)
        else:
            sitting = answer(self._under_way(session_id, now), params.answers, secret)
        if not sitting.done:
            return asking(sitting, now), None, msgspec.msgpack.encode(sitting)
        state = learned(state, sitting, now)
        profile = self._profile(state)
        return calibrated(sitting.result(), profile, self._advisor.prompt_hint(profile, _today())[0]), state, None

    def _under_way(self, session_id: str, now_ns: int) -> Sitting:
        stored = self._store.calibration(session_id)
        sitting = msgspec.msgpack.decode(stored, type=Sitting) if stored else None
        if sitting is None or sitting.expires_s(now_ns) < 0:
            why = "has run out" if sitting else "is not under way"
            text = f"A calibration {why} in this session."
            raise Fault("not_found", text, next_action="Call meta.calibrate with step start.")
        return sitting

    async def advise(self, job: Job, params: Advise) -> Outcome:
        """Whether an action helps on a task, with the figures; without an action, everything known."""
        profile = self._profile(self._state(job.session_id))
        if not params.action:
            return everything(self._advisor.standing(profile, _today()), profile)
        action = full_name(params)
        features = self._advisor.features(action, params.task, profile, self._ingested_tokens)
        advice = self._advisor.advise(profile, action, features, _today())
        return advised(action, advice, profile, features, self._shown(job.session_id, advice, "advise"))

    def _shown(self, session_id: str, advice: Advice | None, channel: Channel) -> str:
        if advice is None or not hint(advice):
            return ""
        return self._log.show(session_id, advice.rule.action, advice.level, channel, time.monotonic())

    async def consult(self, job: Job, params: Consult) -> Outcome:
        """The advice that rides on the reply of a real call; memory only, no wait."""
        action = f"{params.domain}.{params.action}"
        if params.domain not in ADVISED_DOMAINS:
            return Outcome(summary="", data=Consulted())
        if action == "memory.ingest":
            self._ingested_tokens += tokens_in(params.params)
        for report in msgspec.convert(params.context.get("ended", []), list[OutcomeReport]):
            self._log.ended(report.advice_id, report.outcome)
        self._log.called(job.session_id, action, time.monotonic())
        profile = self._profile(self._state(job.session_id))
        facts = params.context.get("facts_tokens")
        tokens = facts if isinstance(facts, int) else self._ingested_tokens
        features = self._advisor.features(action, params.params, profile, tokens)
        advice = self._advisor.advise(profile, action, features, _today())
        return Outcome(summary="", data=consulted(advice, profile, self._shown(job.session_id, advice, "reply")))

    async def slot(self, job: Job, params: NoParams) -> Outcome:  # noqa: ARG002 - a handler's form
        """The daemon-wide texts for the tool description and the server's instructions."""
        return Outcome(summary="", data=self._advisor.slot(_today()))

    async def outcome(self, job: Job, params: OutcomeReport) -> Outcome:  # noqa: ARG002
        """Note how an advised call ended."""
        return Outcome(summary="", data=Logged(known=self._log.ended(params.advice_id, params.outcome)))

    async def stats(self, job: Job, params: NoParams) -> Outcome:  # noqa: ARG002
        """Figures for `meta.stats`."""
        rules = self._advisor.rules
        levels = {level: sum(r.level == level for r in rules) for level in sorted({r.level for r in rules})}
        data = AdvisoryFigures(
            profile=view(self._profile(self._state(job.session_id))),
            evidence={"rules": len(rules), **levels},
            log=self._log.figures(),
            sessions=len(self._sessions),
            kept=self._store.kept,
            note=" ".join(self._notes),
        )
        return Outcome(summary="", data=data)


def _capabilities(rules: tuple[Rule, ...]) -> dict[str, str]:
    return {r.action: capability(contract.BY_NAME[r.action]) for r in rules if r.action in contract.BY_NAME}


def _today() -> date:
    return datetime.now(UTC).date()
