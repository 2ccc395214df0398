"""Vectors in memory: int8 rows with exact search while they are few, sign bits first when they are many.

The rows come from the sqlite-vec tables and are only a cache of them. Exact search multiplies a float32 copy;
past `EXACT_MAX_ROWS` the sign bits of all rows are compared first (Hamming) and the best are scored exactly.
"""

import mmap
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int8]

EXACT_MAX_ROWS: Final = 8_192
RESCORED_MIN: Final = 1_000
COMPACT_MIN: Final = 1_000
IN_FILE_PAST_BYTES: Final = 256 << 20
"""Rows past so much memory live in an unlinked file, mapped: the kernel keeps what is used and drops the rest."""


def quantise(vectors: Floats) -> Codes:
    """Each row scaled so that its largest component is 127; the cosine survives within about 0.01.

    Args:
        vectors: (n, d), finite, no row zero.
    """
    peak = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (127.0 / peak)).astype(np.int8)


def usable(vectors: Floats) -> npt.NDArray[np.bool_]:
    """Which rows may be stored: finite and not zero."""
    return np.isfinite(vectors).all(axis=1) & (np.abs(vectors).max(axis=1, initial=0) > 0)


class Block(Struct, frozen=True):
    """Components `start` to `end` of a vector, in which a cosine of `floor` means a synonym."""

    start: int
    end: int
    floor: float


class VectorIndex:
    """Ids with their int8 vectors, searched by cosine."""

    def __init__(self, dimension: int, folder: Path | None = None) -> None:
        self.dimension = dimension
        self._folder = folder
        self._words = -(-dimension // 64)
        self._mapped: mmap.mmap | None = None
        self._rows = 0
        self._dead = 0
        self._ids: Ints = np.zeros(0, np.int64)
        self._codes: Codes = np.zeros((0, dimension), np.int8)
        self._scale: Floats = np.zeros(0, np.float32)
        self._bits: npt.NDArray[np.uint64] = np.zeros((self._words, 0), np.uint64)
        self._exact: Floats = np.zeros((0, dimension), np.float32)
        self._place: npt.NDArray[np.int32] = np.full(0, -1, np.int32)

    def __len__(self) -> int:
        return self._rows - self._dead

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return sum(a.nbytes for a in (self._ids, self._codes, self._scale, self._bits, self._exact, self._place))

    def add(self, ids: Iterable[int] | Ints, codes: Codes) -> None:
        """Add rows; an id that is there already is replaced."""
        new = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), np.int64)
        if not len(new):
            return
        self.remove(new)
        start, end = self._rows, self._rows + len(new)
        self._reserve(end, int(new.max()) + 1)
        norms = np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float32))
        self._ids[start:end], self._codes[start:end], self._scale[start:end] = new, codes, 1.0 / norms
        self._bits[:, start:end] = self._signs(codes).T
        if end <= len(self._exact):
            self._exact[start:end] = codes * self._scale[start:end, None]
        else:
            self._exact = np.zeros((0, self.dimension), np.float32)
        self._place[new] = np.arange(start, end, dtype=np.int32)
        self._rows = end

    def reserve(self, rows: int, highest: int) -> None:
        """Make room for so many rows with ids up to `highest`, so that filling the index copies nothing."""
        self._reserve(rows, highest + 1)

    def _signs(self, codes: Codes) -> npt.NDArray[np.uint64]:
        packed = np.packbits(codes > 0, axis=1)
        padded = np.zeros((len(codes), self._words * 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)

    def _reserve(self, rows: int, places: int) -> None:
        if rows > len(self._ids):
            room = max(64, rows, min(2 * len(self._ids), len(self._ids) + 200_000))
            self._ids, self._scale = _grown(self._ids, room), _grown(self._scale, room)
            self._codes, self._bits = self._codes_grown(room), _wider(self._bits, room)
            if room <= 2 * EXACT_MAX_ROWS:
                self._exact = _grown(self._exact, min(room, EXACT_MAX_ROWS))
        if places > len(self._place):
            self._place = _grown(self._place, max(places, len(self._place) * 5 // 4), fill=-1)

    def _codes_grown(self, room: int) -> Codes:
        if room * self.dimension <= IN_FILE_PAST_BYTES:
            return _grown(self._codes, room)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            file.truncate(room * self.dimension)
            mapped = mmap.mmap(file.fileno(), 0)
        bigger = np.frombuffer(mapped, np.int8).reshape(room, self.dimension)
        for start in range(0, self._rows, 65_536):
            end = min(start + 65_536, self._rows)
            bigger[start:end] = self._codes[start:end]
        mapped.madvise(mmap.MADV_RANDOM)
        self._mapped = mapped
        self.relax()
        return bigger

    def relax(self) -> None:
        """Give back the memory of mapped rows; they are read again from the file when needed."""
        if self._mapped is not None:
            self._mapped.flush()
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def remove(self, ids: Iterable[int] | Ints) -> None:
        """Take rows out; unknown ids are ignored."""
        rows = self._rows_of(np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), np.int64))
        if not len(rows):
            return
        self._place[self._ids[rows]] = -1
        self._ids[rows], self._scale[rows] = -1, 0
        if len(self._exact):
            self._exact[rows[rows < len(self._exact)]] = 0
        self._dead += len(rows)
        if self._dead > COMPACT_MIN and self._dead > self._rows // 4:
            self._compact()

    def _compact(self) -> None:
        keep = np.flatnonzero(self._ids[: self._rows] >= 0)
        ids, codes = self._ids[keep].copy(), self._codes[keep].copy()
        self.__init__(self.dimension, self._folder)
        self.add(ids, codes)

    def _rows_of(self, ids: Ints) -> Ints:
        inside = ids[(ids >= 0) & (ids < len(self._place))]
        rows = self._place[inside].astype(np.int64)
        return rows[rows >= 0]

    def has(self, id: int) -> bool:
        """Whether an id has a vector."""
        return 0 <= id < len(self._place) and bool(self._place[id] >= 0)

    def vectors(self, ids: Iterable[int] | Ints) -> tuple[Ints, Floats]:
        """The ids among `ids` that are there, with their unit vectors (n, d)."""
        rows = self._rows_of(np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), np.int64))
        return self._ids[rows], self._codes[rows] * self._scale[rows, None]

    def cosines(self, ids: Ints, query: Floats, otherwise: float = 0.0) -> Floats:
        """The cosine of each id, in order; `otherwise` where it has no vector."""
        known = (ids >= 0) & (ids < len(self._place))
        rows = np.where(known, self._place[np.where(known, ids, 0)] if len(self._place) else -1, -1)
        found = np.full(len(ids), otherwise, np.float32)
        here = rows >= 0
        used = _span(query)
        found[here] = (self._codes[rows[here], used] @ query[used]) * self._scale[rows[here]]
        return found

    def ids(self) -> Ints:
        """Every id that has a vector."""
        held = self._ids[: self._rows]
        return held[held >= 0]

    def search(self, query: Floats, k: int, allowed: Ints | None = None) -> tuple[Ints, Floats]:
        """The k nearest ids with their cosines, best first.

        Args:
            query: (d,) unit vector.
            allowed: only among these ids.
        """
        if allowed is not None:
            ids, vectors = self.vectors(allowed)
            return _best(ids, vectors @ query, k)
        if self._rows <= EXACT_MAX_ROWS and len(self._exact):
            used = _span(query)
            scores = self._exact[: self._rows, used] @ query[used]
            scores[self._ids[: self._rows] < 0] = -2
            return _best(self._ids[: self._rows], scores, min(k, len(self)))
        return self._search_bits(query, k)

    def _search_bits(self, query: Floats, k: int) -> tuple[Ints, Floats]:
        sign = self._signs((query > 0).astype(np.int8)[None, :])[0]
        told = self._signs((query != 0).astype(np.int8)[None, :])[0]
        distance = np.zeros(self._rows, np.uint16)
        for word in np.flatnonzero(told).tolist():  # a half of the vector that the question leaves out is not compared
            distance += np.bitwise_count((self._bits[word, : self._rows] ^ sign[word]) & told[word])
        distance[self._ids[: self._rows] < 0] = 60_000
        wanted = min(max(RESCORED_MIN, 8 * k), self._rows)
        rows = np.argpartition(distance, wanted - 1)[:wanted]
        rows = rows[self._ids[rows] >= 0]
        used = _span(query)
        return _best(self._ids[rows], (self._codes[rows, used] @ query[used]) * self._scale[rows], k)

    def neighbours(self, vectors: Floats, blocks: Sequence[Block]) -> tuple[Ints, Ints, Floats]:
        """Pairs of (row of `vectors`, id) that are close in any block of their components: (i, ids, cosines)."""
        found: list[tuple[Ints, Ints, Floats]] = []
        wanted = [_slice(vectors, block) for block in blocks]
        for start in range(0, self._rows if blocks else 0, 8_192):
            end = min(start + 8_192, self._rows)
            rows = self._codes[start:end].astype(np.float32)
            for block, mine in zip(blocks, wanted, strict=True):
                close = mine @ _slice(rows, block).T
                i, j = np.nonzero(close >= block.floor)
                found.append((i, self._ids[start:end][j], close[i, j]))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
        i, ids, cosines = (np.concatenate(parts) for parts in zip(*found, strict=True))
        alive = ids >= 0
        return i[alive], ids[alive], cosines[alive]


def _span(query: Floats) -> slice:
    """The stretch of a query that is not zero: a question may use one half of its vector."""
    places = np.flatnonzero(query)
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 1)


def _slice(rows: Floats, block: Block) -> Floats:
    part = rows[:, block.start : block.end]
    length = np.linalg.norm(part, axis=1, keepdims=True)
    return (part / np.where(length > 0, length, 1.0)).astype(np.float32)


def _grown(array: Any, room: int, fill: int = 0) -> Any:
    bigger = (
        np.full((room, *array.shape[1:]), fill, array.dtype)
        if fill
        else np.zeros((room, *array.shape[1:]), array.dtype)
    )
    bigger[: min(len(array), room)] = array[:room]
    return bigger


def _wider(array: Any, room: int) -> Any:
    bigger = np.zeros((len(array), room), array.dtype)
    bigger[:, : min(array.shape[1], room)] = array[:, :room]
    return bigger


def _best(ids: Ints, scores: Floats, k: int) -> tuple[Ints, Floats]:
    k = min(k, len(ids))
    if k <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    top = np.argpartition(-scores, k - 1)[:k] if k < len(ids) else np.arange(len(ids))
    order = top[np.lexsort((ids[top], -scores[top]))]
    return ids[order], scores[order]
