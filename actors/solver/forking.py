"""The actor's side of the zygote: start it, have it fork workers, see its end.

Started from the loop's own thread only: the kernel's parent-death signal is bound to the spawning thread.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from .wire import FORK, READY

_ROOT: Final = Path(__file__).resolve().parents[2]
_START_MAX_S: Final = 60.0
_EXIT_MAX_S: Final = 5.0
_DYING_S: Final = 0.05
_LOOK_EVERY_S: Final = 0.005


class ZygoteDied(Exception):  # noqa: N818
    """The zygote ended or did not become ready; another one can be started."""


class Zygote:
    """The warm process that workers are forked from; use `start`, then `fork`, then `kill`."""

    def __init__(self, process: anyio.abc.Process, control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._pidfd = os.pidfd_open(process.pid)
        self._end = select.poll()
        self._end.register(self._pidfd, select.POLLIN)
        self._killed = False

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs and has not been told to end."""
        return not self._killed and not self._end.poll(0)

    async def survives(self) -> bool:
        """Whether it is still there a moment after a worker of it ended.

        The kernel signals the workers of a dying zygote an instant before it tells of the zygote's own end. (The end of
        its control socket tells less: a fork that has just begun still holds a copy.)
        """
        with anyio.move_on_after(_DYING_S):
            while self.alive:  # noqa: ASYNC110 - several may ask at once, but only one may wait for a descriptor
                await anyio.sleep(_LOOK_EVERY_S)
        return self.alive

    @classmethod
    async def start(cls) -> "Zygote":
        """Start a zygote and wait until it is warm.

        Raises:
            ZygoteDied: it ended or was not ready after 60 s.
            OSError: it cannot be started.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await anyio.open_process(
                [sys.executable, "-B", "-m", "actors.solver.zygote", str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd=_ROOT,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        zygote = cls(process, ours)
        try:
            with anyio.fail_after(_START_MAX_S):
                await anyio.wait_readable(ours)
            if not ours.recv(len(READY)):
                raise ZygoteDied
        except BaseException as error:
            await zygote.kill()
            if isinstance(error, (TimeoutError, OSError)):
                raise ZygoteDied from error
            raise
        return zygote

    def fork(self) -> socket.socket:
        """Ask for a worker; the answer is our end of its socket pair, on which it will report, or which will end.

        Raises:
            ZygoteDied: it is gone, or has left so many requests unread that it cannot be running.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            socket.send_fds(self._control, [FORK], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise ZygoteDied from error
        finally:
            theirs.close()
        return ours

    async def kill(self) -> None:
        """End it, and with it, by their parent-death signal, all workers forked from it; safe under cancellation."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(_EXIT_MAX_S):
            self._killed = True
            self._control.close()
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
            await self._process.aclose()
        self._close()

    def _close(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
