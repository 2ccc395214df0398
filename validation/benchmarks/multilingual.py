"""Facts asked for in other languages, with typing errors and by invented names: recall@5 beside BM25, per embedder."""

from collections.abc import Sequence
from typing import Any

from validation.result import Goal, Measured

from ._memory import open_memory
from ._memory_language_data import sets
from ._memory_retrieval_data import BM25
from ._memory_statistics import wilson

EMBEDDERS = ("pair", "minilm", "use", "hash")
Row = tuple[str, str, str, str]


def run(context: Any) -> Measured:
    """All facts stored together; each question must bring its own fact among the first five."""
    everything = sets()
    facts = [row for rows in everything.values() for row in rows]
    bm25 = BM25([" ".join(row[:3]) for row in facts])
    figures: dict[str, Any] = {"facts": len(facts)}
    figures["BM25"] = _summary(everything, lambda row: [facts[i][:3] for i in bm25.top(row[3], 5)])
    for choice in EMBEDDERS[:1] if context.quick else EMBEDDERS:
        figures[choice] = _measure(context, everything, facts, choice)
    ours, theirs = figures["pair"]["all"]["recall@5"], figures["BM25"]["all"]["recall@5"]
    foreign = figures["pair"]["other languages"]["recall@5"]
    goals = [
        Goal("recall@5, all three sets", "> BM25", ours, ours > theirs),
        Goal("recall@5, other languages", ">= 0.85", foreign, foreign >= 0.85),
    ]
    parts = ", ".join(f"{name} {figures['pair'][name]['recall@5']:.2f}" for name in everything)
    return Measured(
        headline=f"recall@5 {ours:.3f} (BM25 {theirs:.3f}): {parts}", figures=figures, goals=goals, n=len(facts)
    )


def _measure(context: Any, everything: dict[str, list[Row]], facts: Sequence[Row], choice: str) -> dict[str, Any]:
    context.progress(f"{choice}: storing {len(facts)} facts and asking")
    with open_memory(choice=choice) as memory:
        memory.call("memory.ingest", triples=[list(row[:3]) for row in facts], source="languages")

        def ask(row: Row) -> list[tuple[str, ...]]:
            found = memory.call("memory.recall", query=row[3], k=5).data.facts
            return [(fact.subject, fact.relation, fact.object) for fact in found]

        return _summary(everything, ask)


def _summary(everything: dict[str, list[Row]], ask: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    hits: list[bool] = []
    first: list[bool] = []
    for name, rows in everything.items():
        found = [[tuple(part.casefold() for part in fact) for fact in ask(row)] for row in rows]
        wanted = [tuple(part.casefold() for part in row[:3]) for row in rows]
        at5 = [want in got for want, got in zip(wanted, found, strict=True)]
        at1 = [want in got[:1] for want, got in zip(wanted, found, strict=True)]
        figures[name] = _share(at5, at1)
        hits += at5
        first += at1
    return figures | {"all": _share(hits, first)}


def _share(at5: Sequence[bool], at1: Sequence[bool]) -> dict[str, Any]:
    n = len(at5)
    return {
        "n": n,
        "recall@1": round(sum(at1) / n, 4),
        "recall@5": round(sum(at5) / n, 4),
        "recall@5 interval 95 %": wilson(sum(at5), n),
    }
