"""Plain values of the evaluator: truth values, exact numbers, enum members, lists."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from .types import EnumType, IndexValue

TOLERANCE: Final = Fraction(1, 10**25)
"""Irrational values are compared to this exactness, from approximations of 10^-40."""


class Undefined(Exception):  # noqa: N818
    """A partial operation has no value here."""


class Unreadable(Exception):  # noqa: N818
    """The expression has no meaning on plain values."""


class Member:
    """A place in an enum's list; `place` may lie outside after arithmetic."""

    __slots__ = ("enum", "place")

    def __init__(self, place: int, enum: EnumType) -> None:
        self.place = place
        self.enum = enum


class Approximate(Fraction):
    """A rational near an irrational value."""


class Items:
    """A list; `base` is the index of the first."""

    __slots__ = ("base", "items")

    def __init__(self, items: Sequence["Value"], base: int = 0) -> None:
        self.items = list(items)
        self.base = base

    def flat(self) -> list[Any]:
        """All values, row by row."""
        return [value for item in self.items for value in (item.flat() if isinstance(item, Items) else [item])]


Value = bool | int | Fraction | str | Member | Items
Assignment = Mapping[str, Mapping[tuple[IndexValue, ...], Any]]


def as_number(value: Any) -> int | Fraction:
    """A truth value or number as number.

    Raises:
        Unreadable: for anything else.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | Fraction):
        return value
    raise Unreadable(f"{value!r} is not a number")


def same_scale(left: Any, right: Any) -> tuple[int | Fraction, int | Fraction]:
    """Two values as numbers of one scale: places of one enum, or numbers.

    Raises:
        Unreadable: for values that are not comparable.
    """
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Member):
            place = (
                other.place
                if isinstance(other, Member)
                else one.enum.position(other)
                if isinstance(other, str)
                else None
            )
            if place is None:
                raise Unreadable("not comparable")
            pair = (one.place, place)
            return pair if one is left else (pair[1], pair[0])
    return as_number(left), as_number(right)


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same; lists item by item; irrational ones within the tolerance."""
    if isinstance(left, Items) and isinstance(right, Items):
        return len(left.items) == len(right.items) and all(
            equal(a, b) for a, b in zip(left.items, right.items, strict=True)
        )
    if isinstance(left, str) and isinstance(right, str):
        return left.casefold() == right.casefold()
    one, other = same_scale(left, right)
    return one == other or (_near(one, other))


def _near(one: int | Fraction, other: int | Fraction) -> bool:
    scale = max(Fraction(1), abs(Fraction(one)))
    return _rough(one, other) and abs(Fraction(one) - Fraction(other)) <= TOLERANCE * scale


def _rough(*values: int | Fraction) -> bool:
    """Only values that stem from approximations carry such denominators."""
    return any(isinstance(value, Fraction) and value.denominator > 10**30 for value in values)


def precedes(left: Any, right: Any) -> bool:
    """Left < right."""
    one, other = same_scale(left, right)
    return one < other and not _near(one, other)
