"""Which steps of a batch may run at once, and which batches are refused."""

import pytest

from daemon.batch import groups, read_steps
from protocol.errors import Fault


def plan(*steps):
    read = read_steps([dict(step) for step in steps])
    return [[step.id for step in group] for group in groups(read, lambda s: s.arguments["action"] != "ingest")]


def test_neighbouring_reads_run_at_once_and_writes_alone():
    """A write waits for what came before it, and what comes after waits for the write."""
    assert plan(
        {"id": "a", "action": "recall"},
        {"id": "b", "action": "solve"},
        {"id": "w", "action": "ingest"},
        {"id": "c", "action": "recall"},
    ) == [["a", "b"], ["w"], ["c"]]


def test_a_step_that_uses_another_waits_for_it():
    """By its id or by what it stored."""
    assert plan(
        {"id": "a", "action": "recall", "store_as": "kept"}, {"id": "b", "action": "recall", "q": "$cache.kept.x"}
    ) == [["a"], ["b"]]


@pytest.mark.parametrize("count", [0, 26])
def test_a_batch_of_none_or_too_many_steps_is_refused(count):
    """The limit is 25."""
    with pytest.raises(Fault, match="1 to 25 steps"):
        read_steps([{"action": "recall"}] * count)


def test_two_steps_with_one_id_are_refused():
    """Their results could not be told apart."""
    with pytest.raises(Fault, match="Two steps have the id 'a'"):
        read_steps([{"id": "a"}, {"id": "a"}])
