"""`openai:URL#MODEL`: any endpoint that speaks OpenAI's `/v1/embeddings`, such as llama.cpp's server.

The dimension is asked for once, at loading. A key goes into `CHRYSALIS_EMBEDDER_KEY`; local servers need none.
"""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..vectors import Block
from .base import EmbedderError, Floats, Kind, unit

TIMEOUT_S: Final = 30.0
LINK_FLOOR: Final = 0.85
REPLY_MAX_BYTES: Final = 64 << 20
DEFAULT_MODEL: Final = "default"


class Endpoint:
    """Another process's model."""

    batch = 64

    def __init__(self, address: str) -> None:
        """Ask it once.

        Raises:
            EmbedderError: it does not answer, or not with vectors.
        """
        url, _, model = address.partition("#")
        if not url.startswith(("http://", "https://")):
            raise EmbedderError(f"openai:{address} needs a URL, as openai:http://127.0.0.1:8080/v1#model")
        self._url = url.rstrip("/") + "/embeddings"
        self._model = model or DEFAULT_MODEL
        self.name = f"openai:{address}"
        probe = self._ask(["dimension"])
        self.dimension = probe.shape[1]
        self.fingerprint = f"openai-{self._model}-{self.dimension}"
        self.links = (Block(0, self.dimension, LINK_FLOOR),)

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:  # noqa: ARG002 - one space for all kinds
        """Vectors (n, dimension)."""
        found = self._ask(list(texts))
        if found.shape != (len(texts), self.dimension):
            raise EmbedderError(f"{self._url} answered {found.shape} instead of {(len(texts), self.dimension)}")
        return unit(found)

    def _ask(self, texts: list[str]) -> Floats:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("CHRYSALIS_EMBEDDER_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = urllib.request.Request(self._url, body, headers)  # noqa: S310 - the scheme was checked
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:  # noqa: S310
                rows: list[Any] = json.loads(reply.read(REPLY_MAX_BYTES))["data"]
            ordered = sorted(rows, key=lambda row: row.get("index", 0))
            vectors = np.array([row["embedding"] for row in ordered], np.float32)
        except (OSError, urllib.error.URLError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbedderError(f"{self._url} gave no vectors ({error})") from error
        if vectors.ndim != 2:  # noqa: PLR2004 - rows of components
            raise EmbedderError(f"{self._url} gave vectors of unequal length")
        return vectors

    def as_query(self, vector: Floats, text: str) -> Floats:  # noqa: ARG002 - nothing depends on the text
        """The vector itself."""
        return vector

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:  # noqa: ARG002 - one space for all languages
        """Nothing beside."""
        return None
