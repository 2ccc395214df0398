"""Forgetting a source: its support ends, and what nobody else supports is closed; purging takes it out of the file."""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from . import schema
from .embed_later import FACT_TEXTS, PASSAGE_TEXTS
from .graph import PASSAGE_LINK, SYNONYM_LINK, vertex_of_node, vertex_of_passage
from .substrate import KINDS, Substrate, forget_waiting, insert_vectors, stored_vectors
from .writing import Written


class Ended(Struct, frozen=True):
    """Counts of what was closed, and what the indexes must learn of it."""

    closed: int
    kept: int
    passages: int
    nodes: int
    written: Written


def forget(store: Substrate, source: int, now_ns: int) -> Ended:
    """End everything that one source supports; inside the caller's transaction."""
    database = store.database
    lost = database.rows(
        "SELECT e.id, e.subject, e.object, e.weight, count(*), e.supports, "
        "e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL "
        "FROM support s JOIN edge e ON e.id = s.edge WHERE s.source = ? AND s.ended_ns IS NULL GROUP BY e.id",
        (source,),
    )
    run = database.connection.executemany
    run("UPDATE support SET ended_ns = ? WHERE source = ? AND ended_ns IS NULL", [(now_ns, source)])
    run("UPDATE edge SET supports = supports - ? WHERE id = ?", [(row[4], row[0]) for row in lost])
    closed = [row[0] for row in lost if row[4] >= row[5]]
    run("UPDATE edge SET invalidated_ns = ? WHERE id = ?", [(now_ns, edge) for edge in closed])
    written = Written(gone_facts=closed, dated=any(row[6] for row in lost))
    written.entries = [
        (vertex_of_node(row[1]), vertex_of_node(row[2]), -row[3] * row[4], row[0]) for row in lost if not row[6]
    ]
    store.facts.remove(closed)
    _take_vectors(store, "fact", closed)
    passages = _end_passages(store, source, now_ns, written)
    touched = {node for row in lost for node in row[1:3]} | {entry[1] // 2 for entry in written.entries[len(lost) :]}
    nodes = _end_nodes(store, sorted(touched), written)
    return Ended(len(closed), len(lost) - len(closed), passages, nodes, written)


def _take_vectors(store: Substrate, kind: str, ids: Sequence[int]) -> None:
    forget_waiting(store.database, kind, ids)
    if store.vectors or store.fingerprint:
        store.database.connection.executemany(f"DELETE FROM {kind}_vector WHERE id = ?", ((id,) for id in ids))


def _end_passages(store: Substrate, source: int, now_ns: int, written: Written) -> int:
    database = store.database
    ids = [id for (id,) in database.rows("SELECT id FROM passage WHERE source = ? AND ended_ns IS NULL", (source,))]
    mentions = database.rows(
        "SELECT passage, node FROM mention WHERE passage IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
    )
    database.connection.executemany("UPDATE passage SET ended_ns = ? WHERE id = ?", ((now_ns, id) for id in ids))
    store.passages.remove(ids)
    _take_vectors(store, "passage", ids)
    written.gone_passages = ids
    written.entries.extend((vertex_of_passage(p), vertex_of_node(n), -1.0, PASSAGE_LINK) for p, n in mentions)
    return len(ids)


def _end_nodes(store: Substrate, touched: Sequence[int], written: Written) -> int:
    """Nodes that no live fact or passage names any more: out of every index, with what was taught about them."""
    database, run = store.database, store.database.connection.executemany
    rows = database.rows(
        "SELECT n.id FROM json_each(?) j JOIN node n ON n.id = j.value WHERE n.linked >= 0 "
        "AND NOT EXISTS (SELECT 1 FROM edge WHERE subject = n.id AND invalidated_ns IS NULL) "
        "AND NOT EXISTS (SELECT 1 FROM edge WHERE object = n.id AND invalidated_ns IS NULL) "
        "AND NOT EXISTS (SELECT 1 FROM mention m JOIN passage p ON p.id = m.passage "
        "WHERE m.node = n.id AND p.ended_ns IS NULL)",
        (json.dumps(list(touched)),),
    )
    gone = [node for (node,) in rows]
    listed = json.dumps(gone)
    synonyms = database.rows(
        "SELECT a, b, cosine FROM synonym WHERE a IN (SELECT value FROM json_each(?1)) "
        "OR b IN (SELECT value FROM json_each(?1))",
        (listed,),
    )
    run("DELETE FROM synonym WHERE a = ? AND b = ?", [row[:2] for row in synonyms])
    for sql in (
        "UPDATE node SET linked = -1 WHERE id = ?",
        "DELETE FROM association WHERE node = ?",
        "DELETE FROM example WHERE node = ?",
    ):
        run(sql, [(node,) for node in gone])
    _take_vectors(store, "node", gone)
    written.gone_nodes = gone
    written.entries.extend((vertex_of_node(a), vertex_of_node(b), -cosine, SYNONYM_LINK) for a, b, cosine in synonyms)
    return len(gone)


def purge(store: Substrate, source: int) -> None:
    """Take an ended source's rows out of the tables; inside the transaction. `scrub` then takes the bytes out."""
    database = store.database
    run = database.connection.execute
    passages = "SELECT id FROM passage WHERE source = ?"
    run(f"DELETE FROM mention WHERE passage IN ({passages})", (source,))
    run("DELETE FROM support WHERE source = ?", (source,))
    run("DELETE FROM passage WHERE source = ?", (source,))
    run("DELETE FROM edge WHERE invalidated_ns IS NOT NULL AND id NOT IN (SELECT edge FROM support)")
    run(
        "DELETE FROM node WHERE linked = -1 AND id NOT IN (SELECT subject FROM edge) "
        "AND id NOT IN (SELECT object FROM edge) AND id NOT IN (SELECT node FROM mention)"
    )
    run("DELETE FROM relation WHERE id NOT IN (SELECT relation FROM edge)")
    run("DELETE FROM source WHERE id = ?", (source,))
    run("DELETE FROM request WHERE action = 'memory.update'")  # replies that quote what was taught; harmless to repeat
    _rebuild_text(store)
    if store.vectors:
        _rebuild_vectors(store)


def _rebuild_text(store: Substrate) -> None:
    """Write the text indexes anew: FTS5 keeps the words of deleted rows until their segment is merged."""
    for index, sql in ((store.facts, FACT_TEXTS), (store.passages, PASSAGE_TEXTS)):
        index.clear()
        index.add(store.database.rows(sql))


def _rebuild_vectors(store: Substrate) -> None:
    """Write the vector tables anew: sqlite-vec only marks a deleted row and leaves its bytes."""
    for kind in KINDS:
        dimension = store.vectors[kind].dimension
        rows: list[tuple[int, Any]] = []
        for ids, codes in stored_vectors(store.database, kind, dimension):
            rows.extend(zip(ids.tolist(), codes.copy(), strict=True))
        store.database.connection.execute(f"DROP TABLE {kind}_vector")
        schema.create_vectors(store.database.connection, kind, dimension)
        insert_vectors(store.database, kind, rows)


def scrub(store: Substrate) -> None:
    """Rewrite the file and empty the log, so that nothing deleted is left in either; outside of a transaction."""
    store.database.connection.execute("VACUUM")
    store.database.checkpoint()
