"""Subjects and relations of facts, kept by id: as stored, also after what they belonged to was taken away."""

import numpy as np

from validation.benchmarks._memory import open_memory


def stored(memory, ids):
    rows = memory.actor.file.store().database.rows("SELECT id, subject, relation FROM edge ORDER BY id")
    known = {row[0]: row[1:] for row in rows}
    return [known[fact] for fact in ids]


def test_parts_are_those_of_the_file_in_any_order_and_again():
    with open_memory() as memory:
        memory.call("memory.ingest", triples=[[f"n{i}", f"r{i % 3}", f"n{i + 1}"] for i in range(40)], source="s")
        parts = memory.actor.file.store().parts
        for ids in ([3, 1, 2], [40, 1], list(range(1, 41)), [7]):
            subjects, relations = parts.of(np.array(ids, np.int64))
            assert list(zip(subjects.tolist(), relations.tolist(), strict=True)) == stored(memory, ids)


def test_an_id_that_comes_to_mean_another_fact_is_read_anew():
    with open_memory() as memory:
        memory.call("memory.ingest", triples=[["a", "likes", "b"], ["c", "hates", "d"]], source="old")
        parts = memory.actor.file.store().parts
        parts.of(np.array([1, 2], np.int64))
        memory.call("memory.forget", source="old", purge=True, operator=True)
        memory.call("memory.ingest", triples=[["x", "knows", "y"], ["z", "knows", "x"]], source="new")
        ids = [row[0] for row in memory.actor.file.store().database.rows("SELECT id FROM edge ORDER BY id")]
        subjects, relations = parts.of(np.array(ids, np.int64))
        assert list(zip(subjects.tolist(), relations.tolist(), strict=True)) == stored(memory, ids)
