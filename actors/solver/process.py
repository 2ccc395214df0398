"""The actor's side of one worker: have it forked, hand it the task, hear its answers, end it at the deadline."""

import contextlib
import os
import select
import signal
import socket
import time

import anyio
import anyio.abc
import msgspec
from msgspec import Struct

from protocol.action import Outcome

from .forking import Zygote, ZygoteDied
from .wire import HEADER_BYTES, HERE, MAX_FRAME_BYTES, Final, FromWorker, Interim, Warm, decode_reply

FORK_MAX_S = 20.0
"""A fork takes milliseconds; a zygote that has not done it by then hangs or is stopped."""
EXIT_MAX_S = 5.0
OVERRUN_S = 0.25
"""How long a worker may be over its budget before it is killed: time to send what it has."""


class WorkerDied(Exception):  # noqa: N818
    """The worker ended without an answer."""


class Orphaned(WorkerDied):
    """The worker ended because its zygote did: nothing was found out about its problem, which can be asked again."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a task ended. `timed_out`: killed at the deadline; then `interim` is the best there is."""

    final: Final | None = None
    interim: Outcome | None = None
    timed_out: bool = False
    sandbox: str = ""


class Worker:
    """One single-use process; use `spawn`, then `run` once, then `kill`."""

    def __init__(self, stream: anyio.abc.SocketStream, pidfd: int, zygote: Zygote) -> None:
        self.pid = 0
        self.sandbox = ""
        self._stream = stream
        self._pidfd = pidfd
        self._zygote = zygote
        self._buffer = bytearray()

    @property
    def alive(self) -> bool:
        """Whether the process runs, and its zygote, whose end would be its own; only until `kill`."""
        ended = select.poll()
        ended.register(self._pidfd, select.POLLIN)
        return self._zygote.alive and not ended.poll(0)

    @classmethod
    async def spawn(cls, zygote: Zygote) -> "Worker":
        """Have a worker forked and wait until it is confined; a zygote that does not answer is killed.

        Raises:
            WorkerDied: it was not forked, or ended before it was confined.
        """
        try:
            with anyio.fail_after(FORK_MAX_S):
                return await cls._forked(zygote)
        except ZygoteDied:
            raise Orphaned from None
        except TimeoutError:
            await zygote.kill()
            raise Orphaned from None

    @classmethod
    async def _forked(cls, zygote: Zygote) -> "Worker":
        ours = zygote.fork()
        try:
            await anyio.wait_readable(ours)
            _, pidfds, _, _ = socket.recv_fds(ours, len(HERE), 1)
            if not pidfds:
                raise WorkerDied
        except BaseException:
            ours.close()
            raise
        worker = cls(await anyio.abc.SocketStream.from_socket(ours), pidfds[0], zygote)
        try:
            message = await worker._receive()
        except BaseException:
            await worker.kill()
            raise
        if isinstance(message, Warm):
            worker.sandbox, worker.pid = message.sandbox, message.pid
        return worker

    async def run(self, task: bytes, budget_ms: int) -> Ended:
        """Hand over the framed task and wait for its answer, not longer than its budget and a quarter of a second.

        Raises:
            Orphaned: the zygote ended, and the process with it.
            WorkerDied: the process ended before it answered and had given no interim answer.
        """
        interim: Outcome | None = None
        with anyio.move_on_at(anyio.current_time() + budget_ms / 1000 + OVERRUN_S):
            try:
                await self._stream.send(task)
                while True:
                    message = await self._receive()
                    if isinstance(message, Final):
                        return Ended(final=message, interim=interim, sandbox=self.sandbox)
                    if isinstance(message, Interim):
                        interim = message.outcome
            except anyio.BrokenResourceError:
                raise await self._died() from None
            except Orphaned:
                raise
            except WorkerDied:
                if interim is None:
                    raise
                return Ended(interim=interim, sandbox=self.sandbox)
        return Ended(interim=interim, timed_out=True, sandbox=self.sandbox)

    async def kill(self) -> None:
        """End the process and wait until it is gone; safe under cancellation."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(EXIT_MAX_S):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            await self._stream.aclose()
            await anyio.wait_readable(self._pidfd)
        os.close(self._pidfd)

    async def _died(self) -> WorkerDied:
        return WorkerDied() if await self._zygote.survives() else Orphaned()

    async def _receive(self) -> FromWorker:
        header = await self._exactly(HEADER_BYTES)
        length = int.from_bytes(header, "big")
        if length > MAX_FRAME_BYTES:
            raise WorkerDied
        try:
            return decode_reply(await self._exactly(length))
        except msgspec.DecodeError as error:
            raise WorkerDied from error

    async def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                self._buffer += await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                raise await self._died() from None
        part = bytes(self._buffer[:count])
        del self._buffer[:count]
        return part


def budget_left_ms(deadline: float) -> int:
    """Milliseconds until a monotonic deadline."""
    return int((deadline - time.monotonic()) * 1000)
