"""Learning that does not forget: retention under many updates, beside a store that overwrites; the rest frozen."""

import hashlib
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from validation.result import Goal, Measured

from ._memory import Memory, open_memory
from ._memory_retrieval_data import musique

CUES = 50
UNRELATED = 2_000
OVERLAPPING = 300
RECALLS = 1_000
SEED = 11
ADJECTIVES = ("red", "old", "small", "quiet", "narrow", "northern", "hidden", "broken", "wooden", "empty")
NOUNS = ("gate", "bridge", "cellar", "tower", "garden", "harbour")
PLACES = ("by the mill", "near the chapel", "behind the market", "under the hill", "at the lake")


def run(context: Any) -> Measured:
    """Teach cues, then much else; ask for the cues again."""
    unrelated, overlapping, recalls = (100, 60, 50) if context.quick else (UNRELATED, OVERLAPPING, RECALLS)
    figures: dict[str, Any] = {}
    with open_memory() as memory:
        figures["unrelated"] = _unrelated(context, memory, unrelated)
        figures["recalls"] = _recalls(context, memory, recalls)
    with open_memory() as memory:
        figures["overlapping"] = _overlapping(context, memory, overlapping)
    kept, close = figures["unrelated"]["retention"], figures["overlapping"]["retention"]
    changed = figures["unrelated"]["other weights changed"] + figures["overlapping"]["other weights changed"]
    rows = figures["recalls"]["changed"]
    goals = [
        Goal(f"retention after {unrelated} unrelated updates", ">= 0.99", kept, kept >= 0.99),
        Goal(f"retention after {overlapping} high-overlap updates", ">= 0.95", close, close >= 0.95),
        Goal("weights of other nodes changed by an update", "0", changed, changed == 0),
        Goal(f"rows changed by {recalls} recalls", "0", rows, not rows),
    ]
    baseline = figures["unrelated"]["overwrite baseline retention"]
    headline = f"retention {kept} after {unrelated} updates (overwriting store {baseline}), "
    headline += f"{close} after {overlapping} alike"
    return Measured(headline=headline, figures=figures, goals=goals, n=CUES, seed=SEED)


def _unrelated(context: Any, memory: Memory, count: int) -> dict[str, Any]:
    public = musique()
    phrases = [item.question for item in public.items]
    triples = [t for p in public.passages for t in p.triples if len(t) == 3]
    facts = [" ".join(t) for t in triples if all(isinstance(part, str) for part in t)]
    rng = np.random.default_rng(SEED)
    picked = [facts[i] for i in rng.permutation(len(facts))[:count]]
    cues = phrases[:CUES]
    names = [f"answer {i}" for i in range(CUES)] + [f"thing {i}" for i in range(count)]
    context.progress(f"storing {len(names)} entities")
    memory.call("memory.ingest", triples=[[name, "is", "an entity"] for name in names], source="learning")
    overwrite: dict[int, int] = {}
    for i, cue in enumerate(cues):
        memory.call("memory.update", query=cue, node=f"answer {i}")
        overwrite.update(dict.fromkeys(_code(memory, cue), i))
    others = 0
    for i, phrase in enumerate(picked):
        watch = i % 100 == 0
        before = _weights(memory, f"thing {i}") if watch else ""
        memory.call("memory.update", query=phrase, node=f"thing {i}")
        others += int(watch and _weights(memory, f"thing {i}") != before)
        overwrite.update(dict.fromkeys(_code(memory, phrase), CUES + i))
        if i % 500 == 0:
            context.progress(f"taught {i} of {count}")
    right = [_first(memory, cue) == f"answer {i}" for i, cue in enumerate(cues)]
    owned = [_owner(overwrite, _code(memory, cue)) == i for i, cue in enumerate(cues)]
    return {
        "n": CUES,
        "updates": count,
        "retention": round(float(np.mean(right)), 4),
        "overwrite baseline retention": round(float(np.mean(owned)), 4),
        "other weights changed": others,
        "checked": len(range(0, count, 100)),
    }


def _overlapping(context: Any, memory: Memory, count: int) -> dict[str, Any]:
    cues = [f"the {a} {n} {p}" for a, n, p in itertools.product(ADJECTIVES, NOUNS, PLACES)][:count]
    memory.call("memory.ingest", triples=[[f"place {i}", "is", "a place"] for i in range(count)], source="learning")
    context.progress(f"teaching {count} phrases that differ in a word")
    others = 0
    for i, cue in enumerate(cues):
        watch = i % 20 == 0
        before = _weights(memory, f"place {i}") if watch else ""
        memory.call("memory.update", query=cue, node=f"place {i}")
        others += int(watch and _weights(memory, f"place {i}") != before)
    codes = [set(_code(memory, cue)) for cue in cues[:: max(1, count // 60)]]
    shares = [len(a & b) / len(a) for a, b in itertools.combinations(codes, 2)]
    right = [_first(memory, cue) == f"place {i}" for i, cue in enumerate(cues)]
    asked = [_first(memory, f"what is stored in {cue}?") == f"place {i}" for i, cue in enumerate(cues)]
    return {
        "n": count,
        "retention": round(float(np.mean(right)), 4),
        "retention within a question": round(float(np.mean(asked)), 4),
        "mean overlap of codes": round(float(np.mean(shares)), 3),
        "greatest overlap of codes": round(float(np.max(shares)), 3),
        "other weights changed": others,
    }


def _recalls(context: Any, memory: Memory, count: int) -> dict[str, Any]:
    questions = [item.question for item in musique().items]
    before = _content(memory)
    ranks = [str(memory.call("memory.recall", query=q, k=20).data) for q in questions[:20]]
    context.progress(f"asking {count} times")
    for i in range(count):
        memory.call("memory.recall", query=questions[i % len(questions)], k=10)
    same = ranks == [str(memory.call("memory.recall", query=q, k=20).data) for q in questions[:20]]
    return {"recalls": count, "changed": int(_content(memory) != before), "rankings identical": same}


def _first(memory: Memory, query: str) -> str:
    learned = memory.call("memory.recall", query=query, k=5).data.learned_as
    return learned[0].node if learned else ""


def _code(memory: Memory, text: str) -> list[int]:
    store = memory.store()
    assert store.learning is not None
    return store.learning.fly.code(memory.vector(text)).tolist()


def _owner(overwrite: dict[int, int], code: list[int]) -> int:
    owners: npt.NDArray[np.int64] = np.array([overwrite[cell] for cell in code if cell in overwrite])
    return int(np.bincount(owners).argmax()) if len(owners) else -1


def _weights(memory: Memory, besides: str) -> str:
    """A hash over every learned weight of every other node."""
    digest = hashlib.sha256()
    sql = (
        "SELECT a.node, a.cell, a.weight FROM association a JOIN node n ON n.id = a.node WHERE n.name <> ? "
        "ORDER BY a.node, a.cell"
    )
    for row in memory.store().database.rows(sql, (besides,)):
        digest.update(repr(row).encode())
    return digest.hexdigest()


def _content(memory: Memory) -> str:
    """A hash over every table of the memory file."""
    store = memory.store()
    digest = hashlib.sha256()
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' ORDER BY name"
    tables = store.database.rows(sql)
    for (table,) in tables:
        for row in store.database.connection.execute(f'SELECT * FROM "{table}"'):
            digest.update(repr(row).encode())
    return digest.hexdigest()
