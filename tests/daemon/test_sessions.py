"""The session cache, the references into it, and poison."""

import pytest

from daemon.poison import Poison
from daemon.references import keys_used, resolve, select
from daemon.sessions import Cache, Sessions
from protocol.errors import Fault
from protocol.limits import POISON_MAX_AGE_S, SESSION_CACHE_MAX_AGE_S, SESSION_CACHE_MAX_BYTES, SESSIONS_MAX


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_result_can_be_had_until_it_expires_and_then_the_error_says_so():
    """An expired key is told apart from one that never was."""
    clock = Clock()
    cache = Cache(clock)
    cache.put("a", {"x": 1})
    assert cache.get("a") == {"x": 1}
    clock.now = SESSION_CACHE_MAX_AGE_S + 1
    with pytest.raises(Fault, match="has expired"):
        cache.get("a")
    with pytest.raises(Fault, match="was never stored"):
        cache.get("b")


def test_the_oldest_results_go_when_the_cache_is_full():
    """Bytes are limited; what is larger than all of it is not kept at all."""
    cache = Cache(Clock())
    third = "x" * (SESSION_CACHE_MAX_BYTES // 3)
    for key in "abcd":
        assert cache.put(key, third)
    assert cache.keys() == ["c", "d"]
    assert cache.size_bytes <= SESSION_CACHE_MAX_BYTES
    assert not cache.put("e", third * 4)


def test_what_is_dropped_in_all_sessions_is_told_as_expired():
    sessions = Sessions(Clock())
    for name in ("one", "other"):
        sessions.get(name).cache.put("kept", [1])
    sessions.drop_results()
    for name in ("one", "other"):
        with pytest.raises(Fault, match="has expired"):
            sessions.get(name).cache.get("kept")
        assert sessions.get(name).cache.size_bytes == 0


def test_the_longest_unused_session_goes_when_there_are_too_many():
    """A daemon that runs for months does not grow without end."""
    sessions = Sessions(Clock())
    for number in range(SESSIONS_MAX + 10):
        sessions.get(str(number))
    assert len(sessions) == SESSIONS_MAX


def test_a_whole_reference_keeps_its_type_and_one_inside_text_becomes_text():
    """Lists and numbers pass through; inside a sentence they are spelled out."""
    data = {"r": {"nodes": [{"name": "Ada"}], "n": 3}}
    value = {"k": "$cache.r.n", "q": "who is $cache.r.nodes.0.name?", "all": ["$cache.r.nodes[0]"]}
    assert resolve(value, data.__getitem__) == {"k": 3, "q": "who is Ada?", "all": [{"name": "Ada"}]}
    assert keys_used(value) == {"r"}


def test_a_reference_that_leads_nowhere_names_what_there_is():
    """The error shows what the result holds."""
    with pytest.raises(Fault, match=r"Nothing lies at \$cache\.r\.edges") as caught:
        resolve("$cache.r.edges.0", {"r": {"nodes": [1, 2]}}.__getitem__)
    assert "nodes (2 items)" in caught.value.failure.next_action


def test_selected_fields_reach_into_lists():
    """`nodes.name` is that field of each node; what is not there is null."""
    data = {"nodes": [{"name": "a"}, {"name": "b"}], "n": 1}
    assert select(data, ["nodes.name", "n", "nope"]) == {"nodes.name": ["a", "b"], "n": 1, "nope": None}


def test_a_call_that_was_under_way_at_two_deaths_is_refused_for_ten_minutes():
    """And only that call: another one, or the same one after an answer, is served."""
    clock = Clock()
    poison = Poison(clock)
    key, other = poison.key("memory.recall", b"a"), poison.key("memory.recall", b"b")
    poison.blame(key)
    poison.check(key, "memory.recall")
    poison.blame(key)
    with pytest.raises(Fault, match="2 times") as caught:
        poison.check(key, "memory.recall")
    assert not caught.value.failure.retryable
    poison.check(other, "memory.recall")
    clock.now = POISON_MAX_AGE_S + 1
    poison.check(key, "memory.recall")


def test_an_answer_absolves_a_call_that_was_blamed_once():
    """Being under way when something else killed the actor is no guilt."""
    poison = Poison(Clock())
    key = poison.key("reason.solve", b"")
    poison.blame(key)
    poison.absolve(key)
    poison.blame(key)
    poison.check(key, "reason.solve")
