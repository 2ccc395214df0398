"""H-a, H-a-scale: two-hop facts by the walk, beside the memory's own search, dense search and BM25; three sizes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from validation import paired
from validation.result import Goal, Measured

from ._h_words import Names, Triple, TwoHop, distractors, sentence, two_hops
from ._memory import Memory, open_memory
from ._memory_retrieval_data import BM25

ITEMS = 150
SIZES = (500, 2_000, 8_000)
SEED = 23
K = 10
Arm = Callable[[str], Sequence[Triple]]


def run(context: Any) -> Measured:
    """The same questions against more and more facts; right = both facts of the chain among the first ten."""
    items_n, sizes = (40, (200, 600)) if context.quick else (ITEMS, SIZES)
    names = Names(SEED)
    items = two_hops(names, items_n)
    facts = [fact for item in items for fact in (item.first, item.second)]
    figures: dict[str, Any] = {"right": f"both facts among the first {K}", "k": K}
    with open_memory() as memory:
        memory.call("memory.ingest", triples=facts, source="h-a")
        for size in sizes:
            more = distractors(names, size - len(facts))
            context.progress(f"{size} facts")
            if more:
                memory.call("memory.ingest", triples=more, source=f"others-{size}")
                facts += more
            figures[f"facts_{size}"] = _measure(context, memory, items, facts)
    return _measured(figures, sizes, items_n)


def _measured(figures: dict[str, Any], sizes: Sequence[int], n: int) -> Measured:
    small, large = (figures[f"facts_{size}"] for size in (sizes[0], sizes[-1]))
    figures["small"], figures["large"] = small["walk minus search"], large["walk minus search"]
    walk = {size: figures[f"facts_{size}"]["walk"]["percent"] for size in sizes}
    kept = round(walk[sizes[-1]] - walk[sizes[0]], 1)
    return Measured(
        headline=f"both facts of a two-hop question in ten: walk {walk[sizes[0]]} %, "
        f"search {small['search']['percent']} %, dense {small['dense']['percent']} %, "
        f"BM25 {small['bm25']['percent']} % at {sizes[0]} facts; walk {walk[sizes[-1]]} % at {sizes[-1]}",
        figures=figures,
        goals=[
            Goal(
                "walk above search, lower end of the interval, smallest store",
                "> 0 points",
                figures["small"]["ci95_points"][0],
                figures["small"]["ci95_points"][0] > 0,
            ),
            Goal(f"walk at {sizes[-1]} facts against {sizes[0]}", ">= -5 points", kept, kept >= -5),
        ],
        n=n,
        seed=SEED,
        notes=["invented names; what the walk is for: the second fact shares no word with the question"],
    )


def _measure(context: Any, memory: Memory, items: Sequence[TwoHop], facts: Sequence[Triple]) -> dict[str, Any]:
    texts = [sentence(fact) for fact in facts]
    bm25 = BM25(texts)
    arms: dict[str, Arm] = {
        "walk": _recall(memory, "ppr"),
        "search": _recall(memory, "seeds"),
        "dense": _dense(memory, texts, facts),
        "bm25": lambda question: [facts[i] for i in bm25.top(question, K)],
    }
    right: dict[str, list[bool]] = {}
    for name, arm in arms.items():
        context.progress(f"asking {len(items)} questions: {name}")
        right[name] = [{item.first, item.second} <= set(arm(item.question)[:K]) for item in items]
    figures: dict[str, Any] = {name: paired.share(sum(found), len(found)) for name, found in right.items()}
    for other in ("search", "dense", "bm25"):
        figures[f"walk minus {other}"] = paired.difference(right["walk"], right[other])
    return figures


def _recall(memory: Memory, mode: str) -> Arm:
    def ask(question: str) -> Sequence[Triple]:
        found = memory.call("memory.recall", query=question, k=K, mode=mode).data.facts
        return [(fact.subject, fact.relation, fact.object) for fact in found]

    return ask


def _dense(memory: Memory, texts: Sequence[str], facts: Sequence[Triple]) -> Arm:
    embedder = memory.actor.embeddings.embedder
    assert embedder is not None
    matrix = np.vstack([embedder.embed(texts[at : at + 64], "passage") for at in range(0, len(texts), 64)])

    def ask(question: str) -> Sequence[Triple]:
        scores = matrix @ embedder.as_query(embedder.embed([question], "node")[0], question)
        return [facts[i] for i in np.argsort(-scores, kind="stable")[:K].tolist()]

    return ask
