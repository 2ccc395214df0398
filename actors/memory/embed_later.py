"""Vectors after the fact: what was stored waits in the file for its embedding, and a task works through it.

So a write is acknowledged as soon as it is durable, whatever the model is doing; what is not embedded yet is found
by its words and by its edges. A kill loses nothing: what waits is in the same transaction as what was stored.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from .database import Database
from .substrate import KINDS, Substrate, Text, insert_vectors
from .vectors import Codes
from .writing import Written

BATCH: Final = 256
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
        done = [(kind, id) for kind, id, _ in still]
        database.connection.executemany("DELETE FROM waiting WHERE kind = ? AND id = ?", done)
    for kind in KINDS:
        found = [(id, codes[k, text]) for k, id, text in still if k == kind and codes[k, text].any()]
        if found:
            store.index(kind).add([id for id, _ in found], np.stack([code for _, code in found]))
