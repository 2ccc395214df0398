"""When something taught may speak: never on chance overlap, never on common words met in another order.

With T pairs taught, the best overlap that an unrelated question obtains grows with T (99th percentile 0.28, 0.32,
0.44, 0.61 at T = 100, 300, 1,000, 2,000 with 20,000 cells), so a fixed threshold leaks. A taught phrase speaks
when the question says it (its words in a row, not after "a" or "my"), or when the whole question's
code overlaps far above chance, clearly ahead of the next node, and shares the phrase's rare words.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from .text import STOP_WORDS, words

DETERMINERS: Final = frozenset(
    """
    a an another any both each either every few five four her his its many more most much my neither no one other
    our several six some such ten that their these this those three two what which whose your
    """.split()  # noqa: SIM905 - sixty quoted words are no easier to read
)
"""Words before a noun that mean any such thing, where a taught name means one: "a big apple" is not "the big apple"."""


class Gate(Struct, frozen=True, kw_only=True):
    """The gate's constants, chosen on one half of `validation/benchmarks/aliases.py`, reported on the other.

    Attributes:
        base, growth: least overlap of a whole question = base + growth * log10(1 + taught).
        margin: least lead over the best other node.
        coverage: least share of the phrase's telling words, by rarity, that the question must have.
        certain: an overlap from which margin and coverage are not asked for.
        said: least strength of a phrase that the question says.
        alone: largest share of documents that may hold the one telling word of a phrase said within a question.
    """

    base: float = 0.30
    growth: float = 0.08
    margin: float = 0.05
    coverage: float = 0.75
    certain: float = 0.90
    said: float = 0.10
    alone: float = 0.01


class Candidate(Struct, frozen=True, kw_only=True):
    """A taught node as it looks to one question.

    Attributes:
        strength: weight of the best example's own cells, 0 to 1. overlap: weight of the question's cells, 0 to 1.
        lead: overlap minus that of the best other node.
    """

    node: int
    example: str
    strength: float
    overlap: float
    lead: float


def opens(candidate: Candidate, question: str, frequency: Mapping[str, float], taught: int, gate: Gate) -> float:
    """How strongly a taught node may speak, 0 (not at all) to 1.

    Args:
        frequency: share of stored documents that hold each telling word of the example, 0 to 1.
        taught: number of pairs taught in all.
    """
    if says(question, candidate.example, frequency, gate):
        return candidate.strength if candidate.strength >= gate.said else 0.0
    if candidate.overlap >= gate.certain:
        return candidate.overlap
    if candidate.overlap < gate.base + gate.growth * math.log10(1 + taught) or candidate.lead < gate.margin:
        return 0.0
    return candidate.overlap if coverage(question, candidate.example, frequency) >= gate.coverage else 0.0


def says(question: str, example: str, frequency: Mapping[str, float], gate: Gate) -> bool:
    """Whether a question says a taught phrase: its words in a row, and not after a word like "a" or "my".

    A single word must stand alone or after the phrase's own article: "the boot", but not "a good boot".
    """
    said, whole = plain(question), plain(example)
    if said == whole:
        return True
    core = trimmed(whole)
    if not core or (len(core) == 1 and frequency.get(core[0], 0.0) > gate.alone):
        return False
    for start in range(len(said) - len(core) + 1):
        if said[start : start + len(core)] == core:
            before = said[start - 1] if start else ""
            if before in whole or not before or (len(core) > 1 and before not in DETERMINERS):
                return True
    return False


def trimmed(phrase: Sequence[str]) -> list[str]:
    """A phrase without its article: "the big apple" is "big apple"."""
    return list(phrase[1:]) if len(phrase) > 1 and phrase[0] in {"the", "a", "an"} else list(phrase)


def coverage(question: str, example: str, frequency: Mapping[str, float]) -> float:
    """Share of the example's telling words that the question has, each weighed by how rare it is in the store."""
    phrase, said = set(telling(example)), set(plain(question))
    weight = {word: -math.log(max(frequency.get(word, 0.0), 1e-6)) + 0.1 for word in phrase}
    return sum(weight[word] for word in phrase & said) / sum(weight.values()) if phrase else 0.0


def plain(text: str) -> list[str]:
    """The words of a text without possessive endings."""
    return [word.removesuffix("'s").removesuffix("’s") for word in words(text)]  # noqa: RUF001


def telling(text: str) -> list[str]:
    """The words that are no stop words, in order."""
    return [word for word in plain(text) if word not in STOP_WORDS]
