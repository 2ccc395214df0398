"""H-a': the FlyHash code beside exact cosine: the phrase that was meant, from another wording; true neighbours."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from actors.memory.embed import choose
from actors.memory.flyhash import FlyHash
from actors.memory.vectors import quantise
from validation import paired
from validation.result import Goal, Measured

from ._h_words import CHAINS, Names
from ._memory_alias_data import pairs

SEED = 41
FACTS = 600
NEIGHBOURS = 10
MARGIN = -5.0
Codes = npt.NDArray[np.int8]


def changed(text: str, rng: random.Random) -> str:
    """The phrase as someone else would ask: within a question, with two letters exchanged."""
    place = rng.randrange(1, max(2, len(text) - 2))
    typed = text[:place] + text[place + 1 : place + 2] + text[place] + text[place + 2 :]
    return rng.choice(("where is {}?", "tell me about {}", "what do we know of {}?", "is there news of {}")).format(
        typed
    )


def run(context: Any) -> Measured:
    """Both rankings over the same int8 vectors; right = the phrase that was meant comes first.

    The whole takes less than a minute, and the goal is on the end of an interval: a part would miss it by its size.
    """
    names, rng = Names(SEED), random.Random(SEED)
    phrases = [alias for alias, _ in pairs()]
    phrases += [f"{names.one()} {CHAINS[i % len(CHAINS)][0]} {names.one()}" for i in range(FACTS)]
    asked = [changed(phrase, rng) for phrase in phrases]
    context.progress(f"embedding {2 * len(phrases)} phrases")
    embedder = choose.load("")
    stored, questions = (_embed(embedder, texts) for texts in (phrases, asked))
    fly = FlyHash(stored.shape[1])
    context.progress("codes")
    overlap = _overlaps(fly, questions, stored)
    cosine = _cosine(questions, stored)
    first = {"flyhash": overlap.argmax(axis=1), "cosine": cosine.argmax(axis=1)}
    right = {name: [bool(at == i) for i, at in enumerate(found.tolist())] for name, found in first.items()}
    shared = _shared(_overlaps(fly, stored, stored), _cosine(stored, stored))
    gap = paired.difference(right["flyhash"], right["cosine"])
    return Measured(
        headline=f"phrase found first: FlyHash {100 * np.mean(right['flyhash']):.1f} %, cosine "
        f"{100 * np.mean(right['cosine']):.1f} % of {len(phrases)}; {shared['mean']} of {NEIGHBOURS} neighbours shared",
        figures={
            "embedder": embedder.name,
            "flyhash": paired.share(sum(right["flyhash"]), len(phrases)),
            "cosine": paired.share(sum(right["cosine"]), len(phrases)),
            "flyhash minus cosine": gap,
            "true neighbours shared": shared,
            "code": {"cells": fly.cells, "active": fly.active, "fan_in": fly.fan_in},
        },
        goals=[
            Goal(
                "FlyHash no more than 5 points below cosine (lower end of the interval)",
                f">= {MARGIN} points",
                gap["ci95_points"][0],
                gap["ci95_points"][0] >= MARGIN,
            )
        ],
        n=len(phrases),
        seed=SEED,
    )


def _embed(embedder: Any, texts: Sequence[str]) -> Codes:
    return np.vstack([quantise(embedder.embed(list(texts[at : at + 64]), "node")) for at in range(0, len(texts), 64)])


def _cosine(one: Codes, other: Codes) -> npt.NDArray[np.float32]:
    a, b = (x.astype(np.float32) / np.linalg.norm(x.astype(np.float32), axis=1, keepdims=True) for x in (one, other))
    return a @ b.T


def _overlaps(fly: FlyHash, one: Codes, other: Codes) -> npt.NDArray[np.float32]:
    """Cells that two codes share, for every pair: (len(one), len(other))."""

    def marked(vectors: Codes) -> npt.NDArray[np.float32]:
        marks = np.zeros((len(vectors), fly.cells), np.float32)
        for row, vector in zip(marks, vectors, strict=True):
            row[fly.code(vector)] = 1
        return marks

    return marked(one) @ marked(other).T


def _shared(overlap: npt.NDArray[np.float32], cosine: npt.NDArray[np.float32]) -> dict[str, Any]:
    """How many of the ten nearest by cosine are among the ten that overlap most."""
    nearest = [np.argsort(-scores, axis=1, kind="stable")[:, 1 : NEIGHBOURS + 1] for scores in (overlap, cosine)]
    return paired.mean_interval(
        [float(len(set(a) & set(b))) for a, b in zip(*(x.tolist() for x in nearest), strict=True)]
    )
