"""Aliases made of common words: what was taught is recalled, and nothing else is taken for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from actors.memory.text import STOP_WORDS
from validation.result import Goal, Measured

from ._memory import Memory, open_memory
from ._memory_alias_data import COMMON, GENERAL, TAUGHT, pairs
from ._memory_statistics import wilson

UNRELATED = 500
SEED = 5
Pair = tuple[str, str]


def run(context: Any) -> Measured:
    """Split the aliases in two halves; the gate's constants were chosen on the first, the second is reported."""
    everything = pairs()
    order = np.random.default_rng(SEED).permutation(len(everything)).tolist()
    half = len(everything) // 2
    first, second = ([everything[i] for i in part] for part in (order[:half], order[half:]))
    figures: dict[str, Any] = {"aliases": len(everything), "split": "by seed; the gate was chosen on `chosen on` alone"}
    figures["chosen on"] = _measure(
        context, first[:12] if context.quick else first, UNRELATED // (20 if context.quick else 2)
    )
    figures["reported"] = _measure(
        context, second[:12] if context.quick else second, UNRELATED // (20 if context.quick else 2)
    )
    figures["all taught at once"] = _measure(
        context, everything[:24] if context.quick else everything, UNRELATED // (10 if context.quick else 1)
    )
    reported, whole = figures["reported"], figures["all taught at once"]
    recalled, wrong = reported["recalled"]["share"], reported["false"]["share"]
    all_recalled, all_wrong = whole["recalled"]["share"], whole["false"]["share"]
    goals = [
        Goal("taught alias recalled, held-out half", ">= 0.90", recalled, recalled >= 0.9),
        Goal("false learned_as, held-out half", "< 0.02", wrong, wrong < 0.02),
        Goal("taught alias recalled, all taught", ">= 0.90", all_recalled, all_recalled >= 0.9),
        Goal("false learned_as, all taught", "< 0.02", all_wrong, all_wrong < 0.02),
    ]
    headline = f"aliases recalled {recalled:.1%}, false learned_as {wrong:.1%} (held-out half); "
    headline += f"all {len(everything)} taught: {all_recalled:.1%}, {all_wrong:.1%}"
    return Measured(headline=headline, figures=figures, goals=goals, n=len(everything), seed=SEED)


def _measure(context: Any, taught: Sequence[Pair], unrelated: int) -> dict[str, Any]:
    with open_memory() as memory:
        context.progress(f"teaching {len(taught)} aliases")
        memory.call("memory.ingest", triples=[[entity, "is", "an entity"] for _, entity in taught], source="aliases")
        for alias, entity in taught:
            memory.call("memory.update", query=alias, node=entity)
        context.progress("asking for them")
        asked = [(_asked(alias, i), entity) for i, (alias, entity) in enumerate(taught)]
        exact = [(alias, entity) for alias, entity in taught]
        hits = [_learned(memory, question)[:1] == [entity] for question, entity in asked + exact]
        context.progress(f"asking {unrelated} unrelated questions")
        questions = _common(taught, unrelated)
        false = [(question, found) for question in questions if (found := _learned(memory, question))]
    by_template = {
        form: _share([hit for i, hit in enumerate(hits[: len(asked)]) if i % len(TAUGHT) == j])
        for j, form in enumerate(TAUGHT)
    }
    return {
        "recalled": {"n": len(hits), "share": _share(hits), "interval 95 %": wilson(sum(hits), len(hits))},
        "recalled by form": by_template,
        "false": {
            "n": len(questions),
            "share": round(len(false) / len(questions), 4),
            "interval 95 %": wilson(len(false), len(questions)),
            "examples": [{"question": question, "taken for": found} for question, found in false[:10]],
        },
    }


def _share(hits: Sequence[bool]) -> float:
    return round(float(np.mean(hits)), 4) if hits else 0.0


def _asked(alias: str, i: int) -> str:
    return TAUGHT[i % len(TAUGHT)].format(alias=alias, bare=alias.removeprefix("the "))


def _common(taught: Sequence[Pair], count: int) -> list[str]:
    """Questions around the aliases' own words, and some general ones."""
    questions: list[str] = list(GENERAL)
    place = 0
    while len(questions) < count:
        alias = taught[place % len(taught)][0]
        telling = [word for word in alias.split() if word not in STOP_WORDS] or alias.split()
        template = COMMON[(place + place // len(taught)) % len(COMMON)]
        questions.append(template.format(first=telling[0] if len(telling) > 1 else "good", last=telling[-1]))
        place += 1
    return questions


def _learned(memory: Memory, question: str) -> list[str]:
    return [found.node for found in memory.call("memory.recall", query=question, k=5).data.learned_as]
