"""The statistics under every piece of advice: proportions, paired differences, and many tests at once.

Closed forms over counts; nothing here draws a random number or knows what the counts are of.
"""

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist

from msgspec import Struct

_NORMAL = NormalDist()


class Pairs(Struct, frozen=True):
    """The four cells of a paired comparison: the same items, done with and without the action."""

    both: int
    only_with: int
    only_without: int
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.only_with + self.only_without + self.neither

    @property
    def right_with(self) -> int:
        return self.both + self.only_with

    @property
    def right_without(self) -> int:
        return self.both + self.only_without

    @property
    def difference(self) -> float:
        """Share right with the action minus share right without it; 0 when nothing was measured."""
        return (self.only_with - self.only_without) / self.n if self.n else 0.0

    def plus(self, other: "Pairs") -> "Pairs":
        """Both samples taken as one."""
        return Pairs(
            self.both + other.both,
            self.only_with + other.only_with,
            self.only_without + other.only_without,
            self.neither + other.neither,
        )


def wilson(right: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Two-sided interval of one proportion (Wilson 1927; method 3 of Newcombe 1998).

    Raises:
        ValueError: unless 0 <= right <= n and n > 0.
    """
    if not 0 <= right <= n or n == 0:
        raise ValueError(f"{right} of {n} is no proportion")
    z = _NORMAL.inv_cdf(0.5 + level / 2)
    center = (right + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * sqrt(right * (n - right) / n + z * z / 4)
    return max(0.0, center - half), min(1.0, center + half)


def _adjusted(pairs: Pairs) -> tuple[float, float]:
    """Bonett and Price's shrunken difference and its standard error (one pseudo-pair in each discordant cell)."""
    n = pairs.n + 2
    gain, loss = (pairs.only_with + 1) / n, (pairs.only_without + 1) / n
    return gain - loss, sqrt((gain + loss - (gain - loss) ** 2) / n)


def paired_interval(pairs: Pairs, level: float = 0.95) -> tuple[float, float]:
    """Two-sided interval of the paired difference: the adjusted Wald interval of Bonett and Price (2012)."""
    center, error = _adjusted(pairs)
    half = _NORMAL.inv_cdf(0.5 + level / 2) * error
    return max(-1.0, center - half), min(1.0, center + half)


def lower_bound(pairs: Pairs, alpha: float) -> float:
    """One-sided lower bound of the difference at confidence 1 - alpha, by the same interval."""
    return paired_interval(pairs, 1 - 2 * alpha)[0]


def upper_bound(pairs: Pairs, alpha: float) -> float:
    """One-sided upper bound of the difference at confidence 1 - alpha, by the same interval."""
    return paired_interval(pairs, 1 - 2 * alpha)[1]


def p_above(pairs: Pairs, threshold: float) -> float:
    """One-sided p of "difference <= threshold"; below alpha exactly when `lower_bound(alpha)` exceeds it."""
    center, error = _adjusted(pairs)
    return 1 - _NORMAL.cdf((center - threshold) / error)


def p_below(pairs: Pairs, threshold: float) -> float:
    """One-sided p of "difference >= threshold"; below alpha exactly when `upper_bound(alpha)` is under it."""
    center, error = _adjusted(pairs)
    return _NORMAL.cdf((center - threshold) / error)


def mcnemar_exact(pairs: Pairs) -> float:
    """Two-sided exact conditional p of McNemar's test."""
    fewer, discordant = min(pairs.only_with, pairs.only_without), pairs.only_with + pairs.only_without
    tail = sum(comb(discordant, i) for i in range(fewer + 1)) / 2**discordant
    return min(1.0, 2 * tail)


def mcnemar_midp(pairs: Pairs) -> float:
    """Two-sided mid-p of McNemar's test (Fagerland, Lydersen and Laake 2013): less timid, still honest."""
    b, c = pairs.only_with, pairs.only_without
    point = comb(b + c, min(b, c)) / 2 ** (b + c)
    return 1 - point / 2 if b == c else mcnemar_exact(pairs) - point


def chance_of_gain(pairs: Pairs) -> float:
    """Posterior P(difference > 0) under a uniform Dirichlet prior on the four cells.

    Only the discordant cells matter: their share is Beta(b + 1, c + 1), whose tail above 1/2 is a binomial sum.
    """
    b, c = pairs.only_with, pairs.only_without
    draws = b + c + 1
    return sum(comb(draws, i) for i in range(b + 1)) / 2**draws


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values, in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def holm_alphas(p_values: Sequence[float], alpha: float) -> list[float]:
    """The level at which Holm's procedure judges each hypothesis: alpha / (m - rank)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    levels = [alpha] * len(p_values)
    for rank, index in enumerate(order):
        levels[index] = alpha / (len(p_values) - rank)
    return levels
