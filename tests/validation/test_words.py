"""The invented items of the offline hypotheses, and the figures that paired arms become."""

from validation import paired
from validation.benchmarks._h_words import Names, distractors, two_hops
from validation.benchmarks.h_b import DenseLayer


def test_names_are_distinct_and_the_same_from_the_same_seed():
    """An item is the same on every machine."""
    names, again = Names(5), Names(5)
    given = [names.one() for _ in range(2_000)]
    assert len(set(given)) == 2_000
    assert given == [again.one() for _ in range(2_000)]


def test_the_second_fact_shares_no_name_with_the_question():
    """Only the first fact leads to it."""
    for item in two_hops(Names(1), 50):
        assert item.first[0] in item.question
        assert item.first[2] == item.second[0]
        assert item.second[0] not in item.question
        assert item.answer not in item.question


def test_distractors_are_of_the_same_kinds_about_others():
    """They can be told from the items by their names alone."""
    names = Names(2)
    items, others = two_hops(names, 20), distractors(names, 100)
    mine = {name for item in items for name in (item.first[0], item.first[2], item.answer)}
    assert len(others) == 100
    assert not mine & {name for s, _, o in others for name in (s, o)}
    assert {r for _, r, _ in others} == {r for item in items for r in (item.first[1], item.second[1])}


def test_paired_arms_become_points_with_the_interval_of_bonett_and_price():
    """The printed example: 1, 1, 7, 12 of 21."""
    first = [True] * 1 + [True] * 1 + [False] * 7 + [False] * 12
    second = [True] * 1 + [False] * 1 + [True] * 7 + [False] * 12
    found = paired.difference(first, second)
    assert [round(end, 1) for end in found["ci95_points"]] == [-50.8, -1.3]
    assert found["cells"] == {"both": 1, "only_first": 1, "only_second": 7, "neither": 12}
    assert found["points"] == -28.57


def test_a_mean_of_equal_values_has_no_width():
    """And carries its n."""
    assert paired.mean_interval([2.0] * 9) == {"n": 9, "mean": 2.0, "ci95": [2.0, 2.0]}


def test_the_dense_rival_can_learn_a_lesson():
    """It is no straw man: what it is taught last it knows."""
    import numpy as np

    vectors = np.eye(6)[:4]
    layer = DenseLayer(6, 4)
    layer.learn(vectors, [0, 1, 2, 3])
    assert layer.answers(vectors) == [0, 1, 2, 3]
