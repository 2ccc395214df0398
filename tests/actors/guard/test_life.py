"""The life of a server as a state machine."""

import random
import signal

import pytest

from actors.guard.life import KILL_WAIT_S, NEXT, RETURN_WAIT_S, Admit, Life, Send, Spawn
from actors.guard.pressure import Finding
from actors.guard.profiles import Profile
from actors.guard.watch import Judgement
from protocol.actions.llm import Admission

PROFILE = Profile(name="p", model="m", stop_grace_s=5)


def admission(verdict):
    return Admission(
        profile="p", model="m", verdict=verdict, need_mib=1, have_mib=1, margin_mib=0, need=[], have=[],
        reserve_mib=0, past_error="", would_fit=[], text="needs 1",
    )  # fmt: skip


def ready(now=0.0):
    life = Life(now)
    assert life.start(PROFILE, now) == [Admit()]
    assert life.admitted(admission("fits"), now) == [Spawn()]
    life.spawned(now)
    life.observed(Judgement("ready"), now)
    return life


def test_a_start_that_fits_becomes_ready():
    assert [step.state for step in ready().trail] == ["admitting", "loading", "ready"]


def test_a_refusal_at_the_start_stays_stopped_and_says_why():
    life = Life(0)
    life.start(PROFILE, 0)
    assert life.admitted(admission("refused"), 0) == []
    assert (life.state, life.wanted) == ("stopped", False)
    assert "needs 1" in life.why


def test_a_refusal_at_a_restart_waits_for_memory():
    life = ready()
    life.pressed(Finding("term", "tight"), 1)
    life.exited(0, [], 2)
    life.tick(2)
    life.tick(40)
    life.admitted(admission("refused"), 40)
    assert (life.state, life.wanted) == ("backoff", True)
    assert life.tick(69) == []
    assert life.tick(71) == [Admit()]


def test_stop_is_term_then_grace_then_kill():
    life = ready()
    assert life.stop(0) == [Send(signal.SIGTERM)]
    assert life.tick(4.9) == []
    assert life.tick(5.1) == [Send(signal.SIGKILL)]
    life.exited(-9, [], 6)
    life.tick(6)
    assert (life.state, life.last_exit.cause) == ("stopped", "commanded")


def test_a_stop_lets_the_request_under_way_finish_but_not_for_ever():
    life = ready()
    life.observed(Judgement("busy"), 1)
    assert life.stop(1) == []
    assert life.observed(Judgement("busy"), 10) == []
    assert life.observed(Judgement("ready"), 11) == [Send(signal.SIGTERM)]
    life = ready()
    life.observed(Judgement("busy"), 1)
    life.stop(1)
    assert life.tick(32) == [Send(signal.SIGTERM)]


def test_a_hurried_stop_kills_at_once():
    life = ready()
    life.observed(Judgement("busy"), 1)
    assert life.stop(1, hurry=True) == [Send(signal.SIGKILL)]


def test_a_crash_backs_off_and_starts_again_through_admission():
    life = ready()
    life.exited(-11, [], 1)
    life.tick(1)
    assert (life.state, life.due) == ("backoff", 2)
    assert life.tick(2) == [Admit()]
    assert life.restarts == 1


def test_a_stuck_server_passes_through_stuck_to_stopping():
    life = ready()
    assert life.observed(Judgement("stuck", "nothing moved"), 1) == [Send(signal.SIGTERM)]
    assert [step.state for step in life.trail][-2:] == ["stuck", "stopping"]
    life.exited(0, [], 2)
    assert life.last_exit.cause == "stuck"


def test_shedding_stops_an_idle_model_only_and_term_a_busy_one_too():
    life = ready()
    life.observed(Judgement("busy"), 1)
    assert life.pressed(Finding("shed", "x"), 1) == []
    assert life.pressed(Finding("term", "x"), 1) == [Send(signal.SIGTERM)]
    assert life.pressed(Finding("kill", "x"), 1.5) == [Send(signal.SIGKILL)]
    idle = ready()
    assert idle.pressed(Finding("low", "x"), 1) == []
    assert idle.pressed(Finding("shed", "x"), 1) == [Send(signal.SIGTERM)]


def test_surviving_kill_is_wedged_and_forbids_every_start_until_it_is_gone():
    life = ready()
    life.stop(0, hurry=True)
    life.tick(KILL_WAIT_S + 1)
    assert life.state == "wedged"
    assert life.start(PROFILE, 20) == []
    assert life.restart(PROFILE, 20) == []
    assert life.tick(1_000) == []
    life.exited(-9, [], 1_001)
    life.tick(1_001)
    assert life.state == "stopped"


def test_gpu_memory_that_does_not_come_back_is_wedged_until_it_does():
    life = ready()
    life.exited(-9, [], 1)
    life.tick(1 + RETURN_WAIT_S + 1, returned=False)
    assert life.state == "wedged"
    life.tick(100, returned=False)
    assert life.state == "wedged"
    life.tick(101, returned=True)
    assert life.state == "backoff"


def test_a_start_during_a_stop_is_carried_out_after_it():
    life = ready()
    life.stop(0)
    life.start(PROFILE, 1)
    life.exited(0, [], 2)
    assert life.tick(2) == [Admit()]


def test_a_missing_file_is_fatal_in_its_own_words():
    life = Life(0)
    life.start(PROFILE, 0)
    life.refused("m is not there", 0)
    assert (life.state, life.why, life.wanted) == ("fatal", "m is not there", False)
    assert life.start(PROFILE, 1) == [Admit()]


def test_the_table_knows_every_state_and_none_is_a_trap():
    assert set().union(*NEXT.values()) <= set(NEXT)
    for state in NEXT:
        seen, todo = set(), [state]
        while todo:
            for following in NEXT[todo.pop()] - seen:
                seen.add(following)
                todo.append(following)
        assert "stopped" in seen, state


def events(life, chance, now, spawned):
    """Everything that can happen now, as functions that return effects."""
    verdict = chance.choice(["loading", "ready", "busy", "slow", "suspect", "stuck", "foreign"])
    decision = chance.choice(["fits", "refused", "unknown", "overridden"])
    level = chance.choice(["ok", "low", "shed", "term", "kill"])
    returned = not spawned and chance.random() < 0.7
    found = [
        lambda: life.start(PROFILE, now, override=chance.random() < 0.5),
        lambda: life.stop(now, hurry=chance.random() < 0.3),
        lambda: life.restart(PROFILE, now),
        lambda: life.admitted(admission(decision), now),
        lambda: life.pressed(Finding(level), now),
        lambda: life.refused("gone", now),
        lambda: life.tick(now, returned=returned),
    ]
    return found + 2 * [lambda: life.observed(Judgement(verdict), now)] if spawned else found


@pytest.mark.parametrize("round_", range(5))
def test_no_order_of_events_breaks_the_table(round_):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    life, now, spawned = Life(0), 0.0, False
    for _ in range(3_000):
        now += chance.choice([0.1, 0.5, 3, 20])
        if spawned and chance.random() < 0.2:
            effects, spawned = life.exited(chance.choice([0, 1, -6, -9, -11]), ["x"], now), False
        else:
            effects = chance.choice(events(life, chance, now, spawned))()
        while Spawn() in effects:
            assert not spawned, "two at once"
            spawned = chance.random() < 0.9
            effects = life.spawned(now) if spawned else life.exited(None, ["no"], now)
        assert spawned or life.state not in {"loading", "ready", "busy", "slow", "suspect"}, "up without a process"
