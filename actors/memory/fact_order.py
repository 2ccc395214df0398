"""In which order facts are told: by the mass around them and their fit, and by the flow along them, in turns."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from . import pagerank
from .graph import PASSAGE_LINK, Graph
from .seeding import Scored, Tuning

Ints = npt.NDArray[np.int64]
Cosines = Callable[[Ints], npt.NDArray[np.float32]]
"""The cosine of each fact with the question; NaN where it is unknown."""

FACT_NODES: Final = 60
"""Facts are taken from around so many of the best nodes."""
FACTS_FITTED: Final = 600
"""Facts with most mass around them that are compared with the question."""
FACT_EDGES_MAX: Final = 20_000
UNKNOWN_FIT: Final = 0.35
"""The fit of a fact that has no vector yet: what a related one typically has."""


def by_walk(
    graph: Graph, walk: pagerank.Walk, nodes: Ints, seeds: Scored, cosines: Cosines, tuning: Tuning
) -> tuple[list[int], list[int]]:
    """Facts in two orders: by the mass around them and their fit, and by the flow along them (decisions 011, 016).

    Args:
        nodes: vertices of nodes that the walk reached, by mass.
        seeds: facts that search found.
    """
    mass = np.zeros(graph.size)
    mass[walk.vertices] = walk.mass
    around = nodes[:FACT_NODES]
    source, target, weight, edge = graph.out(around)
    if len(edge) > FACT_EDGES_MAX:
        cut = slice(FACT_EDGES_MAX)
        source, target, weight, edge = source[cut], target[cut], weight[cut], edge[cut]
    real = edge > PASSAGE_LINK
    start, target, weight, edge = around[source][real], target[real], weight[real], edge[real]
    held = _greatest(edge, mass[start] + mass[target])
    flow = _greatest(edge, weight * (mass[start] / graph.degree[start] + mass[target] / graph.degree[target]))
    fit = _fit(list(held), cosines)
    top, fastest = max(held.values(), default=1.0), max(flow.values(), default=1.0)
    asked = {fact: score / top * fit.get(fact, UNKNOWN_FIT) ** tuning.fit for fact, score in held.items()}
    for fact, score in seeds[: tuning.facts]:
        asked[fact] = asked.get(fact, 0.0) + tuning.seed_fact * score
    lead = {fact: flow.get(fact, 0.0) / fastest * (1.0 + fit.get(fact, UNKNOWN_FIT)) for fact in asked}
    return _ordered(asked), _ordered(lead)


def _fit(facts: list[int], cosines: Cosines) -> dict[int, float]:
    """Cosine of each fact with the question, above 0; without those for which it is unknown."""
    ids = np.array(facts, np.int64)
    found = cosines(ids)
    known = ~np.isnan(found)
    return dict(zip(ids[known].tolist(), (np.maximum(found[known], 0.0) + 0.05).tolist(), strict=True))


def _greatest(edge: npt.NDArray[np.int32], value: npt.NDArray[np.float64]) -> dict[int, float]:
    """The greatest value of each fact, for the FACTS_FITTED facts with the greatest ones."""
    order = np.argsort(-value, kind="stable")[: 2 * FACTS_FITTED]
    found: dict[int, float] = {}
    for fact, score in zip(edge[order].tolist(), value[order].tolist(), strict=True):
        found.setdefault(fact, score)
    return found


def _ordered(scores: Mapping[int, float]) -> list[int]:
    return [fact for fact, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def in_turns(asked: Sequence[int], lead: Sequence[int], paths: Sequence[int]) -> Scored:
    """One order of three, each fact once, scored by one over the place.

    First the one fact that is asked for, then the facts on paths; where there are none, the flow and what is
    asked take turns, and so they do after them.
    """
    rest = itertools.chain.from_iterable(zip(lead, [*asked[1:], *asked[:1]], strict=False))
    turns = itertools.chain(asked[:1], paths, rest)
    return [(fact, 1.0 / (place + 1)) for place, fact in enumerate(dict.fromkeys(turns))]
