"""Facts by the paths they lie on: from what a question names, over up to three facts, through what it asks for.

A path is worth the more, the better its relations fit the question and the fewer ways lead on from its nodes; a fact is
worth the sum over its paths. So it is a log-linear model of paths, and the order is that of the facts' marginals
(compare maximum-entropy inverse reinforcement learning, Ziebart et al. 2008, and path ranking, Lao and Cohen 2010).
Decision 017 has the figures.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from .graph import PASSAGE_LINK, Graph

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

HOPS: Final = 3
NAMED_MAX: Final = 8
HUB_MAX: Final = 64
"""Paths end at a node with more edges than this: what all share tells nothing. They may start at one."""
PATHS_MAX: Final = 1_500
"""Paths of one length; past it those over the nodes with fewest edges."""
FITTED_MAX: Final = 512
"""Facts compared with the question, nearest first; the others have the fit of their relation."""
CROWDED: Final = 0.5
"""A path loses so much times the logarithm of the number of edges at each node it leaves."""
AGAINST: Final = 1.0
"""What a fact that is walked from its object to its subject loses, in standard deviations of fit."""
AGAIN: Final = 0.5
"""A relation that fits is worth so much less each time a path comes to it again."""
_AGAIN: Final = AGAIN ** np.arange(HOPS)
SHRINK: Final = 0.5
"""A relation's fit is shrunk as if so many average facts of it were known beside."""


class Known(Struct, frozen=True):
    """What can be known of facts, each by an array of ids: (subjects, relations), and cosines with the question."""

    parts: Callable[[Ints], tuple[Ints, Ints]]
    cosines: Callable[[Ints], npt.NDArray[np.float32]]


class _Paths(Struct, frozen=True):
    """Steps, each along a fact from a vertex, in the order they were come to; `rows`: paths as steps, -1 past the end.

    Shapes: (steps,), (steps,), (paths, HOPS). A step is made once, however many paths go on from it.
    """

    facts: Ints
    starts: Ints
    rows: Ints


def rank(graph: Graph, named: Ints, known: Known, limit: int) -> list[int]:
    """Facts by the paths from the vertices that a question names, best `limit` first; [] when nothing leads on.

    The work is bounded by HUB_MAX and PATHS_MAX, whatever the size of the graph.
    """
    paths = _paths(graph, named[:NAMED_MAX])
    if not len(paths.rows):
        return []
    facts, first, place = np.unique(paths.facts, return_index=True, return_inverse=True)
    subjects, relations = known.parts(facts)
    along = subjects[place] * 2 == paths.starts
    crowd = np.log(np.maximum(graph.degree[paths.starts], 1.0))
    fits = _fits(facts, first, subjects, relations, known)[place]
    taken = paths.rows >= 0
    gain = fits[paths.rows]
    gain *= np.where(gain > 0, _AGAIN[_repeats(np.where(taken, relations[place][paths.rows], -1))], 1.0)
    score = np.where(taken, gain - (AGAINST * ~along + CROWDED * crowd)[paths.rows], 0.0).sum(axis=1)
    weight = np.exp(score - score.max())
    each = np.broadcast_to(weight[:, None], taken.shape)[taken]
    worth = np.bincount(place[paths.rows[taken]], each, minlength=len(facts))
    return best(facts, worth, limit).tolist()


def best(facts: Ints, worth: npt.NDArray[Any], limit: int) -> Ints:
    """The facts worth most, `limit` at most, best first and equals by id."""
    if 0 < limit < len(facts):
        few = np.flatnonzero(worth >= np.partition(worth, -limit)[-limit])
        facts, worth = facts[few], worth[few]
    return facts[np.lexsort((facts, -worth))][:limit]


def _paths(graph: Graph, named: Ints) -> _Paths:
    """Every path of one to HOPS facts, none twice on a path, within the limits."""
    facts, rows = np.full((len(named), HOPS), -1, np.int64), np.full((len(named), HOPS), -1, np.int64)
    end, crowd = named, np.ones(len(named))
    found: list[_Paths] = []
    made = 0
    for hop in range(HOPS):
        source, target, _, edge = graph.out(end)
        kept = (edge > PASSAGE_LINK) & ~(facts[source] == edge[:, None]).any(axis=1)
        source, target, edge = source[kept], target[kept], edge[kept].astype(np.int64)
        crowd = (crowd * np.maximum(graph.degree[end], 1.0))[source]
        if len(edge) > PATHS_MAX:
            few = np.argpartition(crowd, PATHS_MAX)[:PATHS_MAX]
            source, target, edge, crowd = source[few], target[few], edge[few], crowd[few]
        facts, rows = facts[source], rows[source]
        facts[:, hop], rows[:, hop] = edge, np.arange(made, made + len(edge))
        made += len(edge)
        found.append(_Paths(edge, end[source], rows))
        on = graph.degree[target] <= HUB_MAX
        facts, rows, end, crowd = facts[on], rows[on], target[on], crowd[on]
    return _Paths(*(np.concatenate([getattr(one, part) for one in found]) for part in ("facts", "starts", "rows")))


def _fits(facts: Ints, first: Ints, subjects: Ints, relations: Ints, known: Known) -> Doubles:
    """How well each fact's relation fits the question, in standard deviations over the relations met.

    A fact's cosine is taken to be its subject's share plus its relation's, so that a relation does not fit
    because it was met around the entity that the question names.
    """
    near = np.argsort(first, kind="stable")[:FITTED_MAX]
    cosines = known.cosines(facts[near]).astype(np.float64)
    near, cosines = near[~np.isnan(cosines)], cosines[~np.isnan(cosines)]
    if not len(near):
        return np.zeros(len(facts))
    named, relation = np.unique(relations, return_inverse=True)
    _, subject = np.unique(subjects[near], return_inverse=True)
    mine = relation[near]
    fit = _shares(cosines - cosines.mean(), subject, mine, len(named))
    spread = fit.std()
    return ((fit - fit.mean()) / spread if spread > 0 else np.zeros(len(fit)))[relation]


def _shares(cosines: Doubles, subject: Any, relation: Any, relations: int) -> Doubles:
    """The relations' shares in an additive model of the cosines, by backfitting."""
    many = np.bincount(relation, minlength=relations) + SHRINK
    several = np.bincount(subject)
    fit = np.zeros(relations)
    for _ in range(4):
        share = np.bincount(subject, cosines - fit[relation]) / several
        fit = np.bincount(relation, cosines - share[subject], minlength=relations) / many
    return fit


def _repeats(relations: Ints) -> Ints:
    """How often each step's relation was on its path before; (n, HOPS)."""
    return np.stack([(relations[:, :hop] == relations[:, hop, None]).sum(axis=1) for hop in range(HOPS)], axis=1)
