"""Two models side by side: the vector is both, and the question decides how much each of them says.

English questions are MiniLM's, which is far better on them; others are the multilingual model's. Since both halves
are stored, nothing needs to be embedded anew when the share changes.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..text import looks_foreign
from ..vectors import Block
from .base import Floats, Kind
from .minilm import MiniLM
from .multilingual import Multilingual

SHARE_ENGLISH: Final = 0.0
SHARE_OTHER: Final = 1.0
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

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:
        """For an English question: the multilingual half alone, which finds texts of other languages."""
        if looks_foreign(text):
            return None
        rescued = vector * np.float32(2.0)
        rescued[: self._english.dimension] = 0.0
        return rescued


def foreign_share(text: str) -> float:
    """How much the multilingual model says about a question: more when it does not look English."""
    return SHARE_OTHER if looks_foreign(text) else SHARE_ENGLISH
