"""In which order facts are told: what is asked for, what lies on paths to it, and what flow goes along, in turns.

By mass and fit is right about the one fact that is asked for, paths and flow about all facts on the way to an answer:
decisions 011, 016 and 017 have the figures.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from . import pagerank
from .fact_paths import best
from .graph import PASSAGE_LINK, Graph, vertex_of_node
from .seeding import Scored, Tuning

Ints = npt.NDArray[np.int64]
Cosines = Callable[[Ints], npt.NDArray[np.float32]]
"""The cosine of each fact with the question; NaN where it is unknown."""
Ends = Mapping[int, tuple[int, int]]

FACT_NODES: Final = 60
"""Facts are taken from around so many of the best nodes."""
FACTS_FITTED: Final = 600
"""Facts with most mass around them that are compared with the question."""
FACT_EDGES_MAX: Final = 20_000
PATHS_RUN: Final = 3
UNKNOWN_FIT: Final = 0.35
"""The fit of a fact that has no vector yet, and what a fact of a taught node has beside its own: a related one's."""


def by_walk(
    graph: Graph,
    walk: pagerank.Walk,
    nodes: Ints,
    seeds: Scored,
    ends: Ends,
    taught: Ints,
    cosines: Cosines,
    tuning: Tuning,
    limit: int,
) -> tuple[list[int], list[int]]:
    """Facts in two orders, `limit` of each: by the mass around them and their fit, and by the flow along them.

    Args:
        nodes: vertices of nodes that the walk reached, by mass.
        seeds: facts that search found; ends: subject and object of those that count.
        taught: vertices of nodes that the question was taught to mean. Its words say nothing of their names, so their
            facts are likened to it too little.
    """
    facts, start, target, weight = _around(graph, nodes[:FACT_NODES], ends)
    from_mass, to_mass = walk.mass_at(start), walk.mass_at(target)
    held = from_mass + to_mass
    flow = weight * (from_mass / _divisor(graph, start) + to_mass / _divisor(graph, target))
    if len(facts) > 2 * FACTS_FITTED:
        most = np.argpartition(-held, 2 * FACTS_FITTED)[: 2 * FACTS_FITTED]
        facts, start, target, held, flow = facts[most], start[most], target[most], held[most], flow[most]
    facts, once = np.unique(facts, return_index=True)  # a fact is met from both its ends, with the same figures
    held, flow = held[once], flow[once]
    meant = (np.isin(start, taught) | np.isin(target, taught))[once]
    found = cosines(facts)
    fit = np.where(np.isnan(found), UNKNOWN_FIT, np.maximum(found, 0.0) + 0.05 + UNKNOWN_FIT * meant)
    asked = held / (held.max(initial=0.0) or 1.0) * fit**tuning.fit
    for fact, score in seeds[: tuning.facts]:
        asked[facts == fact] += tuning.seed_fact * score
    lead = flow / (flow.max(initial=0.0) or 1.0) * (1.0 + fit)
    return best(facts, asked, limit).tolist(), best(facts, lead, limit).tolist()


def _around(graph: Graph, nodes: Ints, ends: Ends) -> tuple[Ints, Ints, Ints, npt.NDArray[np.float64]]:
    """(fact, one end, other end, weight) at some nodes, then of `ends`: what an entity is to itself is in no graph."""
    source, target, weight, edge = graph.out(nodes)
    real = np.flatnonzero(edge > PASSAGE_LINK)[:FACT_EDGES_MAX]
    more = np.array([(fact, *pair) for fact, pair in ends.items()], np.int64).reshape(-1, 3)
    start, end = vertex_of_node(more[:, 1]), vertex_of_node(more[:, 2])
    within = np.maximum(start, end) < graph.size
    return (
        np.concatenate((edge[real].astype(np.int64), more[within, 0])),
        np.concatenate((nodes[source[real]], start[within])),
        np.concatenate((target[real], end[within])),
        np.concatenate((weight[real].astype(np.float64), np.ones(within.sum()))),
    )


def _divisor(graph: Graph, vertices: Ints) -> npt.NDArray[np.float64]:
    degree = graph.degree[vertices]
    return np.where(degree > 0, degree, 1.0)


def in_turns(asked: Sequence[int], lead: Sequence[int], paths: Sequence[int], limit: int) -> Scored:
    """One order of three, each fact once, scored by one over the place; `limit` facts at most.

    First the one fact that is asked for. After it the facts on paths, one by mass and fit after every PATHS_RUN of
    them; what is left by flow and by mass and fit in turns, which is all there is where no path is.
    """
    found: dict[int, None] = {}
    for fact in _turns(asked, lead, paths):
        if len(found) >= limit:
            break
        found.setdefault(fact)
    return [(fact, 1.0 / (place + 1)) for place, fact in enumerate(found)]


def _turns(asked: Sequence[int], lead: Sequence[int], paths: Sequence[int]) -> Iterator[int]:
    yield from asked[:1]
    for run in range(-(-len(paths) // PATHS_RUN)):
        yield from paths[run * PATHS_RUN : (run + 1) * PATHS_RUN]
        yield from asked[run + 1 : run + 2]
    yield from itertools.chain.from_iterable(zip(lead, [*asked[1:], *asked[:1]], strict=True))
