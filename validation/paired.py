"""Paired comparisons as figures: the same items in two arms, the difference in percentage points with its interval."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evidence.inference import Pairs, mcnemar_midp, paired_interval, wilson

ROUNDS = 10_000


def pairs(first: Sequence[bool], second: Sequence[bool]) -> Pairs:
    """The four cells: right in both, only in the first arm, only in the second, in neither."""
    cells = list(zip(first, second, strict=True))
    return Pairs(*(cells.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))))


def share(right: int, n: int) -> dict[str, Any]:
    """A proportion in per cent with its n and Wilson interval."""
    low, high = wilson(right, n) if n else (0.0, 1.0)
    return {
        "right": right,
        "n": n,
        "percent": round(100 * right / n, 1) if n else 0.0,
        "ci95_percent": [round(100 * low, 1), round(100 * high, 1)],
    }


def difference(first: Sequence[bool], second: Sequence[bool]) -> dict[str, Any]:
    """First arm minus second: points, Bonett-Price interval, mid-p McNemar, the four cells."""
    cells = pairs(first, second)
    low, high = paired_interval(cells)
    return {
        "n": cells.n,
        "points": round(100 * cells.difference, 2),
        "ci95_points": [round(100 * low, 2), round(100 * high, 2)],
        "p_midp": round(mcnemar_midp(cells), 5),
        "cells": {
            "both": cells.both,
            "only_first": cells.only_with,
            "only_second": cells.only_without,
            "neither": cells.neither,
        },
    }


def mean_interval(values: Sequence[float], seed: int = 0) -> dict[str, Any]:
    """A mean with its bootstrap interval (percentile, 10,000 resamples of the items)."""
    sample = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    means = sample[rng.integers(0, len(sample), (ROUNDS, len(sample)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return {
        "n": len(sample),
        "mean": round(float(sample.mean()), 2),
        "ci95": [round(float(low), 2), round(float(high), 2)],
    }
