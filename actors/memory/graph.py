"""The graph in memory: a sorted base and a small sorted overlay of changes, both in arrays.

Vertices: node n is vertex 2n, passage p is vertex 2p + 1, so that no table of numbers is kept. Every edge lies in
both directions. A change is an overlay entry; taking an edge away is the same entry with a negative weight. The
overlay is merged into the base when it has grown, and at once when something was taken away, so that no entry of
what is gone is left.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Columns = tuple[Any, Any, Any, Any]
"""Entries as arrays: one end, the other end, weight, edge id."""
OVERLAY_MAX: Final = 20_000
PASSAGE_LINK: Final = 0
SYNONYM_LINK: Final = -1


def vertex_of_node(node: Any) -> Any:
    """Vertex of a node id (also elementwise)."""
    return node * 2


def vertex_of_passage(passage: Any) -> Any:
    """Vertex of a passage id (also elementwise)."""
    return passage * 2 + 1


class Half:
    """Half edges sorted by where they start: parallel arrays `start`, `end`, `weight`, `edge`.

    `edge` is the id of the fact, or PASSAGE_LINK, or SYNONYM_LINK. Of each vertex below the highest it is known at
    which place its half edges begin, so that they are found in two steps, not by search.
    """

    def __init__(self, start: Any, end: Any, weight: Any, edge: Any) -> None:
        order = np.argsort(start, kind="stable")
        self.start = np.asarray(start, np.int32)[order]
        self.end = np.asarray(end, np.int32)[order]
        self.weight = np.asarray(weight, np.float32)[order]
        self.edge = np.asarray(edge, np.int32)[order]
        self._first = np.concatenate(([0], np.cumsum(np.bincount(self.start))))

    def __len__(self) -> int:
        return len(self.start)

    def out(self, vertices: Ints) -> tuple[Ints, Ints]:
        """(index into `vertices`, index into the half edges) of everything that starts there."""
        last = len(self._first) - 1
        low = self._first[np.minimum(vertices, last)]
        count = self._first[np.minimum(vertices + 1, last)] - low
        source = np.arange(len(vertices)).repeat(count)
        at = (low - count.cumsum() + count).repeat(count)
        at += np.arange(len(source))
        return source, at


def _both_ways(a: Any, b: Any, weight: Any, edge: Any) -> Half:
    a, b = np.asarray(a, np.int32), np.asarray(b, np.int32)
    weight, edge = np.asarray(weight, np.float32), np.asarray(edge, np.int32)
    if (a == b).any():  # a self loop carries nothing anywhere
        a, b, weight, edge = (column[a != b] for column in (a, b, weight, edge))
    return Half(
        np.concatenate((a, b)), np.concatenate((b, a)), np.concatenate((weight, weight)), np.concatenate((edge, edge))
    )


class Graph:
    """Weighted undirected graph with `degree` (sum of weights) per vertex; `size` vertices.

    Not safe against a change during a walk, nor for two walks at once: all of it happens in the actor's lane.
    """

    def __init__(self, a: Any = (), b: Any = (), weight: Any = (), edge: Any = ()) -> None:
        self._base = _both_ways(a, b, weight, edge)
        self._pending: list[Columns] = []
        self._changes = 0
        self._overlay: Half | None = None
        self._blank: tuple[Doubles, Doubles] = (np.zeros(0), np.zeros(0))
        top = int(self._base.start[-1]) + 1 if len(self._base) else 0
        self.degree = np.bincount(self._base.start, self._base.weight, minlength=top)

    @property
    def size(self) -> int:
        """One more than the highest vertex."""
        return len(self.degree)

    @property
    def edges(self) -> int:
        """Undirected entries, changes included."""
        return len(self._base) // 2 + self._changes

    def change(self, entries: Sequence[tuple[int, int, float, int]]) -> None:
        """Add entries (a, b, weight, edge); the same entry with a negative weight takes it away again."""
        entries = [entry for entry in entries if entry[0] != entry[1]]
        if not entries:
            return
        a, b, weight, edge = (np.array(column) for column in zip(*entries, strict=True))
        self._pending.append((a, b, weight, edge))
        self._changes += len(entries)
        self._overlay = None
        self.reserve(int(max(a.max(), b.max())) + 1)
        np.add.at(self.degree, a, weight)
        np.add.at(self.degree, b, weight)
        if weight.min() < 0 or self._changes > max(OVERLAY_MAX, len(self._base) // 16):
            self._merge()

    def without(self, kind: int) -> "Graph":
        """A copy that lacks the edges of one kind (PASSAGE_LINK or SYNONYM_LINK)."""
        self._merge()
        kept = (self._base.edge != kind) & (self._base.start < self._base.end)
        base = self._base
        copy = Graph(base.start[kept], base.end[kept], base.weight[kept], base.edge[kept])
        copy.reserve(self.size)
        return copy

    def reserve(self, size: int) -> None:
        """Make room for vertices below `size`."""
        if size > len(self.degree):
            self.degree = np.concatenate(
                (self.degree, np.zeros(max(size, len(self.degree) * 9 // 8) - len(self.degree)))
            )

    def blank(self) -> tuple[Doubles, Doubles]:
        """Two arrays of a zero for each vertex, to work in; who borrows them leaves them all zero.

        New ones for each walk would cost a page fault for each page that it touches, more than the walk itself.
        """
        if len(self._blank[0]) != self.size:
            self._blank = (np.zeros(self.size), np.zeros(self.size))
        return self._blank

    def _merge(self) -> None:
        if not self._pending:
            return
        extra = self._changed()
        start, end, edge = (
            np.concatenate((getattr(self._base, name), getattr(extra, name))) for name in ("start", "end", "edge")
        )
        weight = np.concatenate((self._base.weight, extra.weight)).astype(np.float64)
        order = np.lexsort((edge, end, start))
        start, end, edge, weight = start[order], end[order], edge[order], weight[order]
        first = np.flatnonzero(
            np.concatenate(([True], (np.diff(start) != 0) | (np.diff(end) != 0) | (np.diff(edge) != 0)))
        )
        weight = np.add.reduceat(weight, first)
        kept = first[weight > 1e-6]  # noqa: PLR2004 - what was taken away again is gone
        self._base = Half(start[kept], end[kept], weight[weight > 1e-6], edge[kept])  # noqa: PLR2004
        self.degree = np.bincount(self._base.start, self._base.weight, minlength=self.size)
        self._pending, self._changes, self._overlay = [], 0, None

    def _changed(self) -> Half:
        """The overlay; what was added since it was last asked for is joined to what it held."""
        if self._overlay is None:
            a, b, weight, edge = (np.concatenate(column) for column in zip(*self._pending, strict=True))
            self._pending, self._overlay = [(a, b, weight, edge)], _both_ways(a, b, weight, edge)
        return self._overlay

    def out(self, vertices: Ints) -> tuple[Ints, Ints, npt.NDArray[np.float32], npt.NDArray[np.int32]]:
        """Everything that leaves `vertices`: (index into `vertices`, target, weight, edge id)."""
        parts = _leaving(self._base, vertices)
        if not self._pending:
            return parts
        more = _leaving(self._changed(), vertices)
        return (
            np.concatenate((parts[0], more[0])),
            np.concatenate((parts[1], more[1])),
            np.concatenate((parts[2], more[2])),
            np.concatenate((parts[3], more[3])),
        )

    def degrees(self, vertices: Iterable[int]) -> list[float]:
        """Weighted degree of some vertices; 0 for unknown ones."""
        return [float(self.degree[v]) if v < self.size else 0.0 for v in vertices]


def _leaving(half: Half, vertices: Ints) -> tuple[Ints, Ints, npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    source, at = half.out(vertices)
    return source, half.end[at].astype(np.int64), half.weight[at], half.edge[at]
