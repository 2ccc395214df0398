"""The int8 rows of an index: in memory while they are few, past a limit in an unlinked file that is read row by row.

A mapped file would count as memory for every page near a row that was looked at (Linux maps 64 kB around each), so
that a memory of a million facts came to 2.5 GB; a read of one row costs a microsecond and leaves nothing behind.
"""

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
IN_FILE_PAST_BYTES: Final = 128 << 20
ALL: Final = slice(None)


class Rows:
    """Rows of `dimension` int8 components, by place."""

    def __init__(self, dimension: int, folder: Path | None = None) -> None:
        self._dimension = dimension
        self._folder = folder
        self._file: Any = None
        self._held: Codes = np.zeros((0, dimension), np.int8)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes; what lies in the file takes none."""
        return self._held.nbytes

    def reserve(self, room: int) -> None:
        """Make room for so many rows. Where the disk is full they stay in memory, or come back to it."""
        size = room * self._dimension
        if self._file is None and size > IN_FILE_PAST_BYTES:
            self._move(size)
        elif self._file is not None and not _allocated(self._file, size):
            self._held = self.block(0, os.fstat(self._file.fileno()).st_size // self._dimension)
            self._file.close()
            self._file = None
        if self._file is None and room > len(self._held):
            held = np.zeros((room, self._dimension), np.int8)
            held[: len(self._held)] = self._held
            self._held = held

    def _move(self, size: int) -> None:
        file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed when the rows go
        weakref.finalize(self, file.close)
        if _allocated(file, size):
            held, self._held, self._file = self._held, self._held[:0].copy(), file
            self.put(0, held)

    def put(self, start: int, codes: Codes) -> None:
        """Write rows from `start` on, into room that was reserved."""
        if self._file is None:
            self._held[start : start + len(codes)] = codes
            return
        left = memoryview(codes.tobytes())
        at = start * self._dimension
        while left:
            written = os.pwrite(self._file.fileno(), left, at)
            left, at = left[written:], at + written

    def take(self, places: Ints, used: slice = ALL) -> Codes:
        """Some rows, of each the components `used`: (n, width)."""
        if self._file is None:
            return self._held[places, used]
        first, end, _ = used.indices(self._dimension)
        fd, size, width = self._file.fileno(), self._dimension, end - first
        read = b"".join([os.pread(fd, width, place * size + first) for place in places.tolist()])
        return np.frombuffer(read, np.int8).reshape(len(places), width)

    def block(self, start: int, end: int) -> Codes:
        """The rows from `start` up to `end`."""
        if self._file is None:
            return self._held[start:end]
        read = os.pread(self._file.fileno(), (end - start) * self._dimension, start * self._dimension)
        return np.frombuffer(read, np.int8).reshape(-1, self._dimension)


def _allocated(file: Any, size: int) -> bool:
    """Whether the disk had room for the file to grow to `size` bytes; what is allocated can be written for sure."""
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except OSError:
        return False
    return True
