"""The embedder at work: loaded in the background, one lane of its own, short turns, recent vectors kept."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import anyio

from actors.base import Job, Lane
from protocol.errors import Fault

from ..substrate import Text
from ..vectors import Codes, quantise
from . import choose
from .base import Embedder, EmbedderError, Floats

TURN_CHARS: Final = 4_000
"""A turn of the lane embeds about so much text, so that a question never waits long behind an ingest."""
KEPT_MAX: Final = 20_000
"""So many recent vectors are kept, so that an ingest that ran out of time goes on where it was."""
WAIT_MARGIN_S: Final = 0.25


class EmbedService:
    """Owns the embedder. `state` is loading, ready, or failed with the reason."""

    def __init__(self, choice: str, *, loader: Callable[[str], Embedder] = choose.load) -> None:
        self.choice = choice or choose.DEFAULT
        self.state = "loading"
        self.embedder: Embedder | None = None
        self._loader = loader
        self._settled = anyio.Event()
        self._lane = Lane()
        self._kept: OrderedDict[Text, Codes] = OrderedDict()

    async def load(self) -> None:
        """Load the model; run as a background task."""
        started = time.monotonic()
        try:
            self.embedder = await self._lane.run(self._loader, self.choice)
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

    async def query(self, job: Job, text: str) -> tuple[Codes, Floats]:
        """The question's own int8 vector, for what was learned, and the float one that searches (dimension,)."""
        embedder = await self.ready(job)
        vectors = await self._lane.run(self._told, embedder, [text], "node")
        return _codes(vectors)[0], embedder.as_query(vectors[0], text)

    def _told(self, embedder: Embedder, texts: Sequence[str], kind: str) -> Floats:
        try:
            return embedder.embed(texts, kind)  # pyright: ignore[reportArgumentType] - a Kind by construction
        except EmbedderError as error:
            text = f"The embedder {embedder.name} does not answer: {error}."
            raise Fault("unavailable", text, next_action="Start it again, then retry; nothing was changed.") from error

    async def codes(self, job: Job, texts: Sequence[Text], message: str = "embedding") -> dict[Text, Codes]:
        """The int8 vector of each text, all zero where it has nothing to embed; tells progress.

        Raises:
            Fault: `timeout` when the job's deadline passes; what was embedded so far is kept for a retry.
        """
        embedder = await self.ready(job)
        found = {text: self._kept[text] for text in texts if text in self._kept}
        wanted = sorted((text for text in texts if text not in found), key=lambda text: (text[0], len(text[1])))
        for turn in _turns(wanted, embedder.batch):
            if job.remaining_s() < 0:
                raise _late(len(found), len(texts))
            job.check()
            vectors = await self._lane.run(self._told, embedder, [text for _, text in turn], turn[0][0])
            for text, code in zip(turn, _codes(vectors), strict=True):
                found[text] = code
                self._keep(text, code)
            job.progress(len(found), len(texts), message)
        return found

    def _keep(self, text: Text, code: Codes) -> None:
        self._kept[text] = code
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)


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


def _late(done: int, total: int) -> Fault:
    return Fault(
        "timeout",
        f"The deadline passed after {done} of {total} texts were embedded; nothing was stored.",
        next_action="Send the same request again (what was embedded is kept), or send smaller parts.",
    )
