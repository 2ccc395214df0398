"""`static:PATH`: a lookup model, one vector a word: an .npz file with `tokens` (n) and `vectors` (n, dimension)."""

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ..text import normal, words
from ..vectors import Block
from .base import EmbedderError, Floats, Kind, unit

LINK_FLOOR: Final = 0.9


class Static:
    """The mean of the known words' vectors; a text of unknown words alone gives zero."""

    batch = 512

    def __init__(self, path: str) -> None:
        """Read the file.

        Raises:
            EmbedderError: it is not there or not of this form.
        """
        file = Path(path).expanduser()
        try:
            with np.load(file, allow_pickle=False) as held:
                tokens, vectors = held["tokens"], held["vectors"].astype(np.float32)
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise EmbedderError(f"static:{path} cannot be read ({error})") from error
        if vectors.ndim != 2 or len(vectors) != len(tokens):  # noqa: PLR2004 - rows of components
            raise EmbedderError(f"static:{path} needs as many vectors as tokens")
        self._vectors = vectors
        self._rows = {normal(str(token)): row for row, token in enumerate(tokens)}
        self.name = f"static:{path}"
        self.dimension = vectors.shape[1]
        self.fingerprint = f"static-{digest[:12]}-{self.dimension}"
        self.links = (Block(0, self.dimension, LINK_FLOOR),)

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:  # noqa: ARG002 - one space for all kinds
        """Vectors (n, dimension)."""
        result = np.zeros((len(texts), self.dimension), np.float32)
        for place, text in enumerate(texts):
            rows = [self._rows[word] for word in words(normal(text)) if word in self._rows]
            if rows:
                result[place] = self._vectors[rows].mean(axis=0)
        return unit(result)

    def as_query(self, vector: Floats, text: str) -> Floats:  # noqa: ARG002 - nothing depends on the text
        """The vector itself."""
        return vector

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:  # noqa: ARG002 - one space for all languages
        """Nothing beside."""
        return None
