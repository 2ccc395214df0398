"""Hashed character n-grams and words: no model, no dependency; knows spelling, not meaning. The last resort."""

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..text import normal, words
from ..vectors import Block
from .base import Floats, Kind, unit

SIZES: Final = (3, 4, 5)
WORD_WEIGHT: Final = 2.0


class Hashing:
    """`hash:DIMENSION`; deterministic on every platform (CRC-32)."""

    name = "hash"
    batch = 512

    def __init__(self, dimension: int = 1024) -> None:
        self.dimension = dimension
        self.name = f"hash:{dimension}"
        self.fingerprint = f"hash-{dimension}-1"
        self.links = (Block(0, dimension, 0.85),)

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:  # noqa: ARG002 - one space for all kinds
        """Vectors (n, dimension); a text without a word gives zero."""
        result = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(result, texts, strict=True):
            self._fill(row, text)
        return unit(result)

    def as_query(self, vector: Floats, text: str) -> Floats:  # noqa: ARG002 - nothing depends on the text
        """The vector itself."""
        return vector

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:  # noqa: ARG002 - one space for all languages
        """Nothing beside."""
        return None

    def _fill(self, row: Floats, text: str) -> None:
        for word in words(normal(text)):
            padded = f"<{word}>"
            self._hit(row, padded, WORD_WEIGHT)
            for size in SIZES:
                for start in range(len(padded) - size + 1):
                    self._hit(row, padded[start : start + size], 1.0)

    def _hit(self, row: Floats, piece: str, weight: float) -> None:
        code = zlib.crc32(piece.encode())
        row[(code >> 1) % self.dimension] += weight if code & 1 else -weight
