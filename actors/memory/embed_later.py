"""Vectors after the fact: what was stored waits in the file for its embedding, and a task works through it.

So a write is acknowledged as soon as it is durable, whatever the model is doing; what is not embedded yet is found
by its words and by its edges. A kill loses nothing: what waits is in the same transaction as what was stored.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import anyio
import numpy as np

from actors.base import Job
from actors.lane import Lane
from protocol.errors import Fault

from . import linking, schema
from .database import Database
from .embed.service import EmbedService
from .memory_file import MemoryFile
from .substrate import KINDS, Substrate, Text, insert_vectors
from .vectors import Block, Codes
from .writing import Written

BATCH: Final = 256
RETRY_S: Final = 5.0
"""After an embedder that did not answer."""
LOOK_EVERY_S: Final = 0.5
MARGIN_S: Final = 1.0
"""What a wait leaves of a job's time for its answer."""
RENEWING_KEY: Final = "renewing"
NODE_TEXTS: Final = "SELECT id, name FROM node WHERE linked >= 0"
FACT_TEXTS: Final = (
    "SELECT e.id, s.name || ' ' || r.name || ' ' || o.name FROM edge e JOIN node s ON s.id = e.subject "
    "JOIN relation r ON r.id = e.relation JOIN node o ON o.id = e.object WHERE e.invalidated_ns IS NULL"
)
PASSAGE_TEXTS: Final = (
    "SELECT id, CASE WHEN title IS NULL THEN text ELSE title || char(10) || text END FROM passage "
    "WHERE ended_ns IS NULL"
)
EXAMPLE_TEXTS: Final = "SELECT id, text FROM example"
_EVERYTHING: Final = {"example": EXAMPLE_TEXTS, "node": NODE_TEXTS, "fact": FACT_TEXTS, "passage": PASSAGE_TEXTS}
"""In this order: what was taught is little and speaks again at once."""
Waiting = tuple[str, int, str]
"""Kind, id and text of something that has no vector yet."""


def put(database: Database, written: Written) -> int:
    """Let what was written wait for its vectors; inside the write's transaction. Returns how many."""
    rows = [
        (kind, id, text)
        for kind, texts in zip(KINDS, (written.nodes, written.facts, written.passages), strict=True)
        for id, text in texts.items()
    ]
    database.connection.executemany("INSERT OR REPLACE INTO waiting (kind, id, text) VALUES (?, ?, ?)", rows)
    return len(rows)


def pending(database: Database) -> int:
    """How many texts wait."""
    return int(database.scalar("SELECT count(*) FROM waiting"))


def next_batch(store: Substrate) -> list[Waiting]:
    """What has waited longest."""
    return store.database.rows("SELECT kind, id, text FROM waiting ORDER BY seq LIMIT ?", (BATCH,))


def take(store: Substrate, batch: Sequence[Waiting], codes: Mapping[Text, Codes]) -> int:
    """Store the vectors of a batch and let the indexes know; what was forgotten or changed meanwhile is left out.

    Returns how many wait no longer.
    """
    database = store.database
    with database.transaction():
        rows = {(kind, id): text for kind, id, text in next_batch(store)}
        still = [(kind, id, text) for kind, id, text in batch if rows.get((kind, id)) == text]
        for kind in KINDS:
            ids = [id for k, id, _ in still if k == kind]
            database.connection.executemany(f"DELETE FROM {kind}_vector WHERE id = ?", ((id,) for id in ids))
            insert_vectors(database, kind, [(id, codes[k, text]) for k, id, text in still if k == kind])
        if store.learning is not None:
            store.learning.recode([(id, codes[k, text]) for k, id, text in still if k == "example"])
        done = [(kind, id) for kind, id, _ in still]
        database.connection.executemany("DELETE FROM waiting WHERE kind = ? AND id = ?", done)
    for kind in KINDS:
        found = [(id, codes[k, text]) for k, id, text in still if k == kind and codes[k, text].any()]
        if found:
            store.index(kind).add([id for id, _ in found], np.stack([code for _, code in found]))
    return len(done)


def renew(store: Substrate, fingerprint: str, dimension: int) -> int:
    """Let everything wait for the vectors of another embedder, in one transaction; returns how many texts wait.

    What was taught is coded anew when its node's examples are embedded: see `learning.recode`. Called again after a
    run that was stopped before `renewed`, it only continues, though the background may have finished it meanwhile.
    """
    database = store.database
    waiting = pending(database)
    if store.fingerprint == fingerprint and (waiting or database.meta(RENEWING_KEY)):
        return waiting
    with database.transaction():
        for kind in KINDS if store.fingerprint is not None else ():
            database.connection.execute(f"DROP TABLE {kind}_vector")
        for kind in KINDS:
            schema.create_vectors(database.connection, kind, dimension)
        database.connection.execute("DELETE FROM waiting")
        for kind, sql in _EVERYTHING.items():
            database.connection.execute(f"INSERT INTO waiting (kind, id, text) SELECT '{kind}', * FROM ({sql})")
        database.connection.execute("DELETE FROM synonym")
        database.connection.execute("DELETE FROM association")
        database.connection.execute("UPDATE node SET linked = 0 WHERE linked > 0")
        database.set_meta("fingerprint", fingerprint)
        database.set_meta("dimension", dimension)
        database.set_meta(RENEWING_KEY, 1)
        database.connection.execute("DELETE FROM meta WHERE key = 'projection'")
    store.fingerprint, store.vectors, store.learning = fingerprint, {}, None
    store.forget_views()
    return pending(database)


def renewed(store: Substrate) -> None:
    """A renewal was seen to its end: the next one embeds everything again."""
    with store.database.transaction():
        store.database.connection.execute("DELETE FROM meta WHERE key = ?", (RENEWING_KEY,))


class Backlog:
    """The background task that gives what was stored its vectors, then its synonyms; and what callers ask about it.

    Its turns in the lanes of database and embedder are background turns: what a caller waits for goes first.

    Attributes:
        refused: why the embedder in force cannot serve the open file: it holds another one's vectors.
        waiting: how many texts have no vector yet; changed only in the lane, so that it costs nobody a turn.
    """

    def __init__(self, file: MemoryFile, lane: Lane, embeddings: EmbedService) -> None:
        self.refused: Fault | None = None
        self.waiting = 0
        self._file, self._lane, self._embeddings = file, lane, embeddings
        self._bound = anyio.Event()
        self._wake = anyio.Event()
        self._moved = anyio.Event()
        self._trouble = ""

    async def run(self) -> None:
        """Load the embedder; then, for ever, work off what waits as soon as something does."""
        await self._embeddings.load()
        await self._lane.run(self.bind)
        self._bound.set()
        self.wake()
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            if self.refused is None and self._embeddings.embedder is not None:
                try:
                    await self._work_off()
                except Fault as fault:
                    self._trouble = str(fault)
                    await self._retry_later()

    async def _retry_later(self) -> None:
        with anyio.move_on_after(RETRY_S):
            await self._wake.wait()
        self._wake.set()

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    def bind(self) -> None:
        """Bind the loaded embedder to the file that is open, or see that it is not the file's; in the lane."""
        embedder, store = self._embeddings.embedder, self._file.substrate
        if store is None:
            return
        if embedder is not None:
            try:
                store.attach(embedder.fingerprint, embedder.dimension)
                self.refused = None
            except Fault as fault:
                self.refused = fault
        self.recount()

    def grow(self, new: int) -> None:
        """So many more texts wait; in the lane."""
        self.waiting += new

    def recount(self) -> None:
        """Count what waits anew, after a change of many rows; in the lane."""
        self.waiting = 0 if self._file.substrate is None else pending(self._file.substrate.database)

    async def _work_off(self) -> None:
        while (store := self._file.substrate) is not None:
            batch = await self._lane.run(self._file.if_open, next_batch, background=True)
            if not batch:
                break
            codes = await self._embeddings.codes([(kind, text) for kind, _, text in batch])
            await self._lane.run(self._take, store, batch, codes, background=True)
            self._trouble = ""
            self._moved.set()
            self._moved = anyio.Event()
        await self._link()

    def _take(self, store: Substrate, batch: Sequence[Waiting], codes: Mapping[Text, Codes]) -> None:
        """Store a batch, unless a restore has put another file in place meanwhile."""
        self.grow(-(self._file.if_open(take, batch, codes, store=store) or 0))

    async def _link(self) -> None:
        """Draw the synonym edges of new nodes, batch by batch."""
        embedder = self._embeddings.embedder
        more = self.refused is None
        while more and embedder is not None:
            more = bool(await self._lane.run(self._link_batch, embedder.links, background=True))

    def _link_batch(self, blocks: Sequence[Block]) -> int | None:
        return None if self.refused else self._file.if_open(linking.link_batch, blocks)

    async def wait_bound(self, limit_s: float) -> bool:
        """Wait until the embedder has met the file; whether it has."""
        with anyio.move_on_after(max(0.0, limit_s)):
            await self._bound.wait()
        return self._bound.is_set()

    async def wait_done(self, job: Job, limit_s: float | None = None) -> None:
        """Wait until nothing waits for vectors any more, telling how far it is; the job's deadline ends it too.

        Args:
            limit_s: also give up after so many seconds; None waits for an embedder that is still loading, too.
        """
        left = max(0.0, job.remaining_s() - MARGIN_S)
        total = 0
        if limit_s is None:
            await self._embeddings.wait_settled(left)
        with anyio.move_on_after(left if limit_s is None else min(left, limit_s)):
            while self.waiting and self._embeddings.embedder is not None:
                total = max(total, self.waiting)
                job.progress(total - self.waiting, total, "embedding")
                with anyio.move_on_after(LOOK_EVERY_S):
                    await self._moved.wait()
        if total and not self.waiting:
            job.progress(total, total, "embedding")

    def note(self) -> tuple[str, ...]:
        """What an answer says while texts wait."""
        if not self.waiting:
            return ()
        why = f" ({self._trouble})" if self._trouble else ""
        return (f"{self.waiting} texts wait for their vectors{why}; until then they are found by words and edges only",)
