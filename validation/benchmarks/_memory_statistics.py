"""Intervals for proportions."""

import math


def wilson(hits: int, n: int, z: float = 1.96) -> list[float]:
    """95 % Wilson score interval of a proportion."""
    if not n:
        return [0.0, 1.0]
    share = hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return [round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)]
