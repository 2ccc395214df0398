"""The memory itself: the database and its indexes in memory, kept in step. Used by one thread at a time."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import apsw
import numpy as np
import numpy.typing as npt

from protocol.errors import Fault

from . import schema, view
from .database import Database
from .heap import trim
from .learning import Learning
from .lexical import Lexical
from .parts import Parts
from .vectors import Codes, VectorIndex
from .view import View
from .writing import Written

KINDS: Final = ("node", "fact", "passage")
VIEWS_MAX: Final = 4
Text = tuple[str, str]
"""Kind and text of something to embed."""


class Substrate:
    """One open memory."""

    def __init__(self, path: Path, *, before_migration: Callable[[Path], None] | None = None) -> None:
        self.database = Database(path, before_migration=before_migration)
        self.facts = Lexical(self.database, "fact")
        self.passages = Lexical(self.database, "passage")
        self.parts = Parts(self.database)
        self.vectors: dict[str, VectorIndex] = {}
        self.fingerprint: str | None = self.database.meta("fingerprint")
        self.learning: Learning | None = None
        self.foreign: dict[str, set[int]] = {"fact": set(), "passage": set()}
        self.generation = 0
        self._present: View | None = None
        self._special: OrderedDict[tuple[Any, ...], View] = OrderedDict()

    def index(self, kind: str) -> VectorIndex:
        """The vectors of a kind; an empty index of one dimension before any embedder was bound to the file."""
        return self.vectors[kind] if kind in self.vectors else VectorIndex(1)

    @property
    def dimension(self) -> int:
        """Of the stored vectors; 1 before any embedder was bound to the file."""
        return int(self.database.meta("dimension") or 1)

    def load_vectors(self) -> None:
        """Read the vectors of the embedder that the file was made with; needs no model."""
        if self.fingerprint is not None and not self.vectors:
            dimension = self.dimension
            self.vectors = {kind: self._load(kind, dimension) for kind in KINDS}
            self.learning = Learning(self.database, dimension)
            rows = self.database.rows("SELECT id FROM edge WHERE foreign_text = 1 AND invalidated_ns IS NULL")
            self.foreign["fact"] = {fact for (fact,) in rows}
            rows = self.database.rows("SELECT id FROM passage WHERE foreign_text = 1 AND ended_ns IS NULL")
            self.foreign["passage"] = {passage for (passage,) in rows}
            trim()

    def attach(self, fingerprint: str, dimension: int) -> None:
        """Bind an embedder to the file, or see that it is the one that the file was made with; load its vectors.

        Raises:
            Fault: `conflict` when the file holds another embedder's vectors.
        """
        if self.fingerprint is None:
            with self.database.transaction():
                for kind in KINDS:
                    schema.create_vectors(self.database.connection, kind, dimension)
                self.database.set_meta("fingerprint", fingerprint)
                self.database.set_meta("dimension", dimension)
            self.fingerprint = fingerprint
        if self.fingerprint != fingerprint:
            raise Fault(
                "conflict",
                f"The memory holds vectors of {self.fingerprint}, but the embedder in force is {fingerprint}.",
                next_action="Run `chrysalis memory reindex` to embed everything anew, or set CHRYSALIS_EMBEDDER back.",
            )
        self.load_vectors()

    def _load(self, kind: str, dimension: int) -> VectorIndex:
        index = VectorIndex(dimension, self.database.path.parent)
        rows, highest = self.database.rows(f"SELECT count(*), coalesce(max(rowid), 0) FROM {kind}_vector_rowids")[0]
        index.reserve(rows, highest)
        for ids, codes in stored_vectors(self.database, kind, dimension):
            index.add(ids, codes)
        return index

    def present(self) -> View:
        """What is valid now."""
        now = view.now_seconds()
        if self._present is None or now >= self._present.until:
            self._present = view.present(self.database, now)
            trim()
        return self._present

    def view(self, as_of: int | None, sources: Sequence[str] | None) -> View:
        """The view that a recall asks for; special ones are kept for a few repetitions."""
        if as_of is None and sources is None:
            return self.present()
        key = (self.generation, as_of, None if sources is None else tuple(sorted(sources)))
        found = self._special.get(key)
        if found is None:
            found = self._special[key] = view.special(
                self.database, as_of=as_of, sources=sources, now=view.now_seconds()
            )
            while len(self._special) > VIEWS_MAX:
                self._special.popitem(last=False)
        return found

    def absorb(self, written: Written) -> None:
        """Bring the indexes in step with a committed write; what is new gets its vectors later, by `embed_later`."""
        self.generation += 1
        if written.gone_facts:
            self.parts.forget()
        gone = (written.gone_nodes, written.gone_facts, written.gone_passages)
        for kind, removed in zip(KINDS, gone, strict=True):
            if kind in self.vectors:
                self.vectors[kind].remove(removed)
        self.foreign["fact"].update(written.foreign_facts)
        self.foreign["passage"].update(written.foreign_passages)
        if written.dated:
            self._present = None
        elif self._present is not None:
            self._present.graph.change(written.entries)

    def forget_views(self) -> None:
        """Throw away what was read of facts and the graphs; it is read anew when next asked for."""
        self.parts.forget()
        self._present = None
        self._special.clear()
        self.generation += 1

    def sql_version(self) -> str:
        """The SQLite in use."""
        return apsw.sqlite_lib_version()

    def close(self) -> None:
        """Leave the file in order."""
        self.database.close()


def forget_waiting(database: Database, kind: str, ids: Iterable[int]) -> None:
    """What is gone needs no vector any more; inside the caller's transaction."""
    database.connection.executemany("DELETE FROM waiting WHERE kind = ? AND id = ?", ((kind, id) for id in ids))


def insert_vectors(database: Database, kind: str, rows: Sequence[tuple[int, Codes]]) -> None:
    """Put int8 vectors under their ids; all-zero ones mean "not usable" and are left out."""
    database.connection.executemany(
        f"INSERT INTO {kind}_vector (id, v) VALUES (?, vec_int8(?))",
        ((id, code.tobytes()) for id, code in rows if code.any()),
    )


def stored_vectors(database: Database, kind: str, dimension: int) -> Iterator[tuple[npt.NDArray[np.int64], Codes]]:
    """All vectors of a kind, block by block, as (ids, int8 codes); change nothing while they are read.

    sqlite-vec keeps them in blocks of 1,024 with a validity bitmap; reading those tables is 13 times as fast as
    reading row by row (measured, 20,000 rows: 12 against 159 ms).
    """
    for validity, rowids, vectors in database.connection.execute(
        f"SELECT c.validity, c.rowids, v.vectors FROM {kind}_vector_chunks c "
        f"JOIN {kind}_vector_vector_chunks00 v ON v.rowid = c.chunk_id"
    ):
        valid = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little").astype(bool)
        ids = np.frombuffer(rowids, np.int64)
        codes = np.frombuffer(vectors, np.int8).reshape(-1, dimension)
        yield ids[valid[: len(ids)]], codes[valid[: len(codes)]]


def now_ns() -> int:
    """The wall clock as it is stored."""
    return time.time_ns()
