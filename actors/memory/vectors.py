"""Vectors in memory: int8 rows with exact search while they are few, sign bits first when they are many.

The rows come from the sqlite-vec tables and are only a cache of them. Exact search multiplies a float32 copy;
past `EXACT_MAX_ROWS` the sign bits of all rows are compared first (Hamming) and the best are scored exactly.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from .rows import Codes, Ints, Rows
from .signs import Signs

Floats = npt.NDArray[np.float32]

EXACT_MAX_ROWS: Final = 8_192
RESCORED_MIN: Final = 1_000
COMPACT_MIN: Final = 1_000
BLOCK: Final = 8_192


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
        self._rows = 0
        self._dead = 0
        self._ids: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._codes = Rows(dimension, folder)
        self._signs = Signs(dimension)
        self._scale: Floats = np.zeros(0, np.float32)
        self._exact: Floats = np.zeros((0, dimension), np.float32)
        self._place: npt.NDArray[np.int32] = np.full(0, -1, np.int32)

    def __len__(self) -> int:
        return self._rows - self._dead

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        held = (self._ids, self._codes, self._scale, self._signs, self._exact, self._place)
        return sum(part.nbytes for part in held)

    def add(self, ids: Iterable[int] | Ints, codes: Codes) -> None:
        """Add rows; an id that is there already is replaced."""
        new = _array(ids)
        if not len(new):
            return
        self.remove(new)
        start, end = self._rows, self._rows + len(new)
        self._reserve(end, int(new.max()) + 1)
        whole = codes.astype(np.float32)
        scale = 1.0 / np.sqrt(np.einsum("ij,ij->i", whole, whole))
        self._ids[start:end], self._scale[start:end] = new, scale
        self._codes.put(start, codes)
        self._signs.put(start, codes)
        if end <= len(self._exact):
            self._exact[start:end] = whole * scale[:, None]
        else:
            self._exact = np.zeros((0, self.dimension), np.float32)
        self._place[new] = np.arange(start, end, dtype=np.int32)
        self._rows = end

    def reserve(self, rows: int, highest: int) -> None:
        """Make room for so many rows with ids up to `highest`, so that filling the index copies nothing."""
        self._reserve(rows, highest + 1)

    def _reserve(self, rows: int, places: int) -> None:
        if rows > len(self._ids):
            room = max(64, rows, min(2 * len(self._ids), len(self._ids) + 200_000))
            self._ids, self._scale = _grown(self._ids, room), _grown(self._scale, room)
            self._codes.reserve(room)
            self._signs.reserve(room)
            if room <= 2 * EXACT_MAX_ROWS:
                self._exact = _grown(self._exact, min(room, EXACT_MAX_ROWS))
        if places > len(self._place):
            self._place = _grown(self._place, max(places, len(self._place) * 5 // 4), fill=-1)

    def remove(self, ids: Iterable[int] | Ints) -> None:
        """Take rows out; unknown ids are ignored."""
        rows = self._rows_of(_array(ids))
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
        left = VectorIndex(self.dimension, self._folder)
        left.reserve(len(keep), int(self._ids[keep].max(initial=0)))
        for start in range(0, len(keep), BLOCK):
            rows = keep[start : start + BLOCK]
            left.add(self._ids[rows].astype(np.int64), self._codes.take(rows))
        self.__dict__ = left.__dict__

    def _rows_of(self, ids: Ints) -> Ints:
        inside = ids[(ids >= 0) & (ids < len(self._place))]
        rows = self._place[inside].astype(np.int64)
        return rows[rows >= 0]

    def has(self, id: int) -> bool:
        """Whether an id has a vector."""
        return 0 <= id < len(self._place) and bool(self._place[id] >= 0)

    def vectors(self, ids: Iterable[int] | Ints) -> tuple[Ints, Floats]:
        """The ids among `ids` that are there, with their unit vectors (n, d)."""
        rows = self._rows_of(_array(ids))
        return self._ids[rows].astype(np.int64), self._codes.take(rows) * self._scale[rows, None]

    def cosines(self, ids: Ints, query: Floats, otherwise: float = 0.0) -> Floats:
        """The cosine of each id, in order; `otherwise` where it has no vector."""
        known = (ids >= 0) & (ids < len(self._place))
        rows = np.where(known, self._place[np.where(known, ids, 0)] if len(self._place) else -1, -1)
        found = np.full(len(ids), otherwise, np.float32)
        here = rows >= 0
        found[here] = self._scores(rows[here], query)
        return found

    def _scores(self, rows: Ints, query: Floats) -> Floats:
        """The cosines of some rows with a query."""
        used = _span(query)
        parts = [
            self._codes.take(rows[start : start + BLOCK], used) @ query[used] for start in range(0, len(rows), BLOCK)
        ]
        return np.concatenate(parts) * self._scale[rows] if parts else np.zeros(0, np.float32)

    def ids(self) -> Ints:
        """Every id that has a vector."""
        held = self._ids[: self._rows]
        return held[held >= 0].astype(np.int64)

    def search(self, query: Floats, k: int, allowed: Ints | None = None) -> tuple[Ints, Floats]:
        """The k nearest ids with their cosines, best first.

        Args:
            query: (d,) unit vector.
            allowed: only among these ids.
        """
        if allowed is not None:
            rows = self._rows_of(allowed)
            return _best(self._ids[rows], self._scores(rows, query), k)
        if self._rows <= len(self._exact):
            used = _span(query)
            scores = self._exact[: self._rows, used] @ query[used]
            scores[self._ids[: self._rows] < 0] = -2
            return _best(self._ids[: self._rows], scores, min(k, len(self)))
        rows = self._signs.nearest(query, self._ids[: self._rows] >= 0, max(RESCORED_MIN, 8 * k))
        return _best(self._ids[rows], self._scores(rows, query), k)

    def neighbours(self, vectors: Floats, blocks: Sequence[Block]) -> tuple[Ints, Ints, Floats]:
        """Pairs of (row of `vectors`, id) that are close in any block of their components: (i, ids, cosines)."""
        found: list[tuple[Ints, Ints, Floats]] = []
        wanted = [_slice(vectors, block) for block in blocks]
        for start in range(0, self._rows if blocks else 0, BLOCK):
            end = min(start + BLOCK, self._rows)
            rows = self._codes.block(start, end).astype(np.float32)
            for block, mine in zip(blocks, wanted, strict=True):
                close = mine @ _slice(rows, block).T
                i, j = np.nonzero(close >= block.floor)
                found.append((i, self._ids[start:end][j].astype(np.int64), close[i, j]))
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


def _array(ids: Iterable[int] | Ints) -> Ints:
    return np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), np.int64)


def _best(ids: npt.NDArray[np.int32], scores: Floats, k: int) -> tuple[Ints, Floats]:
    k = min(k, len(ids))
    if k <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    top = np.argpartition(-scores, k - 1)[:k] if k < len(ids) else np.arange(len(ids))
    order = top[np.lexsort((ids[top], -scores[top]))]
    return ids[order].astype(np.int64), scores[order]
