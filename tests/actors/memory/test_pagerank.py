"""Push PageRank against power iteration, its oracle."""

import numpy as np
import pytest

from actors.memory.graph import Graph
from actors.memory.pagerank import power, push


def random_graph(seed: int, nodes: int = 300, edges: int = 1_200) -> Graph:
    rng = np.random.default_rng(seed)
    a, b = rng.zipf(1.6, (2, edges)) % nodes
    return Graph(a, b, rng.uniform(0.5, 3, edges), np.arange(1, edges + 1))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [1e-4, 1e-6])
def test_push_never_exceeds_the_exact_mass_and_misses_at_most_epsilon_times_degree(seed, epsilon):
    graph = random_graph(seed)
    seeds = np.flatnonzero(graph.degree > 0)[:4]
    weights = np.array([4.0, 3, 2, 1])
    exact = power(graph, seeds, weights)
    walk = push(graph, seeds, weights, epsilon=epsilon)
    found = np.zeros(graph.size)
    found[walk.vertices] = walk.mass
    missing = exact - found
    assert missing.min() >= -1e-9, f"seed {seed}"
    assert (missing <= epsilon * np.maximum(graph.degree, 1) + 1e-9).all(), f"seed {seed}"
    assert walk.complete


def test_mass_and_residual_sum_to_one():
    walk = push(random_graph(1), np.array([1]), np.array([1.0]))
    assert walk.mass.sum() + walk.residual == pytest.approx(1.0)


def test_a_spent_budget_is_told_and_keeps_its_residual():
    walk = push(random_graph(2), np.array([1]), np.array([1.0]), budget=10)
    assert not walk.complete
    assert walk.residual > 0.1


def test_a_seed_without_edges_keeps_all_the_mass():
    graph = Graph([1], [2], [1.0], [1])
    graph.reserve(10)
    walk = push(graph, np.array([7]), np.array([1.0]), epsilon=1e-9)
    assert walk.vertices.tolist() == [7]
    assert walk.mass[0] == pytest.approx(1.0, abs=1e-6)


def test_taking_an_edge_away_again_leaves_the_walk_as_it_was():
    before = push(random_graph(3), np.array([1, 2]), np.array([1.0, 1.0]))
    graph = random_graph(3)
    graph.change([(1, 299, 2.0, 9_000), (5, 310, 1.0, 9_001)])
    graph.change([(1, 299, -2.0, 9_000), (5, 310, -1.0, 9_001)])
    after = push(graph, np.array([1, 2]), np.array([1.0, 1.0]))
    same = dict(zip(after.vertices.tolist(), after.mass.tolist(), strict=True))
    assert {v: same.get(v, 0) for v in before.vertices.tolist()} == pytest.approx(
        dict(zip(before.vertices.tolist(), before.mass.tolist(), strict=True)), abs=1e-6
    )


def test_changes_reach_the_walk_before_and_after_they_are_merged():
    graph = random_graph(4)
    graph.change([(1, 500, 50.0, 9_000)])
    overlaid = push(graph, np.array([1]), np.array([1.0]))
    graph._merge()
    merged = push(graph, np.array([1]), np.array([1.0]))
    assert 500 in overlaid.vertices
    assert overlaid.vertices.tolist() == merged.vertices.tolist()
    assert overlaid.mass == pytest.approx(merged.mass, abs=1e-9)


def test_a_self_loop_carries_nothing():
    graph = Graph([1, 1], [1, 2], [9.0, 1.0], [1, 2])
    assert graph.degree[1] == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_leaves_nothing_behind_for_the_next_one(seed):
    used, rng = random_graph(seed), np.random.default_rng(seed)
    for budget in (3_000_000, 10, 300, 3_000_000):
        seeds = rng.choice(np.flatnonzero(used.degree > 0), 5, replace=False)
        first = push(random_graph(seed), seeds, np.ones(5), budget=budget)
        again = push(used, seeds, np.ones(5), budget=budget)
        assert first.vertices.tolist() == again.vertices.tolist(), f"seed {seed}"
        assert first.mass.tolist() == again.mass.tolist(), f"seed {seed}"
        assert not any(array.any() for array in used.blank()), f"seed {seed}"


@pytest.mark.parametrize("merged", [False, True])
def test_each_edge_leaves_from_both_of_its_ends_and_vertices_without_any_have_none(merged):
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 50, (2, 300))
    graph = Graph(a[:200], b[:200], np.ones(200), np.arange(1, 201))
    graph.change([(int(x), int(y), 1.0, 201 + i) for i, (x, y) in enumerate(zip(a[200:], b[200:], strict=True))])
    graph.reserve(500)
    if merged:
        graph._merge()
    asked = np.array([499, *range(60), 120])
    source, target, _, edge = graph.out(asked)
    found = sorted(zip(asked[source].tolist(), target.tolist(), edge.tolist(), strict=True))
    pairs = [(x, y, i + 1) for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)) if x != y]
    assert found == sorted(pairs + [(y, x, i) for x, y, i in pairs]), "seed 5"
