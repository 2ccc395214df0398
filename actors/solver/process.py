"""The actor's side of one worker: spawn it, hand it the task, hear its answers, end it at the deadline.

Spawned from the loop's own thread only: the kernel's parent-death signal is bound to the spawning thread.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import anyio
import anyio.abc
import msgspec
from msgspec import Struct

from protocol.action import Outcome

from .wire import HEADER_BYTES, MAX_FRAME_BYTES, Final, FromWorker, Interim, Warm, decode_reply

_ROOT = Path(__file__).resolve().parents[2]
START_MAX_S = 60.0
EXIT_MAX_S = 5.0
OVERRUN_S = 0.25
"""How long a worker may be over its budget before it is killed: time to send what it has."""


class WorkerDied(Exception):  # noqa: N818
    """The worker ended without an answer; `returncode` says how."""

    def __init__(self, returncode: int | None) -> None:
        super().__init__(f"worker ended with {returncode}")
        self.returncode = returncode


class Ended(Struct, frozen=True, kw_only=True):
    """How a task ended. `timed_out`: killed at the deadline; then `interim` is the best there is."""

    final: Final | None = None
    interim: Outcome | None = None
    timed_out: bool = False
    sandbox: str = ""


class Worker:
    """One single-use process; use `spawn`, then `run` once, then `kill`."""

    def __init__(self, process: anyio.abc.Process, stream: anyio.abc.SocketStream) -> None:
        self.process = process
        self.sandbox = ""
        self._stream = stream
        self._buffer = bytearray()

    @classmethod
    async def spawn(cls) -> "Worker":
        """Start a process and wait until it is warm and confined.

        Raises:
            WorkerDied: it ended or said nothing for 60 s.
        """
        ours, theirs = socket.socketpair()
        try:
            process = await anyio.open_process(
                [sys.executable, "-B", "-m", "actors.solver.worker", str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd=_ROOT,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        worker = cls(process, await anyio.abc.SocketStream.from_socket(ours))
        try:
            with anyio.fail_after(START_MAX_S):
                message = await worker._receive()
        except BaseException as error:
            await worker.kill()
            if isinstance(error, TimeoutError):
                raise WorkerDied(None) from None
            raise
        worker.sandbox = message.sandbox if isinstance(message, Warm) else ""
        return worker

    async def run(self, task: bytes, budget_ms: int) -> Ended:
        """Hand over the framed task and wait for its answer, not longer than its budget and a quarter of a second.

        Raises:
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
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                raise WorkerDied(None) from None
            except WorkerDied:
                if interim is None:
                    raise
                return Ended(interim=interim, sandbox=self.sandbox)
        return Ended(interim=interim, timed_out=True, sandbox=self.sandbox)

    async def kill(self) -> None:
        """End the process group and wait until it is gone; safe under cancellation."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(EXIT_MAX_S):
            await self._stream.aclose()
            if self.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()
            await self.process.aclose()

    async def _receive(self) -> FromWorker:
        header = await self._exactly(HEADER_BYTES)
        length = int.from_bytes(header, "big")
        if length > MAX_FRAME_BYTES:
            raise WorkerDied(None)
        try:
            return decode_reply(await self._exactly(length))
        except msgspec.DecodeError as error:
            raise WorkerDied(None) from error

    async def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                self._buffer += await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                raise WorkerDied(await self._returncode()) from None
        part = bytes(self._buffer[:count])
        del self._buffer[:count]
        return part

    async def _returncode(self) -> int | None:
        with anyio.move_on_after(1.0):
            return await self.process.wait()
        return None


def budget_left_ms(deadline: float) -> int:
    """Milliseconds until a monotonic deadline."""
    return int((deadline - time.monotonic()) * 1000)
