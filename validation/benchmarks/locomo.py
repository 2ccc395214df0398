"""Long conversations: the share of a question's evidence turns among the first five recalled, beside BM25."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from protocol.actions.memory import Passage
from validation.result import Goal, Measured, data

from ._memory import Memory, open_memory
from ._memory_retrieval_data import BM25, bootstrap

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
KS = (5, 10)
_TURN = re.compile(r"D\d+:\d+")


class Turn(Struct, frozen=True):
    id: str
    text: str


class Asked(Struct, frozen=True):
    question: str
    category: int
    evidence: frozenset[str]


class Conversation(Struct, frozen=True):
    turns: list[Turn]
    asked: list[Asked]


def run(context: Any) -> Measured:
    """Each conversation in a memory of its own, every turn a passage of its session's date, no model that reads."""
    conversations = _conversations()[: 1 if context.quick else 5]
    scores: dict[str, dict[int, list[list[float]]]] = {
        name: {c: [] for c in CATEGORIES} for name in ("BM25", "ppr", "seeds")
    }
    for number, one in enumerate(conversations):
        context.progress(f"conversation {number + 1}: {len(one.turns)} turns, {len(one.asked)} questions")
        _measure(one, scores)
    figures: dict[str, Any] = {
        "protocol": "turn level; evidence ids in one string are taken apart; questions without any are left out",
        **{name: _summary(found) for name, found in scores.items()},
    }
    ours, theirs = figures["ppr"]["all"]["R@5"], figures["BM25"]["all"]["R@5"]
    goals = [Goal("turn-level R@5, all categories", "> BM25", ours, ours > theirs)]
    hop = figures["ppr"]["multi-hop"]["R@5"], figures["BM25"]["multi-hop"]["R@5"]
    headline = f"LoCoMo (first five) turn R@5 {ours} (BM25 {theirs}); multi-hop {hop[0]} (BM25 {hop[1]})"
    return Measured(headline=headline, figures=figures, goals=goals, n=figures["ppr"]["all"]["n"])


def _conversations() -> list[Conversation]:
    found: list[Conversation] = []
    for row in json.loads(data("locomo/locomo_first5.json").read_text(encoding="utf-8")):
        talk = row["conversation"]
        turns: list[Turn] = []
        for key in sorted((k for k in talk if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k.split("_")[1])):
            date = talk.get(f"{key}_date_time", "")
            turns += [Turn(turn["dia_id"], f"{turn['speaker']} ({date}): {turn.get('text', '')}") for turn in talk[key]]
        ids = {turn.id for turn in turns}
        asked = [
            Asked(qa["question"], qa["category"], frozenset(_TURN.findall(" ".join(qa.get("evidence", [])))) & ids)
            for qa in row["qa"]
        ]
        found.append(Conversation(turns, [one for one in asked if one.evidence]))
    return found


def _measure(one: Conversation, scores: dict[str, dict[int, list[list[float]]]]) -> None:
    bm25 = BM25([turn.text for turn in one.turns])
    with open_memory() as memory:
        passages = [Passage(text=turn.text, id=turn.id) for turn in one.turns]
        memory.call("memory.ingest", passages=passages, source="talk")
        for asked in one.asked:
            ranked = {
                "BM25": [one.turns[i].id for i in bm25.top(asked.question, KS[-1])],
                "ppr": _recalled(memory, asked.question, "ppr"),
                "seeds": _recalled(memory, asked.question, "seeds"),
            }
            for name, ids in ranked.items():
                scores[name][asked.category].append(
                    [len(set(ids[:k]) & asked.evidence) / len(asked.evidence) for k in KS]
                )


def _recalled(memory: Memory, question: str, mode: str) -> list[str]:
    hits = memory.call("memory.recall", query=question, k=KS[-1], mode=mode).data.passages
    return [hit.id or "" for hit in hits]


def _summary(found: dict[int, list[list[float]]]) -> dict[str, Any]:
    parts = {CATEGORIES[category]: rows for category, rows in found.items()}
    parts["all"] = [row for rows in found.values() for row in rows]
    return {name: _share(rows) for name, rows in parts.items() if rows}


def _share(rows: Sequence[Sequence[float]]) -> dict[str, Any]:
    at = {f"R@{k}": round(100 * float(np.mean([row[i] for row in rows])), 1) for i, k in enumerate(KS)}
    return {"n": len(rows), **at, "R@5 interval 95 %": [round(100 * x, 1) for x in bootstrap([row[0] for row in rows])]}
