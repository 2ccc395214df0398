"""The pool of workers: one warm in reserve, a few at work, the rest wait in order; none is used twice."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc

from .forking import Zygote, ZygoteDied
from .process import Worker, WorkerDied

log = logging.getLogger("chrysalis")

AT_WORK_MAX = 3
SPARES = 1
RETRY_MIN_S = 0.25
RETRY_MAX_S = 10.0


class PoolClosed(Exception):  # noqa: N818
    """The pool has ended."""


class Pool:
    """Hands out warm workers in the order asked; keeps `SPARES` warm ones beyond those asked for.

    All are forked from one zygote, which is replaced when it has ended.

    Runs inside the task group it is given, on the loop's thread.
    """

    def __init__(self, tasks: anyio.abc.TaskGroup, *, at_work: int = AT_WORK_MAX, spares: int = SPARES) -> None:
        self._tasks = tasks
        self._spares = spares
        self._turns = anyio.CapacityLimiter(at_work)
        self._send, self._receive = anyio.create_memory_object_stream[Worker](at_work + spares)
        self._starting = 0
        self._asking = 0
        self.failures = 0
        """Starts that failed in a row."""
        self._closed = False
        self._idle: list[Worker] = []
        self._busy: list[Worker] = []
        self._zygote: Zygote | None = None
        self._zygote_turn = anyio.Lock()

    @property
    def zygote(self) -> int | None:
        """The process that workers are forked from; None before there is one."""
        return self._zygote.pid if self._zygote else None

    @property
    def pids(self) -> list[int]:
        """The processes in reserve."""
        return [worker.pid for worker in self._idle]

    @property
    def busy(self) -> list[int]:
        """The processes that have a task."""
        return [worker.pid for worker in self._busy]

    def start(self) -> None:
        """Begin to keep the reserve."""
        self._fill()

    @asynccontextmanager
    async def worker(self, wait_s: float) -> AsyncGenerator[Worker]:
        """A warm worker, for one use; killed after it.

        Raises:
            TimeoutError: none was free for so long.
            PoolClosed: the pool has ended.
        """
        deadline = anyio.current_time() + wait_s
        borrower = object()
        with anyio.fail_after(max(0.0, wait_s)):
            await self._turns.acquire_on_behalf_of(borrower)
        try:
            with anyio.fail_after(max(0.0, deadline - anyio.current_time())):
                worker = await self._take()
        except BaseException:
            self._turns.release_on_behalf_of(borrower)
            raise
        self._busy.append(worker)
        try:
            yield worker
        finally:
            self._tasks.start_soon(self._end, worker, borrower)

    async def _end(self, worker: Worker, borrower: object) -> None:
        """Kill it beside the answer, which need not wait for that; its turn is over when it is gone."""
        await worker.kill()
        self._busy.remove(worker)
        self._turns.release_on_behalf_of(borrower)

    async def close(self) -> None:
        """Kill the reserve; who still waits gets PoolClosed."""
        self._closed = True
        for worker in self._idle:
            await worker.kill()
        self._idle.clear()
        if self._zygote:
            await self._zygote.kill()
        self._send.close()
        self._receive.close()

    async def _take(self) -> Worker:
        self._asking += 1
        try:
            while True:
                self._fill()
                try:
                    worker = await self._receive.receive()
                except (anyio.EndOfStream, anyio.ClosedResourceError):
                    raise PoolClosed from None
                if worker in self._idle:
                    self._idle.remove(worker)
                if worker.alive:
                    break
                await worker.kill()
        finally:
            self._asking -= 1
        self._fill()
        return worker

    def _fill(self) -> None:
        """Start as many as are asked for and the reserve needs."""
        while not self._closed and len(self._idle) + self._starting < self._asking + self._spares:
            self._starting += 1
            self._tasks.start_soon(self._start_one)

    async def _start_one(self) -> None:
        try:
            worker = await Worker.spawn(await self._living_zygote())
        except (WorkerDied, ZygoteDied, OSError) as error:
            log.warning("a solver worker did not start (%r)", error)
            self.failures += 1
            await anyio.sleep(min(RETRY_MAX_S, RETRY_MIN_S * 2**self.failures))
            self._starting -= 1
            self._fill()
            return
        self._starting -= 1
        self.failures = 0
        if self._closed:
            await worker.kill()
            return
        self._idle.append(worker)
        self._send.send_nowait(worker)

    async def _living_zygote(self) -> Zygote:
        async with self._zygote_turn:
            if self._zygote is None or not self._zygote.alive:
                if self._zygote:
                    await self._zygote.kill()
                self._zygote = None
                self._zygote = await Zygote.start()
            return self._zygote
