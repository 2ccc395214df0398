"""What sums, quotients, extremes and counts mean on plain values."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from .scales import flat, scale
from .values import Items, Member, Undefined, Unreadable, as_number, equal

Meaning = Callable[[str, list[Any]], Any]


def _plus(op: str, args: list[Any]) -> Any:
    found = flat(args)
    members = [value for value in found if isinstance(value, Member | str)]
    if not members:
        return sum((as_number(value) for value in found), start=0)
    if op == "sum" or len(members) != 1 or isinstance(members[0], str):
        raise Unreadable("members are added")
    return Member(
        members[0].place + int(sum(as_number(value) for value in found if not isinstance(value, Member))),
        members[0].enum,
    )


class _Negative:
    """Minus an enum member, which only has a meaning in a difference."""

    def __init__(self, member: Any) -> None:
        self.member = member


def _minus(_: str, args: list[Any]) -> Any:
    found = flat(args)
    if len(found) == 1:
        return _Negative(found[0]) if isinstance(found[0], Member | str) else -as_number(found[0])
    return _added([*flat(args[:1]), *(_minus("neg", [value]) for value in args[1:])])


def _added(values: Sequence[Any]) -> Any:
    """A sum in which members may be taken from each other."""
    enum = next((value.enum for value in values if isinstance(value, Member)), None) or next(
        (value.member.enum for value in values if isinstance(value, _Negative) and isinstance(value.member, Member)),
        None,
    )
    if enum is None:
        return sum((as_number(value) for value in values), start=0)
    total, balance = 0, 0
    for value in values:
        sign, plain = (-1, value.member) if isinstance(value, _Negative) else (1, value)
        if isinstance(plain, Member | str):
            place = plain.place if isinstance(plain, Member) else enum.position(plain)
            if place is None:
                raise Unreadable("not a member")
            balance += sign
            total += sign * place
        else:
            total += int(as_number(plain))
    if balance not in {0, 1}:
        raise Unreadable("members are added")
    return Member(total, enum) if balance else total


def _sum(op: str, args: list[Any]) -> Any:
    return _added(flat(args)) if op == "+" else _plus(op, args)


def _product(_: str, args: list[Any]) -> Any:
    result: int | Fraction = 1
    for value in flat(args):
        result *= as_number(value)
    return result


def _quotient(op: str, args: list[Any]) -> Any:
    left, right = (as_number(value) for value in args)
    if right == 0:
        raise Undefined
    if op == "/":
        return Fraction(left) / Fraction(right)
    left, right = int(left), int(right)
    if op in {"//", "%"}:
        return left // right if op == "//" else left % right
    remainder = left - abs(right) * (left // abs(right))
    return remainder if op == "mod" else (left - remainder) // right


def _power(_: str, args: list[Any]) -> Any:
    return as_number(args[0]) ** int(as_number(args[1]))


def _absolute(_: str, args: list[Any]) -> Any:
    return abs(as_number(args[0]))


def _extreme(op: str, args: list[Any]) -> Any:
    found = flat(args)
    if not found:
        raise Unreadable("no items")
    enum = next((value.enum for value in found if isinstance(value, Member)), None)
    if enum is not None:
        found = [value if isinstance(value, Member) else Member(enum.position(value) or 0, enum) for value in found]
    return (max if op == "max" else min)(found, key=scale)


def _trues(values: Sequence[Any]) -> Any:
    return sum((as_number(value) for value in values), start=0)


def _count(_: str, args: list[Any]) -> Any:
    if len(args) == 1:
        return _trues(flat(args))
    lists = [value for value in args if isinstance(value, Items)]
    singles = [value for value in args if not isinstance(value, Items)]
    if not lists:
        return _trues(args)
    if len(lists) == 2:  # noqa: PLR2004
        return sum(any(equal(item, value) for value in lists[1].flat()) for item in lists[0].flat())
    found = sum(equal(item, singles[0]) for item in lists[0].flat())
    return found == as_number(singles[1]) if len(singles) == 2 else found  # noqa: PLR2004


def _cardinality(op: str, args: list[Any]) -> bool:
    if isinstance(args[0], Items) and len(args) > 1:
        args = [args[1], args[0], *args[2:]]
    bound, rest = as_number(args[0]), args[1:]
    if len(rest) == 2 and isinstance(rest[0], Items) and not isinstance(rest[1], Items):  # noqa: PLR2004
        found = sum(equal(item, rest[1]) for item in rest[0].flat())
    else:
        found = _trues(flat(rest))
    return _bounded(op, found, bound)


def _bounded(op: str, found: Any, bound: Any) -> bool:
    if op.startswith("exactly"):
        return bool(found == bound)
    return bool(found >= bound) if op.startswith("at_least") else bool(found <= bound)


def _some_one(op: str, args: list[Any]) -> bool:
    return _bounded(op, _trues(flat(args)), 1)


def _among(_: str, args: list[Any]) -> int:
    return sum(any(equal(item, value) for value in args[1].flat()) for item in args[0].flat())


def _nvalue(_: str, args: list[Any]) -> int:
    items = flat(args)
    return sum(not any(equal(item, earlier) for earlier in items[:at]) for at, item in enumerate(items))


QUANTITIES: Final[dict[str, Meaning]] = {
    "+": _sum,
    "sum": _sum,
    "neg": _minus,
    "sub": _minus,
    "*": _product,
    "product": _product,
    "/": _quotient,
    "div": _quotient,
    "mod": _quotient,
    "//": _quotient,
    "%": _quotient,
    "^": _power,
    "abs": _absolute,
    "min": _extreme,
    "max": _extreme,
    "count": _count,
    "exactly": _cardinality,
    "at_least": _cardinality,
    "at_most": _cardinality,
    "exactly_one": _some_one,
    "at_most_one": _some_one,
    "at_least_one": _some_one,
    "among": _among,
    "nvalue": _nvalue,
}
