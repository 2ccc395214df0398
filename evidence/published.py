"""The original prototype's published figures as records, with only the counts that can be reconstructed.

Its results table gives rates, for some rows n, for none the pairing. So: the least favourable pairing is taken
wherever the margins allow several, and where n is missing too, the smallest n that prints the rates. Such
records are capped at experimental; most come out neutral, which is what so few items can carry.
"""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from .inference import Pairs
from .profiles import complete
from .records import Cell, Model, Provenance, Record, TaskSet, sealed

PUBLISHED = Path(__file__).parent / "data" / "published.json"
SOURCE = "results table of the original prototype"
MODEL = "gemma-4-e4b"
N_MAX = 1_000


class Figure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published comparison: either counts of n, or printed rates (as text, to keep their digits)."""

    key: str
    action: str
    cell: Cell
    note: str
    contrast: Literal["use", "mode", "advice"] = "use"
    arms: tuple[str, str] = ("with", "without")
    thinking: bool | None = None
    n: int = 0
    right_with: int = 0
    right_without: int = 0
    rate_with: str = field(default="", name="with")
    rate_without: str = field(default="", name="without")


def smallest_counts(with_: str, without: str) -> tuple[int, int, int]:
    """The smallest n, with the two numbers of right answers, whose rates print as given.

    Raises:
        ValueError: when no n up to `N_MAX` does.
    """
    for n in range(1, N_MAX + 1):
        right = [_prints(rate, n) for rate in (with_, without)]
        if right[0] is not None and right[1] is not None:
            return n, right[0], right[1]
    raise ValueError(f"no n up to {N_MAX} gives {with_} and {without}")


def _prints(rate: str, n: int) -> int | None:
    digits = len(rate.partition(".")[2])
    nearest = round(float(rate) * n)
    return next((k for k in (nearest, nearest - 1, nearest + 1) if _same(k, n, rate, digits)), None)


def _same(k: int, n: int, rate: str, digits: int) -> bool:
    if float(rate) == 0:
        return k == 0
    return 0 <= k <= n and f"{k / n:.{digits}f}" == f"{float(rate):.{digits}f}"


def least_favourable(right_with: int, right_without: int, n: int) -> Pairs:
    """The pairing of two margins with the most disagreement, so with the widest interval."""
    both = max(0, right_with + right_without - n)
    only_with, only_without = right_with - both, right_without - both
    return Pairs(both, only_with, only_without, n - both - only_with - only_without)


def _pairing_is_known(right_with: int, right_without: int, n: int) -> bool:
    return 0 in (right_with, right_without) or n in (right_with, right_without)


def record(figure: Figure) -> Record:
    """The sealed record of one published figure."""
    if figure.n:
        n, with_, without = figure.n, figure.right_with, figure.right_without
        counts = "exact" if _pairing_is_known(with_, without, n) else "pairing"
    else:
        n, with_, without = smallest_counts(figure.rate_with, figure.rate_without)
        counts = "smallest_n"
    thinking = {True: " thinking", False: " no thinking", None: ""}[figure.thinking]
    return sealed(
        Record(
            action=figure.action,
            contrast=figure.contrast,
            arms=figure.arms,
            model=complete(Model(name=MODEL, thinking=figure.thinking)),
            cell=figure.cell,
            task_set=TaskSet(name=figure.key + thinking),
            pairs=least_favourable(with_, without, n),
            release="prototype",
            provenance=Provenance(kind="published", source=SOURCE, counts=counts, note=figure.note),
        )
    )


def records() -> list[Record]:
    """Every published figure as a record."""
    return [record(figure) for figure in msgspec.json.decode(PUBLISHED.read_bytes(), type=list[Figure])]
