"""Synonym edges: nodes whose names mean nearly the same are tied, a few each, so that a walk crosses between them."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from .graph import SYNONYM_LINK, vertex_of_node
from .substrate import Substrate
from .text import words
from .vectors import Block

PER_NODE_MAX: Final = 20
BATCH: Final = 128
"""Nodes tied in one turn of the lane: a recall waits behind one turn at most."""
_READY: Final = (
    "SELECT id, name FROM node WHERE linked = 0 AND NOT EXISTS "
    "(SELECT 1 FROM waiting WHERE kind = 'node' AND waiting.id = node.id) ORDER BY id LIMIT ?"
)


def pending(substrate: Substrate) -> int:
    """How many nodes still wait for their synonyms."""
    return int(substrate.database.scalar("SELECT count(*) FROM node WHERE linked = 0"))


def link_batch(substrate: Substrate, blocks: Sequence[Block], check: Callable[[], None] = lambda: None) -> int:
    """Tie one batch of new nodes to their nearest neighbours; returns how many nodes were looked at.

    Args:
        blocks: where and how close, by embedder; names of at most two letters or digits are left alone.
    """
    rows = substrate.database.rows(_READY, (BATCH,))
    if not rows:
        return 0
    index = substrate.index("node")
    telling = [node for node, name in rows if sum(len(word) for word in words(name)) > 2]  # noqa: PLR2004
    ids, vectors = index.vectors(telling)
    check()
    pairs: dict[tuple[int, int], float] = {}
    source, near, cosine = index.neighbours(vectors, blocks if len(vectors) else ())
    order = np.lexsort((near, -cosine, source))
    taken = np.zeros(len(ids), np.int64)
    for i in order.tolist():
        a, b = int(ids[source[i]]), int(near[i])
        pair = (min(a, b), max(a, b))
        if a != b and pair not in pairs and taken[source[i]] < PER_NODE_MAX:
            taken[source[i]] += 1
            pairs[pair] = float(cosine[i])
    _store(substrate, [node for node, _ in rows], pairs)
    return len(rows)


def _store(substrate: Substrate, nodes: list[int], pairs: dict[tuple[int, int], float]) -> None:
    database = substrate.database
    present = substrate.present().graph if pairs else None
    with database.transaction():
        fresh = [
            (a, b, min(cosine, 1.0))
            for (a, b), cosine in pairs.items()
            if database.scalar("SELECT 1 FROM synonym WHERE a = ? AND b = ?", (a, b)) is None
        ]
        database.connection.executemany("INSERT INTO synonym VALUES (?, ?, ?)", fresh)
        database.connection.executemany("UPDATE node SET linked = 1 WHERE id = ?", [(node,) for node in nodes])
    if present is not None:
        present.change([(vertex_of_node(a), vertex_of_node(b), cosine, SYNONYM_LINK) for a, b, cosine in fresh])
