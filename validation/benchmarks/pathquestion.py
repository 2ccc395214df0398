"""Paths in a knowledge graph: the share of a multi-hop question's gold facts among the first ten recalled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from validation.result import Goal, Measured, data

from ._memory import Memory, open_memory
from ._memory_retrieval_data import bootstrap

SETS = {"2 hops": ("2H-kb", "PQ-2H"), "3 hops": ("3H-kb", "PQ-3H")}
ASKED = 500
SEED = 7
Fact = tuple[str, str, str]


class Question(Struct, frozen=True):
    text: str
    path: frozenset[Fact]


def run(context: Any) -> Measured:
    """For each set: store its facts, ask 500 of its questions drawn by seed, count gold facts in the first ten."""
    figures: dict[str, Any] = {
        "settings": "as chosen on MuSiQue-train-100; nothing was changed for this set",
        "question": "as published; the topic entity is found by the memory itself in the question's words",
    }
    for name, (facts, questions) in SETS.items():
        figures[name] = _measure(context, name, facts, questions)
    two, three = (figures[name]["ppr"]["path recall@10"] for name in SETS)
    goals = [
        Goal("path recall@10, 2 hops", "100 %", two, two >= 99.95),
        Goal("path recall@10, 3 hops", ">= 90 %", three, three >= 90),
    ]
    headline = f"PathQuestion path recall@10: 2 hops {two} %, 3 hops {three} %"
    return Measured(headline=headline, figures=figures, goals=goals, n=2 * ASKED, seed=SEED)


def _measure(context: Any, name: str, facts: str, asked: str) -> dict[str, Any]:
    lines = data(f"retrieval/pathquestion/{facts}.txt").read_text(encoding="utf-8").splitlines()
    triples = [line.split("\t") for line in lines if line.strip()]
    questions = _questions(asked)
    rng = np.random.default_rng(SEED)
    chosen = [questions[i] for i in rng.permutation(len(questions))[: 60 if context.quick else ASKED]]
    with open_memory() as memory:
        context.progress(f"{name}: storing {len(triples)} facts")
        memory.call("memory.ingest", triples=[[_shown(part) for part in triple] for triple in triples], source=facts)
        context.progress(f"{name}: asking {len(chosen)} questions")
        result: dict[str, Any] = {"facts": len(triples), "n": len(chosen)}
        for mode in ("seeds", "ppr"):
            result[mode] = _score(memory, chosen, mode)
    return result


def _questions(name: str) -> list[Question]:
    found: list[Question] = []
    for line in data(f"retrieval/pathquestion/{name}.txt").read_text(encoding="utf-8").splitlines():
        text, _, path = line.split("\t")
        steps = path.split("#<end>")[0].split("#")
        triples = [(steps[i], steps[i + 1], steps[i + 2]) for i in range(0, len(steps) - 2, 2)]
        found.append(Question(_shown(text), frozenset(_key(triple) for triple in triples)))
    return found


def _shown(text: str) -> str:
    """Names as people write them: the sets join words by underscores."""
    return text.replace("_", " ")


def _key(triple: Sequence[str]) -> Fact:
    s, r, o = (_shown(part).casefold() for part in triple)
    return s, r, o


def _score(memory: Memory, questions: Sequence[Question], mode: str) -> dict[str, Any]:
    at: dict[int, list[float]] = {5: [], 10: []}
    for question in questions:
        facts = memory.call("memory.recall", query=question.text, k=10, mode=mode).data.facts
        keys = [_key((fact.subject, fact.relation, fact.object)) for fact in facts]
        for k, scores in at.items():
            scores.append(len(set(keys[:k]) & question.path) / len(question.path))
    found = {f"path recall@{k}": round(100 * float(np.mean(scores)), 1) for k, scores in at.items()}
    return found | {"@10 interval 95 %": [round(100 * x, 1) for x in bootstrap(at[10])]}
