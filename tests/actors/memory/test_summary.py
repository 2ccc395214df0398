"""The sentence of a recall: the one fact that is asked for, or the two steps of a question that takes two."""

import pytest

from validation.benchmarks._memory import open_memory

FACTS = [
    ["Polstizar", "is the captain of", "Nevstigor"],
    ["Nevstigor", "was built in", "Grivizar"],
    ["Poltarus", "is the captain of", "Holgor"],
    ["Holgor", "was built in", "Polfex"],
    ["Polstizar", "lives in", "Quinzek"],
]


@pytest.fixture(scope="module")
def memory():
    with open_memory() as opened:
        opened.call("memory.ingest", triples=FACTS, source="s")
        yield opened


def test_a_question_of_two_steps_is_told_both(memory):
    told = memory.call(
        "memory.recall", query="In which town was the ship built that Polstizar is the captain of?"
    ).summary
    assert told.endswith("best: Polstizar is the captain of Nevstigor; Nevstigor was built in Grivizar.")


def test_a_question_of_one_step_is_told_one_fact(memory):
    told = memory.call("memory.recall", query="Where does Polstizar live?", k=3).summary
    assert told.endswith("best: Polstizar lives in Quinzek.")


def test_nothing_is_told_where_nothing_is_found(memory):
    empty = memory.call("memory.recall", query="Where does Polstizar live?", sources=["none"]).summary
    assert empty == "Nothing fitting is stored."
