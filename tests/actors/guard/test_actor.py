"""The guard's handlers, called as the daemon calls them."""

import anyio
import pytest

from actors.guard.actor import GuardActor
from actors.guard.server import ModelServer
from protocol.action import NoParams
from protocol.actions.llm import Choice, Logs, Start, Stop
from protocol.contract import BY_NAME, owned_by
from protocol.errors import Fault
from tests.actors.jobs import make_job
from validation.benchmarks._guard_rig import Rig


@pytest.fixture
def rig(tmp_path, monkeypatch):
    rig = Rig(tmp_path)
    rig.runtime.chmod(0o700)
    monkeypatch.setenv("CHRYSALIS_RUNTIME_DIR", str(rig.runtime))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CHRYSALIS_LLAMA_SERVER", str(rig.binary))
    for name in ("CHRYSALIS_LLM_PROFILE", "CHRYSALIS_LLM_URL", "CHRYSALIS_LLM_AUTOSTART"):
        monkeypatch.delenv(name, raising=False)
    return rig


class Calls:
    """An actor whose server runs; `told` holds its news."""

    def __init__(self, rig):
        self.actor = GuardActor()
        self.actor.server = ModelServer(rig.runtime, rig.ledger, rig.machine, told=self.actor._tell)
        self.told = []
        self.actor.post = self.told.append

    async def __call__(self, action, params, **job):
        return await self.actor.handlers()[f"llm.{action}"](make_job(f"llm.{action}", **job), params)


def run(rig, scenario):
    async def main():
        calls = Calls(rig)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.actor.server.run)
            await scenario(calls)
            await calls.actor.stop()
            tasks.cancel_scope.cancel()

    anyio.run(main)


def test_every_action_of_the_guard_is_served(rig):
    assert set(GuardActor().handlers()) == set(owned_by("guard"))
    assert [name for name in owned_by("guard") if not BY_NAME[name].operator_only] == ["llm.status"]


def test_without_a_profile_the_status_says_not_configured_and_how_to_mend_it(rig):
    async def scenario(calls):
        outcome = await calls("status", NoParams())
        assert outcome.data.state == "not_configured"
        assert "config.toml" in outcome.summary
        with pytest.raises(Fault, match="No model"):
            await calls("start", Start())

    run(rig, scenario)


def test_an_unguarded_endpoint_is_named_as_such(rig, monkeypatch):
    monkeypatch.setenv("CHRYSALIS_LLM_URL", "http://127.0.0.1:8080")

    async def scenario(calls):
        assert "127.0.0.1:8080 is not guarded" in (await calls("status", NoParams())).summary

    run(rig, scenario)


def test_a_broken_configuration_is_told_in_the_status(rig, tmp_path):
    (tmp_path / "config" / "chrysalis").mkdir(parents=True)
    (tmp_path / "config" / "chrysalis" / "config.toml").write_text("[llm")

    async def scenario(calls):
        assert "not valid TOML" in (await calls("status", NoParams())).summary

    run(rig, scenario)


def test_plan_start_status_logs_stop(rig):
    model = rig.profile.model

    async def scenario(calls):
        plan = await calls("plan", Choice(model=model, ctx=1024))
        assert plan.data.verdict == "fits"
        assert "1024" in plan.data.command
        started = await calls("start", Start(model=model), deadline_ms=60_000)
        assert started.data.state in {"ready", "busy"}
        with pytest.raises(Fault, match="running already"):
            await calls("start", Start(model=model))
        status = await calls("status", NoParams())
        assert status.data.admission is None
        assert (await calls("status", NoParams(), operator=True)).data.admission is not None
        assert (await calls("logs", Logs(lines=3))).data.lines
        again = await calls("restart", Start(ctx=2048), deadline_ms=60_000)
        assert again.data.pid != started.data.pid
        stopped = await calls("stop", Stop(), deadline_ms=60_000)
        assert (stopped.data.state, stopped.data.wanted) == ("stopped", False)
        assert {"loading", "ready", "stopped"} <= {news.body["state"] for news in calls.told}

    run(rig, scenario)


def test_a_model_that_does_not_fit_is_a_conflict_with_what_would(rig):
    rig.memory(available_mib=2_200)

    async def scenario(calls):
        with pytest.raises(Fault) as caught:
            await calls("start", Start(model=rig.profile.model, ctx=4_000_000), deadline_ms=60_000)
        assert caught.value.failure.code == "conflict"
        assert "ctx" in caught.value.failure.details.would_fit[0]
        assert (await calls("status", NoParams())).data.state == "stopped"

    run(rig, scenario)


def test_a_missing_model_is_told_by_its_path(rig, tmp_path):
    async def scenario(calls):
        for action, params in (("plan", Choice(model="/none.gguf")), ("start", Start(model="/none.gguf"))):
            with pytest.raises(Fault, match=r"/none\.gguf is not there") as caught:
                await calls(action, params, deadline_ms=60_000)
            assert caught.value.failure.code == "invalid_params"

    run(rig, scenario)


def test_nothing_is_started_while_wedged(rig):
    async def scenario(calls):
        calls.actor.server.life.state = "wedged"
        with pytest.raises(Fault, match="Nothing may be started"):
            await calls("start", Start(model=rig.profile.model))
        calls.actor.server.life.state = "stopped"

    run(rig, scenario)
