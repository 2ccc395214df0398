"""The embedder at work: loaded in the background, one lane of its own, short turns."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import anyio
from msgspec import Struct

from actors.base import Job
from actors.lane import Lane
from protocol.errors import Fault

from ..heap import trim
from ..substrate import Text
from ..vectors import Codes, quantise
from . import choose
from .base import Embedder, EmbedderError, Floats

T = TypeVar("T")
LOADING_NICE: Final = 10
TURN_CHARS: Final = 250
"""A turn of the lane embeds about so much text, so that a question never waits long behind an ingest."""
WAIT_MARGIN_S: Final = 0.25


class QueryVectors(Struct, frozen=True):
    """One question: `code` (dimension,) int8, `search` float, `foreign` float for texts of other languages or None."""

    code: Codes
    search: Floats
    foreign: Floats | None


class EmbedService:
    """Owns the embedder. `state` is loading, ready, or failed with the reason."""

    def __init__(self, choice: str, *, loader: Callable[[str], Embedder] = choose.load) -> None:
        self.choice = choice or choose.DEFAULT
        self.state = "loading"
        self.embedder: Embedder | None = None
        self._loader = loader
        self._settled = anyio.Event()
        self._lane = Lane()

    async def load(self) -> None:
        """Load the model; run as a background task."""
        started = time.monotonic()
        try:
            self.embedder = await self._lane.run(gently, self._loader, self.choice)
            await self._lane.run(trim)
            self.state = f"ready ({time.monotonic() - started:.1f} s to load)"
        except EmbedderError as error:
            self.state = f"failed: {error}"
        self._settled.set()

    async def ready(self, job: Job) -> Embedder:
        """Wait for the model as long as the job may.

        Raises:
            Fault: `unavailable` when it is still loading at the job's deadline, or failed.
        """
        with anyio.move_on_after(max(0.0, job.remaining_s() - WAIT_MARGIN_S)):
            await self._settled.wait()
        if self.embedder is None:
            raise Fault(
                "unavailable",
                f"The embedder {self.choice} is not there: {self.state}.",
                next_action="Retry in a few seconds; if it failed, set CHRYSALIS_EMBEDDER (chrysalis doctor shows it).",
            )
        return self.embedder

    @property
    def loading(self) -> bool:
        """Whether the model may still come."""
        return not self._settled.is_set()

    async def wait_settled(self, limit_s: float) -> None:
        """Wait until the model is there or has failed, but not for long."""
        with anyio.move_on_after(limit_s):
            await self._settled.wait()

    async def query(self, job: Job, text: str) -> QueryVectors:
        """A question's vectors: its own int8 one for what was learned, and the float ones that search."""
        embedder = await self.ready(job)
        vectors = await self._lane.run(self._told, embedder, [text], "node")
        return QueryVectors(
            _codes(vectors)[0], embedder.as_query(vectors[0], text), embedder.as_foreign(vectors[0], text)
        )

    def _told(self, embedder: Embedder, texts: Sequence[str], kind: str) -> Floats:
        try:
            return embedder.embed(texts, kind)  # pyright: ignore[reportArgumentType] - a Kind by construction
        except EmbedderError as error:
            text = f"The embedder {embedder.name} does not answer: {error}."
            raise Fault("unavailable", text, next_action="Start it again, then retry; nothing was changed.") from error

    async def codes(self, texts: Sequence[Text]) -> dict[Text, Codes]:
        """The int8 vector of each text, all zero where it has nothing to embed; questions go before it.

        Raises:
            Fault: `unavailable` when an endpoint does not answer.
        """
        embedder = self.embedder
        assert embedder is not None
        found: dict[Text, Codes] = {}
        for turn in _turns(sorted(texts, key=lambda text: (text[0], len(text[1]))), embedder.batch):
            told = [text for _, text in turn]
            vectors = await self._lane.run(self._told, embedder, told, turn[0][0], background=True)
            found.update(zip(turn, _codes(vectors), strict=True))
        return found


def gently(function: Callable[..., T], *args: Any) -> T:
    """Run in a thread that the operating system puts behind others, and wait for it.

    Loading a model takes seconds of processor time that a restarted memory's first answers, and the other actors'
    starts, need more. Embedding is not run so: a question waits for the turn under way, and a thread may lower its
    own priority but not raise it again.
    """
    with ThreadPoolExecutor(1, initializer=_step_back) as aside:
        return aside.submit(function, *args).result()


def _step_back() -> None:
    if sys.platform == "linux":  # where each thread has a priority of its own
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(LOADING_NICE, os.getpriority(os.PRIO_PROCESS, thread)))


def _turns(texts: Sequence[Text], batch: int) -> list[list[Text]]:
    turns: list[list[Text]] = []
    size = 0
    for text in texts:
        full = not turns or len(turns[-1]) >= batch or size + len(text[1]) > TURN_CHARS or turns[-1][0][0] != text[0]
        if full:
            turns.append([])
            size = 0
        turns[-1].append(text)
        size += len(text[1])
    return turns


def _codes(vectors: Floats) -> Codes:
    blank = ~vectors.any(axis=1)
    if not blank.any():
        return quantise(vectors)
    filled = vectors.copy()
    filled[blank, 0] = 1.0
    codes = quantise(filled)
    codes[blank] = 0
    return codes
