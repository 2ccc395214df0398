"""Where a walk starts: facts, names and passages that fit the question, fused and weighed.

After HippoRAG 2 (arXiv 2502.14802) without its language model: a few facts, each handing its score to its two
nodes divided by the number of documents that name them (node specificity), and many passages at a small weight.
The values were chosen on MuSiQue-train-100 (`validation/results/retrieval.json`) and on nothing else.
"""

from collections.abc import Mapping

from msgspec import Struct

Scored = list[tuple[int, float]]
"""Ids with their scores, best first."""


class Tuning(Struct, frozen=True, kw_only=True):
    """Every constant of seeding and ranking.

    Attributes:
        facts: how many facts seed the walk. candidates: how many each search hands in.
        lexical_fact, lexical_passage: weight of BM25 (scaled to its best hit) beside the cosine.
        passages: how many passages seed; passage_weight: their reset weight relative to the nodes'.
        exact: score of a node that the question names outright.
        nodes: how many node seeds are kept. specificity: divide by the number of documents naming the node.
        synonyms, use_passages: off only to measure what they are worth.
        fit: how much a fact's own likeness to the question lifts it. seed_fact: what being a seed adds to a fact.
    """

    facts: int = 5
    candidates: int = 60
    lexical_fact: float = 0.2
    lexical_passage: float = 0.3
    passages: int = 200
    passage_weight: float = 0.1
    exact: float = 0.5
    nodes: int = 12
    specificity: bool = True
    synonyms: bool = True
    use_passages: bool = True
    fit: float = 1.5
    seed_fact: float = 0.1
    damping: float = 0.5
    epsilon: float = 1e-5


def fuse(cosines: Mapping[int, float], lexical: Mapping[int, float], weight: float) -> list[tuple[int, float]]:
    """One score per id, best first: cosine + weight * BM25 relative to its best hit.

    Ids that the lexical search alone found must come with their cosine.
    """
    best = max(lexical.values(), default=0.0) or 1.0
    scores = {id: cosine + weight * lexical.get(id, 0.0) / best for id, cosine in cosines.items()}
    found = [(id, score) for id, score in scores.items() if score > 0]
    return sorted(found, key=lambda item: (-item[1], item[0]))


def node_weights(
    facts: list[tuple[int, float]],
    ends: Mapping[int, tuple[int, int]],
    exact: Mapping[int, float],
    documents: Mapping[int, int],
    tuning: Tuning,
) -> dict[int, float]:
    """Reset weight per node: the mean score of its chosen facts over its document count, and exact names.

    Args:
        facts: chosen (fact, score), best first.
        ends: subject and object of each.
        exact: nodes that the question names, with their score.
        documents: number of documents naming each node.
    """
    scores: dict[int, list[float]] = {}
    for fact, score in facts:
        for node in set(ends[fact]):
            scores.setdefault(node, []).append(max(score, 0.0))
    weights = {node: sum(found) / len(found) for node, found in scores.items()}
    for node, score in exact.items():
        weights[node] = weights.get(node, 0.0) + score
    if tuning.specificity:
        weights = {node: weight / max(1, documents.get(node, 1)) for node, weight in weights.items()}
    kept = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[: tuning.nodes]
    return {node: weight for node, weight in kept if weight > 0}


def passage_weights(passages: list[tuple[int, float]], tuning: Tuning) -> dict[int, float]:
    """Reset weight per passage: its score scaled to [0, 1] among the chosen, times the passage weight."""
    chosen = passages[: tuning.passages]
    if not chosen:
        return {}
    low, high = chosen[-1][1], chosen[0][1]
    spread = (high - low) or 1.0
    return {
        passage: tuning.passage_weight * ((score - low) / spread if high > low else 1.0)
        for passage, score in chosen
        if score > low or high == low
    }
