"""One daemon per runtime directory, and the word to whoever started it."""

import contextlib
import fcntl
import os
from pathlib import Path

from protocol.endpoints import lock_file


class AlreadyRunning(Exception):  # noqa: N818
    """Raised when another daemon holds the lock; `pid` is its process, 0 when it has not said."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"A daemon is already running (pid {pid or 'unknown'}).")
        self.pid = pid


def claim() -> int:
    """Take the lock for the life of this process, before anything is bound; returns its descriptor.

    libzmq's bind silently replaces whatever lies at an ipc path, so that only this lock tells a second daemon.

    Raises:
        AlreadyRunning: somebody else has it.
    """
    descriptor = os.open(lock_file(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        said = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise AlreadyRunning(int(said) if said.isdigit() else 0) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def release(descriptor: int, sockets: list[str]) -> None:
    """Take the sockets away while the lock is still held, then let it go."""
    for socket in sockets:
        with contextlib.suppress(OSError):
            Path(socket).unlink()
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
    os.close(descriptor)


class ReadyPipe:
    """The pipe on which the starter waits for READY or the reason why not; None when there is none."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def say(self, line: str) -> None:
        """Write one line and close; later words go nowhere."""
        if self._descriptor is None:
            return
        with contextlib.suppress(OSError):
            os.write(self._descriptor, f"{line}\n".encode())
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        self._descriptor = None
