"""The memory actor in this process, for benchmarks: blocking calls, real database, real embedder."""

import hashlib
import itertools
import os
import tempfile
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import numpy as np
from msgspec import Raw

from actors.base import Job
from actors.memory import embed_later, linking
from actors.memory.actor import MemoryActor
from actors.memory.embed import choose
from actors.memory.embed.base import Embedder, Floats, Kind
from actors.memory.embed.service import EmbedService
from actors.memory.substrate import Substrate
from actors.memory.vectors import Codes, quantise
from protocol.action import Outcome
from protocol.actions import memory as words
from protocol.messages import ActorMessage, Work

PARAMS: Mapping[str, type[Any]] = {action.full_name: action.params for action in words.ACTIONS}
DEADLINE_MS = 3_600_000


class Remembering:
    """An embedder that keeps its vectors in a file between runs of benchmarks, keyed by its fingerprint."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name, self.fingerprint = inner.name, inner.fingerprint
        self.dimension, self.links, self.batch = inner.dimension, inner.links, inner.batch
        digest = hashlib.sha256(inner.fingerprint.encode()).hexdigest()[:16]
        self._path = Path(tempfile.gettempdir()) / f"chrysalis-bench-{os.getuid()}" / f"{digest}.npz"
        self._known: dict[str, int] = {}
        self._rows: list[Floats] = []
        self._new = False
        if self._path.exists():
            with np.load(self._path) as held:
                self._rows = list(held["vectors"].astype(np.float32))
                self._known = {text: row for row, text in enumerate(held["texts"].tolist())}

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """As the inner one; what was embedded before is read."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            for text, row in zip(new, self._inner.embed(new, kind), strict=True):
                self._known[text] = len(self._rows)
                self._rows.append(row)
            self._new = True
        return np.stack([self._rows[self._known[text]] for text in texts])

    def as_query(self, vector: Floats, text: str) -> Floats:
        """As the inner one."""
        return self._inner.as_query(vector, text)

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:
        """As the inner one."""
        return self._inner.as_foreign(vector, text)

    def save(self) -> None:
        """Write what is new."""
        if not self._new:
            return
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        partial = self._path.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial, vectors=np.stack(self._rows).astype(np.float16), texts=np.array(list(self._known)))
        partial.replace(self._path)


class BenchActor(MemoryActor):
    """The memory actor with nobody to talk to."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.took: list[tuple[float, float]] = []

    def post(self, message: ActorMessage) -> None:
        """Say nothing."""
        del message

    async def pending(self) -> int:
        """How many names still wait for vectors or synonyms."""
        store = self.file.store()
        return await self._lane.run(lambda: embed_later.pending(store.database) + linking.pending(store))

    def _recall(self, *args: Any) -> Outcome:  # pyright: ignore[reportIncompatibleMethodOverride] - only passed on
        """As ever; how long it took is kept as (wall, processor) milliseconds of the lane's one thread."""
        wall, cpu = time.perf_counter(), time.thread_time()
        found = super()._recall(*args)
        self.took.append(((time.perf_counter() - wall) * 1000, (time.thread_time() - cpu) * 1000))
        return found

    def opened(self) -> Substrate:
        """The open store."""
        return self.file.store()

    async def begin_reindex(self) -> None:
        """The first step of a reindex, and the stop of all that would follow."""
        await self.embeddings.wait_settled(60.0)
        embedder = self.embeddings.embedder
        assert embedder is not None
        await self._lane.run(embed_later.renew, self.file.store(), embedder.fingerprint, embedder.dimension)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Started, and stopped at the end."""
        async with anyio.create_task_group() as self._tasks:
            await self.start()
            try:
                yield
            finally:
                await self.stop()
                self._tasks.cancel_scope.cancel()


class Memory:
    """Blocking calls to an actor in a thread of its own."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, actor: BenchActor, gate: threading.Event) -> None:
        self._portal = portal
        self.release = gate.set
        self.actor = actor
        self._name, self._ids = uuid.uuid4().hex, itertools.count(1)

    def call(
        self,
        action: str,
        *,
        operator: bool = False,
        request_id: str | None = None,
        deadline_ms: int = DEADLINE_MS,
        **params: Any,
    ) -> Outcome:
        """One action with its params; faults are raised."""
        request = request_id or f"{self._name}-{next(self._ids)}"
        work = Work(id=request, action=action, params=Raw(b"\x80"), deadline_ms=deadline_ms, operator=operator)
        handler = self.actor.handlers()[action]
        if action == "memory.ingest":
            params.setdefault("wait", True)

        async def serve() -> Outcome:
            return await handler(Job(work, self.actor), PARAMS[action](**params))

        outcome = self._portal.call(serve)
        if action == "memory.ingest" and params["wait"]:
            self.settle()
        return outcome

    def settle(self) -> None:
        """Wait until every vector is made and every synonym drawn."""
        self._portal.call(self._linked)

    def begin_reindex(self) -> None:
        """Let everything wait for other vectors, and do no more: as a run that was killed."""
        self._portal.call(self.actor.begin_reindex)

    async def _linked(self) -> None:
        """Wait until every synonym is drawn, so that what is measured does not depend on when it is asked."""
        while await self.actor.pending():  # noqa: ASYNC110
            await anyio.sleep(0.05)  # what is waited for has several causes and no event

    def store(self) -> Substrate:
        """The open store, for looking at it between calls."""
        return self.actor.opened()

    def vector(self, text: str) -> Codes:
        """A text's int8 vector as learning sees it."""
        embedder = self.actor.embeddings.embedder
        assert embedder is not None
        return quantise(embedder.embed([text], "node"))[0]


@contextmanager
def open_memory(
    path: Path | None = None,
    *,
    choice: str = "",
    remember: bool = True,
    embedder: Embedder | None = None,
    hold: bool = False,
) -> Generator[Memory]:
    """A running memory actor on `path`, or on a file of its own that is gone afterwards.

    Args:
        choice: the embedder by name; `embedder`: one of the benchmark's own in its place.
        remember: keep vectors between runs. hold: the embedder does not come before `Memory.release`.
    """
    keeper: list[Remembering] = []
    gate = threading.Event()

    def load(name: str) -> Embedder:
        if hold:
            gate.wait()
        if embedder is not None:
            return embedder
        inner = choose.load(name)
        if not remember:
            return inner
        keeper.append(Remembering(inner))
        return keeper[0]

    with ExitStack() as own:  # a process that may be killed makes no folder that nobody would clear away
        file = path or Path(own.enter_context(tempfile.TemporaryDirectory(prefix="chrysalis-bench-"))) / "memory.db"
        actor = BenchActor(file, embeddings=EmbedService(choice, loader=load))
        with anyio.from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(actor.running()):
            try:
                yield Memory(portal, actor, gate)
            finally:
                gate.set()
        for one in keeper:
            one.save()
