"""Two models side by side: the vector is both, and the question decides how much each of them says.

English questions are MiniLM's, which is far better on them; others are the multilingual model's. Since both halves
are stored, nothing needs to be embedded anew when the share changes.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..text import STOP_WORDS, words
from ..vectors import Block
from .base import Floats, Kind
from .minilm import MiniLM
from .multilingual import Multilingual

SHARE_ENGLISH: Final = 0.0
SHARE_OTHER: Final = 0.85
HALF: Final = np.float32(0.5**0.5)


class Pair:
    """896 dimensions: 384 of MiniLM, then 512 of the multilingual model, each half of length 1/sqrt(2)."""

    name = "pair"
    links = (Block(0, 384, 0.8), Block(384, 896, 0.9))
    batch = 128

    def __init__(self) -> None:
        self._english, self._other = MiniLM(), Multilingual()
        self.fingerprint = f"pair-{self._english.fingerprint}-{self._other.fingerprint}"
        self.dimension = self._english.dimension + self._other.dimension

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Vectors (n, 896), each half of length 1/sqrt(2), so that the whole has length 1."""
        halves = (self._english.embed(texts, kind), self._other.embed(texts, kind))
        return (np.hstack(halves) * HALF).astype(np.float32)

    def as_query(self, vector: Floats, text: str) -> Floats:
        """Both halves weighed, so that the product with a stored vector is the shared cosine."""
        share = foreign_share(text)
        weights = np.full(self.dimension, 2 * share, np.float32)
        weights[: self._english.dimension] = 2 * (1 - share)
        return vector * weights


def foreign_share(text: str) -> float:
    """How much the multilingual model says about a question: more when it does not look English."""
    found = words(text)
    latin = sum(word.isascii() for word in found)
    english = latin == len(found) and any(word in STOP_WORDS for word in found)
    return SHARE_ENGLISH if english or not found else SHARE_OTHER
