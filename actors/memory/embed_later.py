"""Vectors after the fact: what was stored waits in the file for its embedding, and a task works through it.

So a write is acknowledged as soon as it is durable, whatever the model is doing; what is not embedded yet is found
by its words and by its edges. A kill loses nothing: what waits is in the same transaction as what was stored.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from . import schema
from .database import Database
from .substrate import KINDS, Substrate, Text, insert_vectors
from .vectors import Codes
from .writing import Written

BATCH: Final = 256
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
_EVERYTHING: Final = {"node": NODE_TEXTS, "fact": FACT_TEXTS, "passage": PASSAGE_TEXTS, "example": EXAMPLE_TEXTS}
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


def take(store: Substrate, batch: Sequence[Waiting], codes: Mapping[Text, Codes]) -> None:
    """Store the vectors of a batch and let the indexes know; what was forgotten or changed meanwhile is left out."""
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


def renew(store: Substrate, fingerprint: str, dimension: int) -> int:
    """Let everything wait for the vectors of another embedder, in one transaction; returns how many texts wait.

    What was taught is coded anew when its node's examples are embedded: see `learning.recode`. Called again for the
    same embedder it only continues what an earlier run left.
    """
    database = store.database
    if store.fingerprint == fingerprint and pending(database):
        return pending(database)
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
        database.connection.execute("DELETE FROM meta WHERE key = 'projection'")
    store.fingerprint, store.vectors, store.learning = fingerprint, {}, None
    store.forget_views()
    return pending(database)
