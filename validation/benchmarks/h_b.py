"""H-b: aliases learned in fifteen lessons, all asked again after each; beside a dense layer trained the usual way."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from validation import paired
from validation.result import Goal, Measured

from ._h_words import Names
from ._memory import Memory, open_memory

LESSONS, EACH = 15, 10
SEED = 31
EPOCHS, RATE = 40, 0.5
ADJECTIVES = ("amber", "brisk", "crooked", "distant", "early", "frozen", "gentle", "humble", "ivory", "jagged")
NOUNS = (
    "anchor", "basket", "candle", "drum", "engine", "feather", "glove", "hammer", "island", "jacket", "kettle",
    "ladder", "mirror", "needle", "orchard",
)  # fmt: skip
Floats = npt.NDArray[np.float64]


class DenseLayer:
    """Softmax regression on the same vectors, trained by gradient descent on one lesson at a time."""

    def __init__(self, dimension: int, classes: int) -> None:
        self._weights: Floats = np.zeros((classes, dimension))

    def learn(self, vectors: Floats, labels: Sequence[int]) -> None:
        """Fit one lesson, as if it were all there is."""
        wanted = np.eye(len(self._weights))[list(labels)]
        for _ in range(EPOCHS):
            scores = vectors @ self._weights.T
            chance = np.exp(scores - scores.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
            self._weights -= RATE * (chance - wanted).T @ vectors

    def answers(self, vectors: Floats) -> list[int]:
        """The class of each."""
        return (vectors @ self._weights.T).argmax(axis=1).tolist()


def run(context: Any) -> Measured:
    """Teach lesson by lesson; right = the taught entity comes first when its phrase is asked."""
    lessons = 4 if context.quick else LESSONS
    names = Names(SEED)
    phrases = [f"the {adjective} {noun}" for noun in NOUNS[:lessons] for adjective in ADJECTIVES[:EACH]]
    order = np.random.default_rng(SEED).permutation(len(phrases)).tolist()
    phrases = [phrases[i] for i in order]
    entities = [names.one() for _ in phrases]
    with open_memory() as memory:
        memory.call("memory.ingest", triples=[[entity, "is", "an entity"] for entity in entities], source="h-b")
        embedder = memory.actor.embeddings.embedder
        assert embedder is not None
        vectors = embedder.embed(phrases, "node").astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        figures = _lessons(context, memory, phrases, entities, vectors)
    return _measured(figures, len(phrases))


def _lessons(
    context: Any, memory: Memory, phrases: Sequence[str], entities: Sequence[str], vectors: Floats
) -> dict[str, Any]:
    dense = DenseLayer(vectors.shape[1], len(phrases))
    fresh: dict[str, list[bool]] = {"memory": [], "dense": []}
    curve: list[dict[str, Any]] = []
    last: dict[str, list[bool]] = {}
    for start in range(0, len(phrases), EACH):
        lesson = range(start, start + EACH)
        for i in lesson:
            memory.call("memory.update", query=phrases[i], node=entities[i])
        dense.learn(vectors[list(lesson)], list(lesson))
        known = range(start + EACH)
        guessed = dense.answers(vectors[: start + EACH])
        last = {
            "memory": [_first(memory, phrases[i]) == entities[i] for i in known],
            "dense": [guessed[i] == i for i in known],
        }
        for name, right in last.items():
            fresh[name] += right[start:]
        curve.append({"taught": start + EACH, **{name: sum(right) for name, right in last.items()}})
        context.progress(f"{start + EACH} taught: memory {sum(last['memory'])}, dense layer {sum(last['dense'])}")
    return {
        "curve": curve,
        "just after its lesson": {name: paired.share(sum(right), len(right)) for name, right in fresh.items()},
        "after all lessons": {name: paired.share(sum(right), len(right)) for name, right in last.items()},
        "forgotten by the memory": paired.difference(fresh["memory"], last["memory"]),
        "forgotten by the dense layer": paired.difference(fresh["dense"], last["dense"]),
        "memory minus dense": paired.difference(last["memory"], last["dense"]),
    }


def _first(memory: Memory, phrase: str) -> str:
    learned = memory.call("memory.recall", query=phrase, k=5).data.learned_as
    return learned[0].node if learned else ""


def _measured(figures: dict[str, Any], n: int) -> Measured:
    kept, dense = (figures["after all lessons"][name]["percent"] for name in ("memory", "dense"))
    lost = figures["forgotten by the memory"]["points"]
    return Measured(
        headline=f"{n} aliases in lessons of {EACH}: right at the end {kept} %, dense layer {dense} %; "
        f"forgotten {lost} points",
        figures=figures,
        goals=[
            Goal("right after all lessons", ">= 95 %", kept, kept >= 95),
            Goal("forgotten since its own lesson", "<= 2 points", lost, lost <= 2),
        ],
        n=n,
        seed=SEED,
        notes=[f"the dense layer: softmax regression on the same vectors, {EPOCHS} full steps a lesson, rate {RATE}"],
    )
