"""The sign bits of vectors, compared with a question's: which rows may be near it, at an eighth of a byte a component.

Sign bits keep the order of cosines well enough that the nearest are among the first thousand of a million.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
BLOCK: Final = 16_384
"""Rows compared at once, so that what is written in between stays in the processor's cache."""


class Signs:
    """Sign bits of rows in 64-bit words, word by word: (words, rows)."""

    def __init__(self, dimension: int) -> None:
        self._words = -(-dimension // 64)
        self._bits: npt.NDArray[np.uint64] = np.zeros((self._words, 0), np.uint64)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self._bits.nbytes

    def reserve(self, room: int) -> None:
        """Make room for so many rows."""
        held = self._bits.shape[1]
        if room > held:
            bits = np.zeros((self._words, room), np.uint64)
            bits[:, :held] = self._bits
            self._bits = bits

    def put(self, start: int, vectors: npt.NDArray[Any]) -> None:
        """Keep the signs of vectors (n, dimension) as the rows from `start` on."""
        self._bits[:, start : start + len(vectors)] = self._packed(vectors > 0).T

    def _packed(self, positive: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
        packed = np.packbits(positive, axis=1)
        padded = np.zeros((len(positive), self._words * 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)

    def nearest(self, query: npt.NDArray[np.float32], alive: npt.NDArray[np.bool_], wanted: int) -> Ints:
        """The places of at least `wanted` living rows (of all, when they are fewer) that differ least in sign.

        All rows at the greatest distance that is taken are in. Components that are zero in the query do not count.
        """
        distance = self._distances(query, len(alive))
        distance[~alive] = np.iinfo(np.uint16).max
        within = np.cumsum(np.bincount(distance))
        farthest = min(int(np.searchsorted(within, wanted)), self._words * 64)
        return np.flatnonzero(distance <= farthest)

    def _distances(self, query: npt.NDArray[np.float32], rows: int) -> npt.NDArray[np.uint16]:
        sign, told = self._packed(query[None, :] > 0)[0], self._packed(query[None, :] != 0)[0]
        distance = np.zeros(rows, np.uint16)
        differing, count = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint8)
        words = np.flatnonzero(told).tolist()  # a half of the vector that the question leaves out is not compared
        for start in range(0, rows, BLOCK):
            end = min(start + BLOCK, rows)
            bits, number, total = differing[: end - start], count[: end - start], distance[start:end]
            for word in words:
                np.bitwise_xor(self._bits[word, start:end], sign[word], out=bits)
                np.bitwise_and(bits, told[word], out=bits)
                np.bitwise_count(bits, out=number)
                np.add(total, number, out=total)
        return distance
