"""Waking up when memory gets tight: the kernel's PSI trigger, on a thread of its own.

A trigger wants a file opened for writing, a line `some STALL_US WINDOW_US`, and a poll for priority events; event
loops watch for reading only. Unprivileged triggers need a window that is a multiple of 2 s.
"""

import os
import select
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

TRIGGER: Final = b"some 150000 2000000\0"
"""The kernel overwrites the last byte, so that without the NUL a digit would be lost."""
POLL_MS: Final = 500


class PsiTrigger:
    """Calls `wake` (from its own thread) at each pressure event, until closed.

    Raises:
        OSError: this kernel takes no trigger; the regular samples have to do.
    """

    def __init__(self, path: Path, wake: Callable[[], None]) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.fstat(self._fd).st_size:
                raise OSError(f"{path} is no file of the kernel's")
            os.write(self._fd, TRIGGER)
        except OSError:
            os.close(self._fd)
            raise
        self._wake, self._ended = wake, threading.Event()
        self._thread = threading.Thread(target=self._wait, name="psi", daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLPRI)
        while not self._ended.is_set():
            events = poll.poll(POLL_MS)
            if any(happened & select.POLLERR for _, happened in events):
                return
            if events:
                self._wake()

    def close(self) -> None:
        """End the thread and give the trigger back."""
        self._ended.set()
        self._thread.join()
        os.close(self._fd)
