"""The writes, each one step in the database's lane: apply, remember the reply, tell the indexes."""

import difflib
from typing import Final, TypeVar

import msgspec

from actors.base import Job
from protocol.actions import memory as words
from protocol.errors import Fault

from . import consolidation, embed_later, forgetting
from .backup import Backups
from .learning import Learning
from .parse import REJECTED_SHOWN, Plan
from .substrate import Substrate
from .text import normal
from .vectors import Codes
from .writing import Writer, Written

R = TypeVar("R", bound=msgspec.Struct)
SUGGESTED: Final = 3


def ingest(store: Substrate, job: Job, plan: Plan, now_ns: int) -> tuple[words.Ingested, int]:
    """Store a plan in one transaction; the reply, and how many texts wait for vectors because of it."""
    job.check()
    with store.database.transaction():
        written = Writer(store.database, store.facts, store.passages, now_ns).write(plan)
        new = embed_later.put(store.database, written)
        reply = words.Ingested(
            stored=written.stored,
            new_edges=len(written.facts),
            new_nodes=len(written.nodes),
            passages=len(written.passages),
            malformed=len(plan.rejected),
            rejected=plan.rejected[:REJECTED_SHOWN],
        )
        store.database.remember(job.id, job.action, reply, now_ns)
    store.absorb(written)
    return reply, new


def teach(store: Substrate, job: Job, node: str, text: str, code: Codes, strength: float, now_ns: int) -> words.Updated:
    """Teach that a phrase means a node.

    Raises:
        Fault: `not_found` for an unknown node, `invalid_params` for a phrase that has nothing to embed.
    """
    learning = ready_learning(store)
    row = store.database.connection.execute(
        "SELECT id, name FROM node WHERE norm = ? AND linked >= 0", (normal(node),)
    ).fetchone()
    if row is None:
        raise _unknown_node(store, node)
    if not code.any():
        raise Fault(
            "invalid_params", "The query has nothing that can be learned.", next_action="Teach a phrase in words."
        )
    job.check()
    with store.database.transaction():
        changed, cells = learning.update(row[0], text, code, strength, now_ns)
        rows = store.database.rows("SELECT text FROM example WHERE node = ? ORDER BY id", (row[0],))
        reply = words.Updated(
            node=row[1],
            cells=cells,
            changed=changed,
            examples=[example for (example,) in rows],
            taught=store.database.scalar("SELECT count(*) FROM example"),
        )
        store.database.remember(job.id, job.action, reply, now_ns)
    learning.refresh(row[0])
    return reply


def ready_learning(store: Substrate) -> Learning:
    """What was taught.

    Raises:
        Fault: `conflict` when the file was taught with another projection.
    """
    learning = store.learning
    if learning is None or not learning.fits:
        raise Fault(
            "conflict",
            "What was taught fits another projection of the embedder.",
            next_action="Run `chrysalis memory reindex`.",
        )
    return learning


def _unknown_node(store: Substrate, node: str) -> Fault:
    first = normal(node)[:2]
    names = [
        name
        for (name,) in store.database.rows(
            "SELECT name FROM node WHERE linked >= 0 AND norm BETWEEN ? AND ? LIMIT 2000", (first, first + "\U0010ffff")
        )
    ]
    near = difflib.get_close_matches(node, names, n=SUGGESTED, cutoff=0.6)
    hint = f"Did you mean {', '.join(near)}?" if near else "Store a fact about it first with memory.ingest."
    return Fault("not_found", f"There is no entity {node!r}.", next_action=hint)


def forget(store: Substrate, backups: Backups, job: Job, source: str, now_ns: int, *, purge: bool) -> words.Forgotten:
    """Forget a source, after a backup.

    Raises:
        Fault: `not_found` for an unknown source.
    """
    known = store.database.scalar("SELECT id FROM source WHERE name = ?", (source,))
    if known is None:
        raise _unknown_source(store, source)
    backup = backups.make(store.database.connection, "purge" if purge else "forget")
    job.check()
    with store.database.transaction():
        ended = forgetting.forget(store, known, now_ns)
        if purge:
            forgetting.purge(store, known)
        reply = words.Forgotten(
            source=source,
            edges_closed=ended.closed,
            edges_kept=ended.kept,
            passages=ended.passages,
            nodes_removed=ended.nodes,
            purged=purge,
            backup=backup.name,
        )
        store.database.remember(job.id, job.action, reply, now_ns)
    _absorb(store, ended.written)
    if purge:
        forgetting.scrub(store)
    return reply


def _unknown_source(store: Substrate, source: str) -> Fault:
    names = [name for (name,) in store.database.rows("SELECT name FROM source ORDER BY id DESC LIMIT 2000")]
    near = difflib.get_close_matches(source, names, n=SUGGESTED, cutoff=0.5) or names[:SUGGESTED]
    hint = f"Sources there are: {', '.join(near)}." if near else "Nothing is stored yet."
    return Fault("not_found", f"There is no source {source!r}.", next_action=hint)


def _absorb(store: Substrate, written: Written) -> None:
    store.absorb(written)
    if store.learning is not None:
        store.learning.reload()


def consolidate(
    store: Substrate, backups: Backups, job: Job, params: words.Consolidate, now_ns: int
) -> words.Consolidated:
    """Fade, prune and tidy, after a backup."""
    before = store.database.path.stat().st_size
    backup = backups.make(store.database.connection, "consolidate")
    job.check()

    def reply(tidied: consolidation.Tidied, after: int) -> words.Consolidated:
        return words.Consolidated(
            decayed=tidied.decayed,
            pruned=tidied.pruned,
            orphans=tidied.orphans,
            size_before_bytes=before,
            size_after_bytes=after,
            backup=backup.name,
        )

    with store.database.transaction():
        tidied = consolidation.consolidate(store, params.decay, params.prune_below, now_ns)
        store.database.remember(job.id, job.action, reply(tidied, before), now_ns)
    forgetting.scrub(store)
    if store.learning is not None:
        store.learning.reload()
    return reply(tidied, store.database.path.stat().st_size)


def replayed(store: Substrate, job: Job, kind: type[R]) -> R | None:
    """The stored reply when this request was applied before."""
    return store.database.applied(job.id, job.action, kind)
