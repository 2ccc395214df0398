"""FlyHash: a sparse binary code of a vector, after the fruit fly's mushroom body (Dasgupta et al., Science 2017).

Each of CELLS cells adds up exactly FAN_IN inputs of the vector; the ACTIVE most excited ones are the code. All in
whole numbers with ties broken by index, from a hash of our own, so that a code is the same on every platform.
Exact fan-in makes the code blind to a constant added to all inputs; scaling never changes it either.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from .vectors import Codes

CELLS: Final = 20_480
ACTIVE: Final = 204
FAN_IN_SHARE: Final = 20
SEED: Final = 0x9E3779B97F4A7C15
Cells = npt.NDArray[np.int32]


class FlyHash:
    """The projection for one dimension of input."""

    def __init__(self, dimension: int, *, cells: int = CELLS, active: int = ACTIVE, seed: int = SEED) -> None:
        self.cells, self.active = cells, active
        self.fan_in = max(6, dimension // FAN_IN_SHARE)
        self.fingerprint = f"fly-2-{dimension}-{cells}-{active}-{self.fan_in}-{seed:x}"
        self._inputs = _inputs(dimension, cells, self.fan_in, seed)

    def code(self, vector: Codes) -> Cells:
        """The active cells, ascending: exactly `active` of them for every input.

        Args:
            vector: (dimension,) int8.
        """
        excited = vector.astype(np.int64)[self._inputs].sum(axis=1)
        rank = excited * self.cells + np.arange(self.cells - 1, -1, -1)  # equal excitement: the lower index wins
        return np.sort(np.argpartition(-rank, self.active - 1)[: self.active]).astype(np.int32)


def _inputs(dimension: int, cells: int, fan_in: int, seed: int) -> npt.NDArray[np.int16]:
    """(cells, fan_in) inputs of each cell: one from each of `fan_in` equal stretches, so that none comes twice."""
    edges = np.arange(fan_in + 1, dtype=np.uint64) * np.uint64(dimension) // np.uint64(fan_in)
    width = edges[1:] - edges[:-1]
    numbers = np.arange(cells, dtype=np.uint64)[:, None] * np.uint64(fan_in) + np.arange(fan_in, dtype=np.uint64)
    return (edges[:-1] + _mixed(numbers, seed) % width).astype(np.int16)


def _mixed(numbers: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele et al. 2014), elementwise; wraps around on purpose."""
    with np.errstate(over="ignore"):
        x = numbers + np.uint64(seed)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
