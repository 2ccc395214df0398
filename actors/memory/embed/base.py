"""What an embedder is."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from ..vectors import Block

Floats = npt.NDArray[np.float32]
Kind = Literal["node", "fact", "passage"]


class EmbedderError(Exception):
    """An embedder cannot be loaded or does not answer; the message says what to do."""


class Embedder(Protocol):
    """A loaded model. Calls come from one thread at a time.

    Attributes:
        name: as it is chosen in the settings.
        fingerprint: changes with anything that changes a vector: weights, tokenizer, pooling, dimension.
        dimension: length of every vector.
        links: where in the vector, and from which cosine, two names count as synonyms.
        batch: how many texts are handed over at once; progress and cancellation happen in between.
    """

    name: str
    fingerprint: str
    dimension: int
    links: tuple[Block, ...]
    batch: int

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Vectors (n, dimension), each of length 1, or all zero where a text has nothing to embed."""
        ...

    def as_query(self, vector: Floats, text: str) -> Floats:
        """What a question's vector (dimension,) becomes before it is compared with stored ones; mostly itself."""
        ...

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:
        """What it becomes to look among texts of other languages beside that; None where nothing is gained."""
        ...


def unit(vectors: Floats) -> Floats:
    """Each row scaled to length 1; rows that are zero or not finite become zero."""
    clean = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0.0)
    length = np.linalg.norm(clean, axis=1, keepdims=True)
    return (clean / np.where(length > 0, length, 1.0)).astype(np.float32)
