"""Values of the evaluator as flat lists and as numbers on one scale."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .values import Items, Member, Unreadable, as_number


def flat(args: Sequence[Any]) -> list[Any]:
    """All values of the arguments, lists opened."""
    return Items(list(args)).flat()


def scale(value: Any) -> int | Fraction:
    """A value on its scale: a place, or a number."""
    return value.place if isinstance(value, Member) else as_number(value)


def scaled(value: Any) -> list[int | Fraction]:
    """The items of a list on their scale."""
    if not isinstance(value, Items):
        raise Unreadable("not a list")
    return [scale(item) for item in value.flat()]
