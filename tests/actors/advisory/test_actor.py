"""Handshake, advise and consult: whose advice, on what figures, by which precedence."""

import pytest

from protocol.action import NoParams
from protocol.actions.advisory import Advise, Consult, Handshake
from tests.actors.jobs import make_job

pytestmark = pytest.mark.anyio


async def test_a_session_that_told_nothing_gets_silence_and_is_told_to_shake_hands(opened):
    async with opened() as actor:
        outcome = await actor.advise(make_job("meta.advise"), Advise(domain="reason", action="solve"))
        assert outcome.data.level == "neutral"
        assert outcome.data.hint == ""
        assert outcome.data.source == "default"
        assert "meta.handshake" in outcome.data.reason


async def test_a_handshake_with_a_measured_model_gives_a_hint_and_its_figures(opened):
    async with opened() as actor:
        job = make_job("meta.handshake")
        outcome = await actor.handshake(job, Handshake(model="gemma-4-e4b", context=8192))
        assert outcome.data.profile.source == "declared"
        assert "memory.recall" in outcome.data.prompt_hint
        assert {b["action"] for b in outcome.data.rests_on} == {"memory.recall", "memory.update"}
        assert all(b["n"] and b["low"] < b["difference"] < b["high"] for b in outcome.data.rests_on)


async def test_the_slot_is_there_without_a_session(opened):
    async with opened() as actor:
        outcome = await actor.slot(make_job("meta.slot", session_id=""), NoParams())
        assert "meta.handshake" in outcome.data.slot


async def test_a_consulted_call_gets_the_advice_for_its_own_params(opened):
    async with opened() as actor:
        await actor.handshake(make_job("meta.handshake"), Handshake(model="gemma-4-e4b", context=8192))
        params = Consult(domain="memory", action="recall", params={"query": "who?"}, context={"facts_tokens": 100_000})
        advisory = (await actor.consult(make_job("meta.consult"), params)).data.advisory
        assert advisory.level == "experimental"
        assert "do not fit your context" in advisory.hint
        assert advisory.advice_id
