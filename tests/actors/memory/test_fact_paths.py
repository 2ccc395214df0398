"""Facts on the way from what a question names to what it asks for."""

import random

import numpy as np
import pytest

from actors.memory import fact_order, fact_paths
from actors.memory.graph import PASSAGE_LINK, SYNONYM_LINK, Graph
from actors.memory.pagerank import push
from actors.memory.seeding import Tuning

SPOUSE, PARENT, GENDER, BORN = range(4)


def known(facts, wanted):
    """What is known of facts (subject, relation, object), numbered from 1, when some relations fit a question."""
    table = np.array([(0, 0, 0), *facts])
    fit = np.array([0.6 if fact[1] in wanted else 0.1 for fact in table], np.float32)
    return fact_paths.Known(lambda ids: (table[ids, 0], table[ids, 1]), lambda ids: fit[ids])


def graph_of(facts, more=()):
    a, b = [2 * s for s, _, _ in facts], [2 * o for _, _, o in facts]
    a, b = a + [one[0] for one in more], b + [one[1] for one in more]
    return Graph(a, b, np.ones(len(a)), [*range(1, len(facts) + 1), *(one[2] for one in more)])


def ranked(facts, named, wanted, more=()):
    return fact_paths.rank(
        graph_of(facts, more), np.array([2 * node for node in named], np.int64), known(facts, wanted), 99
    )


FAMILY = [(1, SPOUSE, 2), (1, GENDER, 9), (2, PARENT, 3), (2, GENDER, 8), (3, BORN, 4), (3, GENDER, 9), (5, GENDER, 9)]


@pytest.mark.parametrize(
    ("wanted", "path"),
    [([SPOUSE, PARENT, BORN], [1, 3, 5]), ([SPOUSE, GENDER], [1, 4]), ([GENDER], [2]), ([SPOUSE, PARENT], [1, 3])],
)
def test_the_facts_of_the_path_that_is_asked_for_come_first(wanted, path):
    assert set(path) <= set(ranked(FAMILY, [1], wanted)[: len(path) + 1])


def test_a_path_does_not_lead_on_from_what_everything_shares():
    crowd = [(node, GENDER, 9) for node in range(20, 20 + fact_paths.HUB_MAX + 1)]
    facts = [(1, GENDER, 9), *crowd]
    assert ranked(facts, [1], [GENDER]) == [1]


def test_a_relation_from_its_subject_comes_before_the_same_against_its_direction():
    facts = [(2, PARENT, 1), (1, PARENT, 3), (1, GENDER, 9), (1, BORN, 4)]
    assert ranked(facts, [1], [PARENT])[:2] == [2, 1]


def test_passages_and_synonyms_are_no_facts_of_a_path():
    more = [(2, 7, PASSAGE_LINK), (2, 44, SYNONYM_LINK)]
    facts = [(1, SPOUSE, 2), (22, PARENT, 3)]
    assert ranked(facts, [1], [SPOUSE], more) == [1]


def test_without_vectors_the_nearest_facts_come_first_and_nothing_named_gives_nothing():
    silent = fact_paths.Known(known(FAMILY, []).parts, lambda ids: np.full(len(ids), np.nan, np.float32))
    found = fact_paths.rank(graph_of(FAMILY), np.array([2], np.int64), silent, 99)
    assert found[0] == 1
    assert fact_paths.rank(graph_of(FAMILY), np.zeros(0, np.int64), silent, 99) == []
    assert fact_paths.rank(graph_of(FAMILY), np.array([12], np.int64), silent, 99) == []


def test_the_paths_stay_within_their_limit_and_repeat_no_fact_however_dense_the_graph():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 400, 6_000), rng.integers(0, 400, 6_000)
    apart = a != b
    facts = list(zip(a[apart].tolist(), [0] * int(apart.sum()), b[apart].tolist(), strict=True))
    paths = fact_paths._paths(graph_of(facts), 2 * np.arange(8))
    assert fact_paths.PATHS_MAX < len(paths.rows) <= fact_paths.HOPS * fact_paths.PATHS_MAX
    for row in paths.rows.tolist():
        taken = [paths.facts[step] for step in row if step >= 0]
        assert len(set(taken)) == len(taken) > 0


def test_the_best_few_are_the_first_of_the_whole_order_also_among_equals():
    """However many are asked for, ties go by id."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for size in (0, 1, 7, 60):
        facts, worth = rng.permutation(1_000)[:size], rng.integers(0, 5, size).astype(np.float64)
        held = dict(zip(facts.tolist(), worth.tolist(), strict=True))
        whole = sorted(held, key=lambda fact: (-held[fact], fact))
        for limit in (0, 1, 3, size, size + 5):
            assert fact_paths.best(facts, worth, limit).tolist() == whole[:limit]


def test_the_first_place_is_what_is_asked_for_and_every_fact_comes_once():
    asked, lead, paths = [7, 1, 2, 3], [3, 2, 1, 7], [4, 5, 6, 8]
    order = [fact for fact, _ in fact_order.in_turns(asked, lead, paths, 99)]
    assert order == [7, 4, 5, 6, 1, 8, 2, 3]
    assert [fact for fact, _ in fact_order.in_turns(asked, lead, [], 99)] == [7, 3, 1, 2]
    assert fact_order.in_turns([], [], [], 99) == []


NOBODY = np.zeros(0, np.int64)


def test_a_fact_of_an_entity_with_itself_is_told_although_no_walk_goes_along_it():
    facts = [(1, GENDER, 9)]
    graph = graph_of(facts)
    walk = push(graph, np.array([2]), np.ones(1))
    cosines = np.array([0.0, 0.1, 0.9], np.float32)
    asked, lead = fact_order.by_walk(
        graph, walk, np.array([2, 18]), [(2, 0.9)], {2: (1, 1)}, NOBODY, lambda ids: cosines[ids], Tuning(), 99
    )
    assert asked == [2, 1]
    assert sorted(lead) == [1, 2]


@pytest.mark.parametrize("unlike", [-0.2, 0.0, 0.1, 0.3])
def test_what_a_taught_entity_does_comes_before_facts_whose_names_resemble_the_question(unlike):
    """The question's words say nothing of the entity's name, so its facts resemble it less than others do by chance."""
    facts = [(1, GENDER, 9), *((other, GENDER, 50 + other) for other in range(10, 20))]
    graph = graph_of(facts)
    walk = push(graph, np.array([2, *range(20, 40, 2)]), np.array([1.0, *[0.1] * 10]))
    cosines = np.array([0.0, unlike, *[0.3 + at / 50 for at in range(10)]], np.float32)
    nodes = walk.vertices[np.argsort(-walk.mass)]
    asked, _ = fact_order.by_walk(graph, walk, nodes, [], {}, np.array([2]), lambda ids: cosines[ids], Tuning(), 99)
    assert asked[0] == 1
    untaught, _ = fact_order.by_walk(graph, walk, nodes, [], {}, NOBODY, lambda ids: cosines[ids], Tuning(), 99)
    assert (untaught[0] == 1) == (unlike > 0)  # the walk alone puts it first where it resembles the question too
