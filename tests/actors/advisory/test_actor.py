"""Handshake, advise, consult and calibrate: whose advice, on what figures, and kept through what."""

import time
import uuid

import msgspec
import pytest

from actors.advisory.store import Measured, SessionState
from evidence.build import to_bytes
from evidence.derive import derive
from evidence.inference import Pairs
from evidence.records import Cell, Model
from protocol.action import NoParams
from protocol.actions.advisory import Advise, Calibrate, Consult, Handshake, OutcomeReport
from protocol.errors import Fault
from tests.actors.jobs import make_job
from tests.evidence.made import CLEAR_LOSS, confirmed

pytestmark = pytest.mark.anyio

SMALL = Cell(goal="solve", n_vars=(1, 3))
EVIDENCE = derive(
    [
        *confirmed(CLEAR_LOSS, model="qwen3-4b", cell=SMALL),
        *confirmed(model="qwen3-4b", action="memory.recall", cell=Cell(facts_exceed_ctx=True)),
        *confirmed(model="llama-3.2-3b", cell=SMALL),
    ]
)
SMALL_PROBLEM = {"vars": {"x": "int 1..5"}, "constraints": ["x > 3"]}


async def shake(actor, session="s", **declared):
    job = make_job("meta.handshake", id=uuid.uuid4().hex, session_id=session)
    return (await actor.handshake(job, Handshake(**declared))).data


async def ask(actor, session="s", action="solve", **task):
    return (
        await actor.advise(
            make_job("meta.advise", session_id=session), Advise(domain="reason", action=action, task=task)
        )
    ).data


async def consult(actor, session="s", domain="reason", action="solve", params=SMALL_PROBLEM, **context):
    question = Consult(domain=domain, action=action, params=params, context=context)
    return (await actor.consult(make_job("meta.consult", session_id=session), question)).data


async def calibrate(actor, skill, session="s", focus="class", started=None):
    """Sit a calibration; `skill(item text)` says the answer."""
    outcome = started or await actor.calibrate(
        make_job("meta.calibrate", id=uuid.uuid4().hex, session_id=session), Calibrate(focus=focus)
    )
    while outcome.data.state == "asking":
        answers = {item.id: skill(item.text) for item in outcome.data.items}
        job = make_job("meta.calibrate", id=uuid.uuid4().hex, session_id=session)
        outcome = await actor.calibrate(job, Calibrate(step="answer", answers=answers))
    return outcome


def product_of(text):
    a, b = text.removeprefix("What is ").removesuffix("?").split(" * ")
    return str(int(a) * int(b))


async def test_a_session_that_told_nothing_gets_silence_and_is_told_to_shake_hands(opened):
    async with opened(EVIDENCE) as actor:
        advised = await ask(actor, n_vars=2)
        assert (advised.level, advised.hint, advised.source) == ("neutral", "", "default")
        assert "meta.handshake" in advised.reason
        assert (await consult(actor)).advisory is None


async def test_a_handshake_with_a_measured_model_gives_a_hint_and_its_figures(opened):
    async with opened() as actor:
        shaken = await shake(actor, model="gemma-4-e4b", context=8192)
        assert shaken.profile.source == "declared"
        assert "memory.recall" in shaken.prompt_hint
        assert {b["action"] for b in shaken.rests_on} == {"memory.recall", "memory.update"}
        assert all(b["n"] and b["low"] < b["difference"] < b["high"] for b in shaken.rests_on)


async def test_a_handshake_with_an_unknown_model_is_answered_with_silence_and_the_way_on(opened):
    async with opened() as actor:
        job = make_job("meta.handshake")
        outcome = await actor.handshake(job, Handshake(model="never-heard-of"))
        assert outcome.data.prompt_hint == ""
        assert "meta.calibrate" in outcome.next_action


async def test_an_empty_handshake_keeps_what_was_declared_before(opened):
    async with opened() as actor:
        await shake(actor, model="qwen3-4b", context=4096)
        profile = (await shake(actor)).profile
        assert (profile.model, profile.context) == ("qwen3-4b", 4096)


async def test_forced_beats_calibrated_beats_declared_beats_default_each_shown_with_its_source(opened, monkeypatch):
    async with opened(EVIDENCE) as actor:
        assert (await ask(actor, n_vars=2)).source == "default"
        await shake(actor, model="qwen3-4b")
        declared = await ask(actor, n_vars=2)
        assert (declared.source, declared.level) == ("declared", "discouraged")
        await calibrate(actor, lambda _: "0")
        calibrated = await ask(actor, n_vars=2)
        assert (calibrated.source, calibrated.level) == ("calibrated", "experimental")
        assert "llama-3.2-3b" in calibrated.basis["source"]
    monkeypatch.setenv("CHRYSALIS_MODEL_PROFILE", "llama-3.2-3b")
    async with opened(EVIDENCE) as actor:
        forced = await ask(actor, n_vars=2)
        assert (forced.source, forced.level) == ("forced", "recommended")


async def test_one_clients_handshake_changes_neither_the_slot_nor_another_session(opened):
    async with opened(EVIDENCE) as actor:
        before = (await actor.slot(make_job("meta.slot", session_id=""), NoParams())).data
        await shake(actor, session="a", model="qwen3-4b")
        assert (await actor.slot(make_job("meta.slot", session_id=""), NoParams())).data == before
        assert (before.slot, "meta.handshake" in before.instructions) == ("", True)
        assert (await ask(actor, session="b", n_vars=2)).source == "default"


async def test_a_forced_profile_fills_slot_and_instructions_with_its_advice(opened, monkeypatch):
    monkeypatch.setenv("CHRYSALIS_MODEL_PROFILE", "qwen3-4b")
    async with opened(EVIDENCE) as actor:
        texts = (await actor.slot(make_job("meta.slot", session_id=""), NoParams())).data
        assert "memory.recall" in texts.slot
        assert "qwen3-4b" in texts.instructions


async def test_without_any_advice_in_the_evidence_the_daemon_says_nothing(opened):
    async with opened(derive([])) as actor:
        texts = (await actor.slot(make_job("meta.slot", session_id=""), NoParams())).data
        assert (texts.slot, texts.instructions) == ("", "")


async def test_where_writes_are_off_nobody_is_asked_for_a_handshake(opened, monkeypatch):
    monkeypatch.setenv("CHRYSALIS_READONLY", "1")
    async with opened(EVIDENCE) as actor:
        texts = (await actor.slot(make_job("meta.slot", session_id=""), NoParams())).data
        assert (texts.slot, texts.instructions) == ("", "")


async def test_sessions_in_memory_are_bounded(opened, monkeypatch):
    monkeypatch.setattr("actors.advisory.actor.SESSIONS_KEPT", 3)
    async with opened(EVIDENCE) as actor:
        for name in "abcda":
            await shake(actor, session=name, model="qwen3-4b")
        assert list(actor._sessions) == ["c", "d", "a"]


async def test_a_real_call_is_advised_on_its_own_params(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b", context=8000)
        advised = await consult(actor)
        assert advised.discouraged
        assert advised.advisory.level == "discouraged"
        assert "profile declared" in advised.advisory.source
        larger = {"vars": {f"x{i}": "int 1..5" for i in range(9)}, "constraints": ["x1 > x2"]}
        assert (await consult(actor, params=larger)).advisory is None
        assert not (await consult(actor, domain="meta", action="stats", params={})).discouraged


async def test_facts_exceed_the_context_once_more_was_ingested_than_it_holds(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b", context=1000)
        recall = {"domain": "memory", "action": "recall", "params": {"query": "who?"}}
        assert (await consult(actor, **recall)).advisory is None
        await consult(actor, domain="memory", action="ingest", params={"text": "word " * 2_000})
        assert (await consult(actor, **recall)).advisory.level == "recommended"
    async with opened(EVIDENCE) as actor:
        assert (await consult(actor, **recall)).advisory.level == "recommended"


async def test_without_an_action_advise_lists_everything_known_of_the_model(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b")
        data = (await actor.advise(make_job("meta.advise"), Advise())).data
        assert {line["action"] for line in data.all} == {"reason.solve", "memory.recall"}
        assert all(line["hint"] for line in data.all)


async def test_the_domain_may_be_left_out_where_the_name_is_unique(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b")
        for spelled in ("solve", "reason.solve"):
            advised = (await actor.advise(make_job("meta.advise"), Advise(action=spelled, task={"n_vars": 2}))).data
            assert advised.level == "discouraged"


async def test_advice_on_an_action_that_is_not_there_names_those_that_are(opened):
    async with opened() as actor:
        with pytest.raises(Fault) as caught:
            await actor.advise(make_job("meta.advise"), Advise(domain="reason", action="guess"))
        assert caught.value.failure.code == "unknown_action"
        assert "reason.solve" in caught.value.failure.next_action


async def test_a_calibration_tells_the_class_with_its_interval_and_changes_the_advice(opened):
    async with opened(EVIDENCE) as actor:
        outcome = await calibrate(actor, product_of)
        found = outcome.data.result
        assert found.verdict == "strong"
        assert found.confidence >= 0.9
        assert found.asked <= 8
        assert found.low < found.share <= found.high
        assert outcome.data.profile.source == "calibrated"
        assert (await ask(actor, n_vars=2)).level == "experimental"


async def test_wrong_and_unreadable_answers_are_told_apart_and_both_count_as_wrong(opened):
    async with opened() as actor:
        found = (await calibrate(actor, lambda _: "I would rather not")).data.result
        assert found.verdict == "basic"
        assert found.unreadable == found.asked


async def test_the_answers_never_leave_the_server(opened):
    async with opened() as actor:
        outcome = await actor.calibrate(make_job("meta.calibrate"), Calibrate())
        told = msgspec.json.encode(outcome).decode()
        assert all(product_of(item.text) not in told for item in outcome.data.items)


async def test_a_repeated_request_is_answered_from_the_store_and_asks_nothing_new(opened):
    async with opened() as actor:
        job = make_job("meta.calibrate", id="same")
        first = await actor.calibrate(job, Calibrate())
        again = await actor.calibrate(job, Calibrate())
        assert msgspec.json.encode(first) == msgspec.json.encode(again)
        answers = [product_of(item.text) for item in first.data.items]
        answered = await actor.calibrate(make_job("meta.calibrate", id="a"), Calibrate(step="answer", answers=answers))
        repeated = await actor.calibrate(make_job("meta.calibrate", id="a"), Calibrate(step="answer", answers=answers))
        assert msgspec.json.encode(answered) == msgspec.json.encode(repeated)


async def test_answers_to_items_that_are_not_open_are_refused(opened):
    async with opened() as actor:
        with pytest.raises(Fault) as caught:
            await actor.calibrate(make_job("meta.calibrate", id="1"), Calibrate(step="answer", answers={"q1": "1"}))
        assert caught.value.failure.code == "not_found"
        await actor.calibrate(make_job("meta.calibrate", id="2"), Calibrate())
        for answers in ({"q9": "1"}, {}, ["1", "2", "3"]):
            with pytest.raises(Fault) as caught:
                await actor.calibrate(make_job("meta.calibrate", id="3"), Calibrate(step="answer", answers=answers))
            assert caught.value.failure.faults[0].path == "answers"


async def test_items_left_unanswered_stay_open(opened):
    async with opened() as actor:
        first = await actor.calibrate(make_job("meta.calibrate", id="1"), Calibrate())
        one, other = first.data.items
        job = make_job("meta.calibrate", id="2")
        outcome = await actor.calibrate(job, Calibrate(step="answer", answers={one.id: "1"}))
        assert [item.id for item in outcome.data.items] == [other.id]
        with pytest.raises(Fault):
            await actor.calibrate(make_job("meta.calibrate", id="3"), Calibrate(step="answer", answers={one.id: "1"}))


async def test_a_calibration_runs_out_after_ten_minutes(opened, monkeypatch):
    async with opened() as actor:
        await actor.calibrate(make_job("meta.calibrate", id="1"), Calibrate())
        later = time.time_ns() + 601 * 10**9
        monkeypatch.setattr(time, "time_ns", lambda: later)
        with pytest.raises(Fault, match="has run out"):
            await actor.calibrate(make_job("meta.calibrate", id="2"), Calibrate(step="answer", answers={"q1": "1"}))


async def test_what_calibration_found_counts_for_thirty_days(opened):
    async with opened(EVIDENCE) as actor:
        state = SessionState(measured=Measured(kind="strong", confidence=0.9, asked=5, expires_ns=100))
        assert actor._advisor.profile(state, 99).source == "calibrated"
        assert actor._advisor.profile(state, 100).source == "default"


async def test_profiles_and_calibrations_under_way_outlast_the_actor(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, session="told", model="qwen3-4b")
        await calibrate(actor, lambda _: "0", session="measured")
        started = await actor.calibrate(make_job("meta.calibrate", id="begun", session_id="open"), Calibrate())
    async with opened(EVIDENCE) as actor:
        assert (await ask(actor, session="told", n_vars=2)).level == "discouraged"
        assert (await ask(actor, session="measured", n_vars=2)).source == "calibrated"
        outcome = await calibrate(actor, product_of, session="open", started=started)
        assert outcome.data.result.verdict == "strong"


async def test_a_lost_fact_narrows_the_context_that_advice_reckons_with(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b", context=100_000)
        outcome = await calibrate(actor, lambda _: "no idea", focus="recall")
        assert outcome.data.result.verdict == "no"
        assert outcome.data.profile.context == 250


async def test_following_conditions_and_solving_puzzles_can_be_asked_for(opened):
    async with opened() as actor:

        def follow(text):
            number, even, odd = text.replace(",", "").replace(".", "").split()[3], text.split()[7], text.split()[10]
            return (odd if int(number) % 2 else even).strip(",.")

        assert (await calibrate(actor, follow, focus="hints")).data.result.verdict == "yes"
    async with opened() as actor:
        found = (await calibrate(actor, lambda _: "Ada", focus="puzzles", session="p")).data.result
        assert found.verdict == "no"
        assert found.asked <= 8


async def test_the_outcome_log_tells_what_was_shown_and_followed(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b")
        advised = await ask(actor, n_vars=2)
        carried = await consult(actor)
        report = OutcomeReport(advice_id=carried.advisory.advice_id, outcome="ok")
        assert (await actor.outcome(make_job("meta.outcome"), report)).data.known
        assert not (await actor.outcome(make_job("meta.outcome"), report)).data.known
        figures = (await actor.stats(make_job("meta.advisory_stats"), NoParams())).data
        assert advised.advice_id
        # the handshake's hint and the advice spoke against the call that was then made
        assert figures.log["by_level"]["discouraged"] == {"shown": 3, "not_followed": 2, "outcome_ok": 1}
    async with opened(EVIDENCE) as actor:
        figures = (await actor.stats(make_job("meta.advisory_stats"), NoParams())).data
        assert figures.log["by_level"]["discouraged"] == {"shown": 3, "not_followed": 2, "outcome_ok": 1}


async def test_outcomes_may_come_along_with_the_next_question(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b")
        first = (await consult(actor)).advisory
        await consult(actor, ended=[{"advice_id": first.advice_id, "outcome": "error"}])
        figures = (await actor.stats(make_job("meta.advisory_stats"), NoParams())).data
        assert figures.log["by_level"]["discouraged"]["outcome_error"] == 1


async def test_a_call_after_good_advice_was_followed(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="llama-3.2-3b")
        await consult(actor)
        figures = (await actor.stats(make_job("meta.advisory_stats"), NoParams())).data
        assert figures.log["by_level"]["recommended"]["followed"] == 1


async def test_the_outcome_log_can_be_switched_off(opened, monkeypatch):
    monkeypatch.setenv("CHRYSALIS_OUTCOME_LOG", "0")
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b")
        assert (await consult(actor)).advisory.advice_id
        assert (await actor.stats(make_job("meta.advisory_stats"), NoParams())).data.log == {
            "on": False,
            "by_level": {},
        }


async def test_outcomes_never_change_a_level(opened):
    async with opened(EVIDENCE) as actor:
        await shake(actor, model="qwen3-4b")
        for _ in range(40):
            advice = (await consult(actor)).advisory
            await actor.outcome(make_job("meta.outcome"), OutcomeReport(advice_id=advice.advice_id, outcome="ok"))
        assert (await consult(actor)).advisory.level == "discouraged"


async def test_evidence_of_ones_own_is_used_and_a_forged_one_gives_silence(opened, monkeypatch, tmp_path):
    own = tmp_path / "own.json"
    monkeypatch.setenv("CHRYSALIS_EVIDENCE", str(own))
    own.write_bytes(to_bytes(EVIDENCE))
    async with opened() as actor:
        await shake(actor, model="qwen3-4b")
        assert (await ask(actor, n_vars=2)).level == "discouraged"
    own.write_bytes(to_bytes(EVIDENCE).replace(b'"discouraged"', b'"recommended"'))
    async with opened() as actor:
        assert (await ask(actor, n_vars=2)).level == "neutral"
        assert "build the file anew" in actor._notes[0]


async def test_a_forced_profile_that_is_no_model_known_is_told(opened, monkeypatch):
    monkeypatch.setenv("CHRYSALIS_MODEL_PROFILE", "blorp")
    async with opened() as actor:
        assert "blorp" in actor._notes[0]
        assert (await ask(actor, n_vars=2)).source == "forced"


async def test_a_rule_of_another_version_of_the_action_is_capped(opened):
    old = derive(confirmed(Pairs(5, 20, 1, 4), model="qwen3-4b", capability="of another time"))
    async with opened(old) as actor:
        await shake(actor, model="qwen3-4b")
        advised = await ask(actor, n_vars=2)
        assert advised.level == "experimental"
        assert "another version" in advised.reason


async def test_thinking_decides_which_evidence_counts(opened):
    model = Model(name="qwen3-4b", thinking=True)
    async with opened(derive(confirmed(model=model))) as actor:
        await shake(actor, model="qwen3-4b", thinking=False)
        assert (await ask(actor)).level == "neutral"
        await shake(actor, model="qwen3-4b", thinking=True)
        assert (await ask(actor)).level == "recommended"
