"""What of the store is seen: now, as of a date, or of some sources only; each view is a graph with its facts."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .database import Database
from .graph import PASSAGE_LINK, SYNONYM_LINK, Graph, vertex_of_node, vertex_of_passage

Ints = npt.NDArray[np.int64]
FAR: Final = 1 << 60
NS: Final = 1_000_000_000
FACT: Final = np.dtype([("id", np.int32), ("subject", np.int32), ("object", np.int32), ("weight", np.float32)])
MENTION: Final = np.dtype([("passage", np.int32), ("node", np.int32)])
SYNONYM: Final = np.dtype([("a", np.int32), ("b", np.int32), ("cosine", np.float32)])


class View:
    """A graph with the facts and passages that belong to it.

    Attributes:
        graph: nodes and passages with facts, mentions and synonyms as edges.
        facts, passages: the ids in view; None = all that the indexes hold, but for `hidden`.
        hidden: facts that the indexes hold and that are not valid now.
        until: seconds since 1970 at which a date passes and the view changes.
        closed: facts in view that the indexes no longer hold (seen only as of the past).
    """

    def __init__(
        self,
        graph: Graph,
        *,
        facts: Ints | None,
        passages: Ints | None,
        hidden: frozenset[int],
        until: int,
        closed: Ints,
    ) -> None:
        self.graph = graph
        self.facts, self.passages = facts, passages
        self.hidden, self.until, self.closed = hidden, until, closed

    def shows(self, fact: int) -> bool:
        """Whether a fact that an index found belongs to the view."""
        return fact not in self.hidden


def now_seconds() -> int:
    """The wall clock in seconds since 1970."""
    return time.time_ns() // NS


def present(database: Database, now: int) -> View:
    """Everything that is stored, not forgotten, and valid now."""
    dated = database.rows(
        "SELECT id, coalesce(valid_from, ?), coalesce(valid_to, ?) FROM edge "
        "WHERE (valid_from IS NOT NULL OR valid_to IS NOT NULL) AND invalidated_ns IS NULL",
        (-FAR, FAR),
    )
    hidden = frozenset(edge for edge, begin, end in dated if not begin <= now < end)
    moments = [moment for _, begin, end in dated for moment in (begin, end) if now < moment < FAR]
    facts = _facts(
        database.connection.execute(
            "SELECT id, subject, object, weight * supports FROM edge WHERE invalidated_ns IS NULL"
        )
    )
    if hidden:
        facts = facts[~np.isin(facts["id"], list(hidden))]
    graph = _graph(facts, database)
    return View(
        graph, facts=None, passages=None, hidden=hidden, until=min(moments, default=FAR), closed=np.zeros(0, np.int64)
    )


def _facts(rows: Iterable[tuple[int, int, int, float]]) -> Any:
    """(id, subject, object, weight) in arrays, taken row by row: a list of a million rows would be 200 MB."""
    return np.fromiter(rows, FACT)


def _graph(facts: Any, database: Database, passages: Ints | None = None) -> Graph:
    mentions = np.fromiter(
        database.connection.execute(
            "SELECT m.passage, m.node FROM mention m JOIN passage p ON p.id = m.passage WHERE p.ended_ns IS NULL"
        )
        if passages is None
        else database.connection.execute(
            "SELECT passage, node FROM mention WHERE passage IN (SELECT value FROM json_each(?))",
            (json.dumps(passages.tolist()),),
        ),
        MENTION,
    )
    close = np.fromiter(database.connection.execute("SELECT a, b, cosine FROM synonym"), SYNONYM)
    a = (vertex_of_node(facts["subject"]), vertex_of_passage(mentions["passage"]), vertex_of_node(close["a"]))
    b = (vertex_of_node(facts["object"]), vertex_of_node(mentions["node"]), vertex_of_node(close["b"]))
    weight = (facts["weight"], np.ones(len(mentions), np.float32), close["cosine"])
    edge = (
        facts["id"],
        np.full(len(mentions), PASSAGE_LINK, np.int32),
        np.full(len(close), SYNONYM_LINK, np.int32),
    )
    return Graph(*(np.concatenate(column) for column in (a, b, weight, edge)))


def special(database: Database, *, as_of: int | None, sources: Sequence[str] | None, now: int) -> View:
    """The store as of a date, or as some sources tell it, or both.

    Args:
        as_of: seconds since 1970; what was forgotten later than that is seen again.
        sources: names; unknown ones see nothing.
    """
    at = now if as_of is None else as_of
    past = as_of is not None
    at_ns = at * NS if past else FAR * 2
    known = None
    if sources is not None:
        known = [
            id
            for (id,) in database.rows(
                "SELECT id FROM source WHERE name IN (SELECT value FROM json_each(?))", (json.dumps(list(sources)),)
            )
        ]
    alive = "coalesce({0}.{1}_ns, 9223372036854775807) > ?" if past else "{0}.{1}_ns IS NULL AND ? IS NOT NULL"
    by_source = "AND s.source IN (SELECT value FROM json_each(?))" if known is not None else ""
    args: tuple[object, ...] = (at_ns, at_ns, at, at) + ((json.dumps(known),) if known is not None else ())
    rows = database.rows(
        "SELECT e.id, e.subject, e.object, e.weight * count(*), e.invalidated_ns IS NOT NULL "
        f"FROM edge e JOIN support s ON s.edge = e.id WHERE {alive.format('e', 'invalidated')} "
        f"AND {alive.format('s', 'ended')} AND coalesce(e.valid_from, -{FAR}) <= ? AND coalesce(e.valid_to, {FAR}) > ? "
        f"{by_source} GROUP BY e.id",
        args,
    )
    args = (at_ns,) + ((json.dumps(known),) if known is not None else ())
    by_source = by_source.replace("s.source", "p.source")
    passages = np.array(
        database.rows(f"SELECT p.id FROM passage p WHERE {alive.format('p', 'ended')} {by_source}", args), np.int64
    ).reshape(-1)
    closed = np.array([row[0] for row in rows if row[4]], np.int64)
    facts = _facts(row[:4] for row in rows)
    graph = _graph(facts, database, passages)
    return View(
        graph, facts=facts["id"].astype(np.int64), passages=passages, hidden=frozenset(), until=FAR, closed=closed
    )
