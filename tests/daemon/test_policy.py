"""The restart policy and the judgement of heartbeats, as pure functions of a clock."""

import itertools

import pytest

from daemon.policy import Fatal, Health, Restart, decide_restart, judge_heartbeat
from daemon.states import TRANSITIONS, IllegalTransition, State, step


def test_the_first_death_is_answered_at_once_and_later_ones_back_off_exponentially():
    """0.1 s, then twice as long with each death within the minute."""
    delays = [decide_restart([100.0] * n, 100.0, 0.5).delay_s for n in (1, 2, 3, 4)]
    assert delays == pytest.approx([0.1, 0.2, 0.4, 0.8])


def test_jitter_spreads_a_delay_by_a_quarter_either_way():
    """The dice decide, and nothing else does."""
    low, high = decide_restart([0.0], 0.0, 0.0), decide_restart([0.0], 0.0, 1.0)
    assert (low.delay_s, high.delay_s) == pytest.approx((0.075, 0.125))


def test_five_deaths_within_a_minute_are_fatal():
    """The intensity of the design: 5 in 60 s."""
    assert decide_restart([1, 2, 3, 4, 5], 5.0, 0.5) == Fatal(5)
    assert isinstance(decide_restart([1, 2, 3, 4], 5.0, 0.5), Restart)


def test_deaths_of_more_than_a_minute_ago_are_forgiven():
    """An actor that dies once an hour is restarted for ever."""
    assert decide_restart([0, 1, 2, 3, 100], 100.0, 0.5) == Restart(pytest.approx(0.1))


@pytest.mark.parametrize(
    ("missed", "overdue_s", "health"),
    [
        (0, 0, Health.GOOD),
        (2, 0, Health.GOOD),
        (3, 0, Health.SUSPECT),
        (9, 0, Health.SUSPECT),
        (10, 0, Health.HUNG),
        (0, 9.9, Health.GOOD),
        (0, 10, Health.HUNG),
    ],
)
def test_three_missed_pings_are_suspect_ten_are_hung_and_so_is_overdue_work(missed, overdue_s, health):
    """A job past its deadline without a beat counts as much as silence."""
    assert judge_heartbeat(missed, overdue_s) is health


def test_the_transition_table_refuses_what_it_does_not_list():
    """Every pair of states is either in the table or raises."""
    for old, new in itertools.product(State, State):
        if new in TRANSITIONS[old]:
            assert step(old, new) is new
        else:
            with pytest.raises(IllegalTransition):
                step(old, new)


def test_an_actor_serves_only_after_it_has_said_ready():
    """Running is reached from starting and suspect alone."""
    assert {old for old in State if State.RUNNING in TRANSITIONS[old]} == {State.STARTING, State.SUSPECT}
