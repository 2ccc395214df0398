"""The memory actor: its handlers, the lane of the database, and what happens in which order."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio.to_thread
import msgspec
import numpy as np
import psutil

from actors.base import Actor, Handler, Job
from actors.lane import Lane
from protocol import settings
from protocol.action import NoParams, Outcome
from protocol.actions import memory as words
from protocol.errors import Fault, ParamFault

from . import answering, drawing, embed_later, exchange, linking, schema, writes
from .embed.base import Embedder
from .embed.service import EmbedService, QueryVectors
from .embed_later import Backlog
from .gate import Gate
from .memory_file import MemoryFile
from .params import cleaned, planned, question
from .parse import Plan
from .seeding import Tuning
from .substrate import Substrate, now_ns

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)
WAIT_FOR_MAX: Final = 64
"""An ingest of at most so many new texts waits a moment for their vectors, so that it can be recalled at once."""
WAIT_S: Final = 2.0
MODEL_WAIT_S: Final = 1.5
"""A recall waits so long for a model that is still loading; then it searches by words and edges."""
REPLAYED: Final = "this request id was applied before; this is the reply it got"


class MemoryActor(Actor):
    """Owns the memory file. Every touch of it runs in one lane; embedding has a lane of its own."""

    name = "memory"

    def __init__(self, path: Path | None = None, *, embeddings: EmbedService | None = None) -> None:
        super().__init__()
        self.path = path or settings.database_path()
        self.embeddings = embeddings or EmbedService(settings.value("CHRYSALIS_EMBEDDER"))
        self.tuning, self.gate = Tuning(), Gate()
        self.clock: Callable[[], int] = now_ns
        self.file = MemoryFile(self.path)
        self._lane = Lane()
        self.backlog = Backlog(self.file, self._lane, self.embeddings)

    def handlers(self) -> Mapping[str, Handler]:
        """The actions of the memory domain."""
        return {
            "memory.ingest": self.ingest,
            "memory.recall": self.recall,
            "memory.update": self.update,
            "memory.forget": self.forget,
            "memory.consolidate": self.consolidate,
            "memory.restore": self.restore,
            "memory.backup": self.backup,
            "memory.stats": self.stats,
            "memory.reindex": self.reindex,
            "memory.export": self.export,
            "memory.graph": self.graph,
        }

    async def start(self) -> tuple[str, ...]:
        """Open the file; the embedder loads in the background."""
        await self._lane.run(self.file.open)
        self.spawn(self.backlog.run)
        broken = self.file.broken
        return (f"embedder {self.embeddings.choice}", *((str(broken),) if broken else ()))

    async def stop(self) -> None:
        """Checkpoint and close the file."""
        await self._lane.run(self.file.close)

    def _writable(self) -> Substrate:
        """The store; refused only when it holds another embedder's vectors."""
        store = self.file.store()
        if self.backlog.refused is not None:
            raise self.backlog.refused
        return store

    async def _searchable(self, job: Job) -> Substrate:
        """The store, once its embedder is loaded and fits it."""
        store = self.file.store()
        await self.embeddings.ready(job)
        bound = await self.backlog.wait_bound(job.remaining_s() - embed_later.MARGIN_S)
        return self._writable() if bound else store

    async def _change(self, do: Callable[..., T], *args: Any) -> T:
        """A write of many rows in the lane, after which what waits for vectors is counted anew."""

        def change() -> T:
            try:
                return do(self.file.store(), *args)
            finally:
                self.backlog.recount()

        return await self._lane.run(change)

    async def ingest(self, job: Job, params: words.Ingest) -> Outcome:
        """Store triples, text and passages, all in one transaction; their vectors follow."""
        plan = await anyio.to_thread.run_sync(planned, params)
        self._writable()
        if replayed := await self._replayed(job, words.Ingested):
            return _ingested(replayed, (REPLAYED,))
        job.progress(0, len(plan.triples) + len(plan.passages), "storing")
        was_idle = not self.backlog.waiting
        reply, new = await self._lane.run(self._write_plan, job, plan)
        self.backlog.wake()
        if params.wait or (was_idle and new <= WAIT_FOR_MAX and self.embeddings.embedder is not None):
            await self.backlog.wait_done(job, None if params.wait else WAIT_S)
        return _ingested(reply, self.backlog.note())

    def _write_plan(self, job: Job, plan: Plan) -> tuple[words.Ingested, int]:
        """Store the plan; its reply and how many more texts wait for vectors."""
        reply, new = writes.ingest(self._writable(), job, plan, self.clock())
        self.backlog.grow(new)
        return reply, new

    async def _replayed(self, job: Job, kind: type[R]) -> R | None:
        return await self._lane.run(writes.replayed, self.file.store(), job, kind)

    async def recall(self, job: Job, params: words.Recall) -> Outcome:
        """Answer a question from the graph; changes nothing. By words and edges alone while the model is away."""
        query = question(params.query)
        await self.embeddings.wait_settled(min(MODEL_WAIT_S, max(0.0, job.remaining_s() - 0.2)))
        vectors: QueryVectors | None = None
        if self.embeddings.embedder is not None:
            await self._searchable(job)
            vectors = await self.embeddings.query(job, query)
        outcome = await self._lane.run(self._recall, self.file.store(), job, params, query, vectors)
        notes = self.backlog.note()
        if vectors is None:
            notes = (f"the embedder is {self.embeddings.state}: searched by words and edges only", *notes)
        return msgspec.structs.replace(outcome, notes=outcome.notes + notes, partial=outcome.partial or vectors is None)

    def _recall(
        self, store: Substrate, job: Job, params: words.Recall, query: str, vectors: QueryVectors | None
    ) -> Outcome:
        if job.remaining_s() < 0:
            raise Fault("timeout", "The deadline passed before the recall began.", next_action="Retry.")
        job.check()
        if vectors is None:
            blank = np.zeros(store.dimension, np.float32)
            vectors = QueryVectors(blank.astype(np.int8), blank, None)
        return answering.answer(store, params, query, vectors, self.tuning, self.gate)

    async def update(self, job: Job, params: words.Update) -> Outcome:
        """Teach that a phrase means an entity."""
        text, node = cleaned("query", params.query), cleaned("node", params.node)
        store = await self._searchable(job)
        if reply := await self._replayed(job, words.Updated):
            return Outcome(summary=f"Learned that {text!r} means {reply.node}.", data=reply, notes=(REPLAYED,))
        vectors = await self.embeddings.query(job, text)
        reply = await self._lane.run(writes.teach, store, job, node, text, vectors.code, params.strength, self.clock())
        return Outcome(summary=f"Learned that {text!r} means {reply.node}.", data=reply)

    async def forget(self, job: Job, params: words.Forget) -> Outcome:
        """Forget what a source said; with `purge` (operator only) also take it out of the file."""
        if params.purge and not job.operator:
            raise Fault(
                "invalid_params",
                "Only the operator may purge.",
                next_action="Call without purge, or run `chrysalis call memory forget` with it.",
                faults=(ParamFault("purge", "only for the operator", "false", False),),
            )
        source = cleaned("source", params.source)
        reply = await self._replayed(job, words.Forgotten)
        notes = (REPLAYED,) if reply else ()
        if reply is None:
            do = partial(writes.forget, purge=params.purge)
            reply = await self._change(do, self.file.backups, job, source, self.clock())
            if reply.purged:
                notes = ("backups made before still hold it; they are in the backups folder beside the database",)
        text = f"Forgot {source}: {reply.edges_closed} facts closed, {reply.edges_kept} kept by other sources."
        return Outcome(summary=text, data=reply, notes=notes)

    async def consolidate(self, job: Job, params: words.Consolidate) -> Outcome:
        """Fade what was taught and is unused, tidy the file."""
        reply = await self._replayed(job, words.Consolidated)
        notes = (REPLAYED,) if reply else ()
        if reply is None:
            reply = await self._change(writes.consolidate, self.file.backups, job, params, self.clock())
        text = f"{reply.decayed} learned weights faded, {reply.pruned} went, {reply.orphans} examples dropped."
        return Outcome(summary=text, data=reply, notes=notes)

    async def restore(self, job: Job, params: words.Restore) -> Outcome:
        """List the backups, or put one back while clients are connected."""
        if params.name is None:
            backups = await self._lane.run(self.file.backups.listed)
            return Outcome(summary=f"There are {len(backups)} backups.", data=words.Restored(backups=backups))
        if self.file.broken is None and (reply := await self._replayed(job, words.Restored)):
            return Outcome(summary=f"Restored {reply.restored}.", data=reply, notes=(REPLAYED,))
        reply = await self._lane.run(self._restore, job, params.name)
        self.backlog.wake()
        refused = self.backlog.refused
        return Outcome(
            summary=f"Restored {reply.restored}; what was written since is gone, and kept as {reply.before}.",
            data=reply,
            next_action=str(refused) if refused else None,
        )

    async def backup(self, job: Job, params: NoParams) -> Outcome:  # noqa: ARG002 - takes none
        """Take a verified backup because somebody wants one."""

        def take() -> words.Backup:
            job.check()
            return self.file.backups.make(self.file.store().database.connection, "asked")

        made = await self._lane.run(take)
        return Outcome(summary=f"Backup {made.name} is made and verified: {made.edges} facts.", data=made)

    def _restore(self, job: Job, name: str) -> words.Restored:
        try:
            return self.file.restore(job, name, self.clock())
        finally:
            self.backlog.bind()

    async def reindex(self, job: Job, params: words.Reindex) -> Outcome:  # noqa: ARG002 - takes no more
        """Bind the embedder in force to the file and embed everything anew; a killed run goes on at the next start."""
        embedder = await self.embeddings.ready(job)
        total = await self._lane.run(self._renew, embedder)
        self.backlog.wake()
        await self.backlog.wait_done(job)
        left = self.backlog.waiting
        if not left:
            await self._lane.run(embed_later.renewed, self.file.store())
        reply = words.Reindexed(embedded=total - left, waiting=left, embedder=embedder.fingerprint)
        text = f"{total - left} of {total} texts embedded with {embedder.name}"
        text += ", the rest follows." if left else "."
        if not total:
            text = f"Everything has its vectors of {embedder.name}: what a stopped run had left was done meanwhile."
        return Outcome(summary=text, data=reply, partial=bool(left))

    def _renew(self, embedder: Embedder) -> int:
        total = embed_later.renew(self.file.store(), embedder.fingerprint, embedder.dimension)
        self.backlog.bind()
        return total

    async def export(self, job: Job, params: words.Export) -> Outcome:  # noqa: ARG002 - a read
        """One page of the store."""
        page = await self._lane.run(exchange.export, self.file.store(), params.kind, params.after, params.limit)
        return Outcome(summary=f"{len(page.items)} of {page.total} {params.kind}.", data=page)

    async def graph(self, job: Job, params: words.Picture) -> Outcome:
        """A page that draws a neighbourhood, or how a recall flowed."""
        vectors = None
        if params.query is not None:
            vectors = await self.embeddings.query(job, question(params.query))
        return await self._lane.run(drawing.draw, self.file.store(), params, vectors, self.tuning)

    async def stats(self, job: Job, params: words.StatsParams) -> Outcome:  # noqa: ARG002 - takes none
        """Counts and state, for status, doctor and meta.stats; served also while the embedder loads."""
        return Outcome(summary="The state of the memory.", data=await self._lane.run(self._stats, self.file.store()))

    def _stats(self, store: Substrate) -> words.MemoryStats:
        count, refused = store.database.scalar, self.backlog.refused
        wal = Path(f"{self.path}-wal")
        return words.MemoryStats(
            nodes=count("SELECT count(*) FROM node WHERE linked >= 0"),
            edges=count("SELECT count(*) FROM edge WHERE invalidated_ns IS NULL"),
            passages=count("SELECT count(*) FROM passage WHERE ended_ns IS NULL"),
            sources=count("SELECT count(*) FROM source"),
            taught=count("SELECT count(*) FROM example"),
            synonyms=count("SELECT count(*) FROM synonym"),
            path=str(self.path),
            size_bytes=self.path.stat().st_size,
            wal_bytes=wal.stat().st_size if wal.exists() else 0,
            schema=schema.VERSION,
            embedder=self.embeddings.choice,
            embedder_state=str(refused) if refused else self.embeddings.state,
            fingerprint=store.fingerprint or "",
            sqlite=store.sql_version(),
            pending_vectors=self.backlog.waiting,
            pending_links=linking.pending(store),
            backups=len(self.file.backups.listed()),
            rss_bytes=psutil.Process().memory_info().rss,
        )


def _ingested(reply: words.Ingested, notes: tuple[str, ...]) -> Outcome:
    parts = [f"Stored {reply.stored} facts ({reply.new_edges} new, {reply.new_nodes} new names)"]
    if reply.passages:
        parts.append(f"{reply.passages} passages")
    if reply.malformed:
        parts.append(f"left out {reply.malformed} malformed")
    return Outcome(
        summary=", ".join(parts) + ".",
        data=reply,
        severity="WARN" if reply.malformed else "INFO",
        notes=notes,
        next_action="Correct the items under rejected and send only those again." if reply.malformed else None,
    )
