"""The memory actor: its handlers, the lane of the database, and what happens in which order."""

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import msgspec
import numpy as np
import psutil

from actors.base import Actor, Handler, Job, Lane
from protocol import settings
from protocol.action import Outcome
from protocol.actions import memory as words
from protocol.errors import Fault, ParamFault

from . import answering, drawing, embed_later, exchange, linking, parse, schema, writes
from .backup import Backups, read_only
from .database import Lock
from .embed.service import EmbedService, QueryVectors
from .gate import Gate
from .parse import Plan
from .seeding import Tuning
from .substrate import Substrate, now_ns
from .text import QUERY_MAX_CHARS, TextError, clean
from .writing import Writer

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)
WAIT_FOR_MAX: Final = 64
"""An ingest of at most so many new texts waits a moment for their vectors, so that it can be recalled at once."""
WAIT_S: Final = 2.0
MODEL_WAIT_S: Final = 1.5
"""A recall waits so long for a model that is still loading; then it searches by words and edges."""
RETRY_S: Final = 5.0
REPLAYED: Final = "this request id was applied before; this is the reply it got"


class MemoryActor(Actor):
    """Owns the memory file. Every touch of it runs in one lane; embedding has a lane of its own."""

    name = "memory"

    def __init__(self, path: Path | None = None, *, embeddings: EmbedService | None = None) -> None:
        super().__init__()
        self.path = path or settings.database_path()
        self.embeddings = embeddings or EmbedService(settings.value("CHRYSALIS_EMBEDDER"))
        self.tuning, self.gate = Tuning(), Gate()
        self.backups = Backups(self.path)
        self.clock: Callable[[], int] = now_ns
        self._lane = Lane()
        self._lock: Lock | None = None
        self._substrate: Substrate | None = None
        self._broken: Fault | None = None
        self._unattached: Fault | None = None
        self._attached = anyio.Event()
        self._linking = anyio.Lock()
        self._wake = anyio.Event()
        self._moved = anyio.Event()
        self._embedded = anyio.Event()
        self._embed_fault = ""

    def handlers(self) -> Mapping[str, Handler]:
        """The actions of the memory domain."""
        return {
            "memory.ingest": self.ingest,
            "memory.recall": self.recall,
            "memory.update": self.update,
            "memory.forget": self.forget,
            "memory.consolidate": self.consolidate,
            "memory.restore": self.restore,
            "memory.stats": self.stats,
            "memory.reindex": self.reindex,
            "memory.export": self.export,
            "memory.graph": self.graph,
        }

    async def start(self) -> tuple[str, ...]:
        """Open the file; the embedder loads in the background."""
        await self._lane.run(self._open)
        self.spawn(self._load)
        return (f"embedder {self.embeddings.choice}", *((str(self._broken),) if self._broken else ()))

    async def stop(self) -> None:
        """Checkpoint and close the file."""
        await self._lane.run(self._close)

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = Lock(self.path.with_name(self.path.name + ".lock"))
        try:
            self._substrate = Substrate(self.path, before_migration=self._before_migration)
            self._substrate.load_vectors()
            self._substrate.present()
        except Fault as fault:
            self._broken = fault

    def _close(self) -> None:
        if self._substrate is not None:
            self._substrate.close()
            self._substrate = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    async def _load(self) -> None:
        await self.embeddings.load()
        await self._attach()
        await self._embed_waiting()

    async def _attach(self) -> None:
        embedder = self.embeddings.embedder
        if embedder is not None and self._substrate is not None:
            try:
                await self._lane.run(self._substrate.attach, embedder.fingerprint, embedder.dimension)
                self._unattached = None
            except Fault as fault:
                self._unattached = fault
        self._attached.set()
        self._wake.set()

    async def _embed_waiting(self) -> None:
        """For ever: give what was stored its vectors, then its synonyms, as soon as there is something to do."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            if self._unattached is None and self.embeddings.embedder is not None:
                try:
                    await self._work_off()
                except Fault as fault:
                    self._embed_fault = str(fault)
                    self.spawn(self._wake_later)

    async def _wake_later(self) -> None:
        await anyio.sleep(RETRY_S)
        self._wake.set()

    async def _work_off(self) -> None:
        while (store := self._substrate) is not None:
            batch = await self._lane.run(self._if_open, embed_later.next_batch)
            if not batch:
                break
            codes = await self.embeddings.codes([(kind, text) for kind, _, text in batch])
            async with self._linking:  # a restore may have put another file in place
                if self._substrate is store:
                    await self._lane.run(self._if_open, embed_later.take, batch, codes)
            self._embed_fault = ""
            self._moved.set()
            self._moved = anyio.Event()
        self._embedded.set()
        await self._link()

    def _if_open(self, step: Callable[..., T], *args: Any) -> T | None:
        """A step of background work in the lane; nothing once the file is closed."""
        return None if self._substrate is None else step(self._substrate, *args)

    def _store(self) -> Substrate:
        if self._broken is not None:
            raise self._broken
        if self._substrate is None:
            raise Fault("unavailable", "The memory is closing.", next_action="Retry in a few seconds.")
        return self._substrate

    async def _writable(self) -> Substrate:
        """The store; refused only when it holds another embedder's vectors."""
        store = self._store()
        if self._unattached is not None:
            raise self._unattached
        return store

    async def _searchable(self, job: Job) -> Substrate:
        """The store, once its embedder is loaded and fits it."""
        store = self._store()
        await self.embeddings.ready(job)
        with anyio.move_on_after(max(0.0, job.remaining_s() - 0.2)):
            await self._attached.wait()
        return await self._writable() if self._attached.is_set() else store

    async def ingest(self, job: Job, params: words.Ingest) -> Outcome:
        """Store triples, text and passages, all in one transaction; their vectors follow."""
        plan = await anyio.to_thread.run_sync(_planned, params)
        store = await self._writable()
        if replayed := await self._replayed(job, words.Ingested):
            return _ingested(replayed, (REPLAYED,))
        job.progress(0, len(plan.triples) + len(plan.passages), "storing")
        was_idle = self._embedded.is_set()
        reply, new = await self._lane.run(self._write_plan, store, job, plan)
        if new:
            self._embedded = anyio.Event()
            self._wake.set()
        if params.wait or (was_idle and new <= WAIT_FOR_MAX and self.embeddings.embedder is not None):
            await self._wait_embedded(job, None if params.wait else WAIT_S)
        return _ingested(reply, await self._unembedded_note())

    def _write_plan(self, store: Substrate, job: Job, plan: Plan) -> tuple[words.Ingested, int]:
        """Store the plan; its reply and how many texts wait for vectors now."""
        job.check()
        now = self.clock()
        with store.database.transaction():
            written = Writer(store.database, store.facts, store.passages, now).write(plan)
            new = embed_later.put(store.database, written)
            reply = words.Ingested(
                stored=written.stored,
                new_edges=len(written.facts),
                new_nodes=len(written.nodes),
                passages=len(written.passages),
                malformed=len(plan.rejected),
                rejected=plan.rejected[: parse.REJECTED_SHOWN],
            )
            store.database.remember(job.id, job.action, reply, now)
        store.absorb(written)
        return reply, new

    async def _wait_embedded(self, job: Job, limit_s: float | None) -> None:
        """Wait until nothing waits for vectors any more, telling how far it is; the job's deadline ends it too."""
        left = max(0.0, job.remaining_s() - 0.2)
        total = 0
        if limit_s is None:
            await self.embeddings.wait_settled(left)
        with anyio.move_on_after(left if limit_s is None else min(left, limit_s)):
            while not self._embedded.is_set() and self.embeddings.embedder is not None:
                waiting = await self._lane.run(embed_later.pending, self._store().database)
                total = max(total, waiting)
                job.progress(total - waiting, total, "embedding")
                await self._moved_or_embedded()

    async def _moved_or_embedded(self) -> None:
        with anyio.move_on_after(0.5):
            await self._moved.wait()

    async def _unembedded_note(self) -> tuple[str, ...]:
        waiting = await self._lane.run(embed_later.pending, self._store().database)
        if not waiting:
            return ()
        why = f" ({self._embed_fault})" if self._embed_fault else ""
        return (f"{waiting} texts wait for their vectors{why}; until then they are found by words and edges only",)

    async def _replayed(self, job: Job, kind: type[R]) -> R | None:
        return await self._lane.run(writes.replayed, self._store(), job, kind)

    async def _link(self) -> None:
        """Draw the synonym edges of new nodes, batch by batch."""
        embedder = self.embeddings.embedder
        more = True
        while more and embedder is not None:
            async with self._linking:
                more = bool(await self._lane.run(self._if_open, linking.link_batch, embedder.links))

    async def recall(self, job: Job, params: words.Recall) -> Outcome:
        """Answer a question from the graph; changes nothing. By words and edges alone while the model is away."""
        query = _query(params.query)
        await self.embeddings.wait_settled(min(MODEL_WAIT_S, max(0.0, job.remaining_s() - 0.2)))
        vectors: QueryVectors | None = None
        if self.embeddings.embedder is not None:
            await self._searchable(job)
            vectors = await self.embeddings.query(job, query)
        outcome = await self._lane.run(self._recall, self._store(), job, params, query, vectors)
        notes = await self._unembedded_note()
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
        text, node = _cleaned("query", params.query), _cleaned("node", params.node)
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
        source = _cleaned("source", params.source)
        reply = await self._replayed(job, words.Forgotten)
        notes = (REPLAYED,) if reply else ()
        if reply is None:
            do = partial(writes.forget, purge=params.purge)
            reply = await self._lane.run(do, self._store(), self.backups, job, source, self.clock())
            if reply.purged:
                notes = ("backups made before still hold it; they are in the backups folder beside the database",)
        text = f"Forgot {source}: {reply.edges_closed} facts closed, {reply.edges_kept} kept by other sources."
        return Outcome(summary=text, data=reply, notes=notes)

    async def consolidate(self, job: Job, params: words.Consolidate) -> Outcome:
        """Fade what was taught and is unused, tidy the file."""
        reply = await self._replayed(job, words.Consolidated)
        notes = (REPLAYED,) if reply else ()
        if reply is None:
            reply = await self._lane.run(writes.consolidate, self._store(), self.backups, job, params, self.clock())
        text = f"{reply.decayed} learned weights faded, {reply.pruned} went, {reply.orphans} examples dropped."
        return Outcome(summary=text, data=reply, notes=notes)

    async def restore(self, job: Job, params: words.Restore) -> Outcome:
        """List the backups, or put one back while clients are connected."""
        if params.name is None:
            backups = await self._lane.run(self.backups.listed)
            return Outcome(summary=f"There are {len(backups)} backups.", data=words.Restored(backups=backups))
        if self._broken is None and (reply := await self._replayed(job, words.Restored)):
            return Outcome(summary=f"Restored {reply.restored}.", data=reply, notes=(REPLAYED,))
        async with self._linking:
            reply = await self._lane.run(self._restore, job, params.name)
        await self._attach()
        return Outcome(
            summary=f"Restored {reply.restored}; the state before is kept as {reply.before}.",
            data=reply,
            next_action=str(self._unattached) if self._unattached else None,
        )

    def _restore(self, job: Job, name: str) -> words.Restored:
        backup = self.backups.find(name)
        before = self._leave()
        self.backups.put_back(backup)
        self._broken = None
        self._substrate = Substrate(self.path, before_migration=self._before_migration)
        self._substrate.load_vectors()
        reply = words.Restored(backups=self.backups.listed(), restored=name, before=before)
        with self._substrate.database.transaction():
            if self._substrate.database.applied(job.id, job.action, words.Restored) is None:
                self._substrate.database.remember(job.id, job.action, reply, self.clock())
        return reply

    def _leave(self) -> str:
        """Keep the present state, then close it: as a backup, or set aside when it is damaged."""
        if self._substrate is None:
            return self.backups.set_aside()
        kept = self.backups.make(self._substrate.database.connection, "restore").name
        self._substrate.close()
        self._substrate = None
        return kept

    def _before_migration(self, path: Path) -> None:
        with contextlib.closing(read_only(path)) as connection:
            self.backups.make(connection, "migration")

    async def reindex(self, job: Job, params: words.Reindex) -> Outcome:  # noqa: ARG002 - takes no more
        """Bind the embedder in force to the file and embed everything anew; a killed run goes on at the next start."""
        embedder = await self.embeddings.ready(job)
        total = await self._lane.run(embed_later.renew, self._store(), embedder.fingerprint, embedder.dimension)
        self._embedded = anyio.Event()
        await self._attach()
        await self._wait_embedded(job, None)
        left = await self._lane.run(embed_later.pending, self._store().database)
        reply = words.Reindexed(embedded=total - left, waiting=left, embedder=embedder.fingerprint)
        text = f"{total - left} of {total} texts embedded with {embedder.name}" + (
            ", the rest follows." if left else "."
        )
        return Outcome(summary=text, data=reply, partial=bool(left))

    async def export(self, job: Job, params: words.Export) -> Outcome:  # noqa: ARG002 - a read
        """One page of the store."""
        page = await self._lane.run(exchange.export, self._store(), params.kind, params.after, params.limit)
        return Outcome(summary=f"{len(page.items)} of {page.total} {params.kind}.", data=page)

    async def graph(self, job: Job, params: words.Picture) -> Outcome:
        """A page that draws a neighbourhood, or how a recall flowed."""
        vectors = None
        if params.query is not None:
            vectors = await self.embeddings.query(job, _query(params.query))
        return await self._lane.run(drawing.draw, self._store(), params, vectors, self.tuning)

    async def stats(self, job: Job, params: words.StatsParams) -> Outcome:  # noqa: ARG002 - takes none
        """Counts and state, for status, doctor and meta.stats; served also while the embedder loads."""
        return Outcome(summary="The state of the memory.", data=await self._lane.run(self._stats, self._store()))

    def _stats(self, store: Substrate) -> words.MemoryStats:
        count = store.database.scalar
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
            embedder_state=str(self._unattached) if self._unattached else self.embeddings.state,
            fingerprint=store.fingerprint or "",
            sqlite=store.sql_version(),
            pending_vectors=embed_later.pending(store.database),
            pending_links=linking.pending(store),
            backups=len(self.backups.listed()),
            rss_bytes=psutil.Process().memory_info().rss,
        )


def _planned(params: words.Ingest) -> Plan:
    try:
        plan = parse.plan(params)
    except TextError as error:
        raise _invalid("source", str(error)) from error
    if not (plan.triples or plan.passages or plan.rejected):
        raise _invalid("triples", "there is nothing to store: give triples, text or passages")
    if plan.rejected and (params.strict or not (plan.triples or plan.passages)):
        faults = tuple(ParamFault(item.path, item.problem) for item in plan.rejected[: parse.REJECTED_SHOWN])
        raise Fault(
            "invalid_params",
            f"{len(plan.rejected)} items are malformed; nothing was stored.",
            next_action='Send each triple as ["subject", "relation", "object"].',
            faults=faults,
        )
    return plan


def _cleaned(path: str, text: str) -> str:
    try:
        return clean(text)
    except TextError as error:
        raise _invalid(path, str(error)) from error


def _query(text: str) -> str:
    try:
        return clean(text, limit=QUERY_MAX_CHARS)
    except TextError as error:
        raise _invalid("query", str(error)) from error


def _invalid(path: str, problem: str) -> Fault:
    return Fault(
        "invalid_params",
        f"{path}: {problem}.",
        next_action="Correct it and call again.",
        faults=(ParamFault(path, problem),),
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
