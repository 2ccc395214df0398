"""The schema of the memory database: its tables, its version, and how older versions become this one."""

from collections.abc import Callable, Mapping
from typing import Final

import apsw

APPLICATION_ID: Final = 0x43485259  # "CHRY"
VERSION: Final = 1

TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE node (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, norm TEXT NOT NULL UNIQUE,
    created_ns INTEGER NOT NULL, linked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX node_unlinked ON node (id) WHERE linked = 0;
CREATE TABLE relation (id INTEGER PRIMARY KEY, name TEXT NOT NULL, norm TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE source (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_ns INTEGER NOT NULL) STRICT;
CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER NOT NULL REFERENCES source, key TEXT, title TEXT,
    text TEXT NOT NULL, digest BLOB NOT NULL, recorded_ns INTEGER NOT NULL, ended_ns INTEGER,
    foreign_text INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX passage_once ON passage (source, digest) WHERE ended_ns IS NULL;
CREATE TABLE mention (
    passage INTEGER NOT NULL REFERENCES passage, node INTEGER NOT NULL REFERENCES node, PRIMARY KEY (passage, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_node ON mention (node);
CREATE TABLE edge (
    id INTEGER PRIMARY KEY AUTOINCREMENT, subject INTEGER NOT NULL REFERENCES node,
    relation INTEGER NOT NULL REFERENCES relation, object INTEGER NOT NULL REFERENCES node,
    weight REAL NOT NULL DEFAULT 1, supports INTEGER NOT NULL, valid_from INTEGER, valid_to INTEGER,
    recorded_ns INTEGER NOT NULL, invalidated_ns INTEGER, foreign_text INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX edge_subject ON edge (subject, relation, object);
CREATE INDEX edge_object ON edge (object);
CREATE INDEX edge_closed ON edge (invalidated_ns) WHERE invalidated_ns IS NOT NULL;
CREATE INDEX edge_dated ON edge (id) WHERE valid_from IS NOT NULL OR valid_to IS NOT NULL;
CREATE TABLE support (
    edge INTEGER NOT NULL REFERENCES edge, source INTEGER NOT NULL REFERENCES source,
    passage INTEGER NOT NULL DEFAULT 0, recorded_ns INTEGER NOT NULL, ended_ns INTEGER,
    PRIMARY KEY (edge, source, passage)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_foreign ON edge (id) WHERE foreign_text = 1;
CREATE INDEX passage_foreign ON passage (id) WHERE foreign_text = 1;
CREATE INDEX support_source ON support (source);
CREATE TABLE synonym (
    a INTEGER NOT NULL REFERENCES node, b INTEGER NOT NULL REFERENCES node, cosine REAL NOT NULL,
    PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;
CREATE INDEX synonym_b ON synonym (b);
CREATE TABLE association (
    node INTEGER NOT NULL REFERENCES node, cell INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY (node, cell)
) STRICT, WITHOUT ROWID;
CREATE TABLE example (
    id INTEGER PRIMARY KEY, node INTEGER NOT NULL REFERENCES node, text TEXT NOT NULL, norm TEXT NOT NULL,
    code BLOB NOT NULL, vector BLOB NOT NULL, strength REAL NOT NULL, used_ns INTEGER NOT NULL, UNIQUE (node, norm)
) STRICT;
CREATE TABLE waiting (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (kind, id)
) STRICT;
CREATE TABLE request (
    id TEXT PRIMARY KEY, action TEXT NOT NULL, reply BLOB NOT NULL, applied_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX request_age ON request (applied_ns);
CREATE VIRTUAL TABLE fact_text USING fts5 (
    text, content='', contentless_delete=1, tokenize="porter unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE passage_text USING fts5 (
    text, content='', contentless_delete=1, tokenize="porter unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE fact_terms USING fts5vocab (fact_text, row);
CREATE VIRTUAL TABLE passage_terms USING fts5vocab (passage_text, row);
"""

MIGRATIONS: Final[Mapping[int, Callable[[apsw.Connection], None]]] = {}
"""From version n to n + 1, each run inside the one transaction that also raises `user_version`."""


def create(connection: apsw.Connection) -> None:
    """Lay the tables into an empty database; runs inside the caller's transaction."""
    connection.execute(TABLES)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def create_vectors(connection: apsw.Connection, kind: str, dimension: int) -> None:
    """Make the sqlite-vec table of one kind of vector (`node`, `fact`, `passage`), int8 with cosine distance."""
    connection.execute(
        f"CREATE VIRTUAL TABLE {kind}_vector USING vec0 (id INTEGER PRIMARY KEY, v int8[{dimension}] "
        "distance_metric=cosine)"
    )


def migrate(
    connection: apsw.Connection,
    found: int,
    migrations: Mapping[int, Callable[[apsw.Connection], None]] = MIGRATIONS,
    target: int = VERSION,
) -> None:
    """Bring an older schema to `target` step by step, all or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(found, target):
            migrations[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
