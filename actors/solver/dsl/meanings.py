"""What each function and global constraint means, by its definition, on plain values."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from .values import Items, Member, Undefined, Unreadable, as_number, equal, precedes

Meaning = Callable[[str, list[Any]], Any]


def _flat(args: Sequence[Any]) -> list[Any]:
    return Items(list(args)).flat()


def _scale(value: Any) -> int | Fraction:
    return value.place if isinstance(value, Member) else as_number(value)


def _scaled(value: Any) -> list[int | Fraction]:
    if not isinstance(value, Items):
        raise Unreadable("not a list")
    return [_scale(item) for item in value.flat()]


# numbers


def _plus(op: str, args: list[Any]) -> Any:
    flat = _flat(args)
    members = [value for value in flat if isinstance(value, Member | str)]
    if not members:
        return sum((as_number(value) for value in flat), start=0)
    if op == "sum" or len(members) != 1 or isinstance(members[0], str):
        raise Unreadable("members are added")
    return Member(
        members[0].place + int(sum(as_number(value) for value in flat if not isinstance(value, Member))),
        members[0].enum,
    )


class _Negative:
    """Minus an enum member, which only has a meaning in a difference."""

    def __init__(self, member: Any) -> None:
        self.member = member


def _minus(_: str, args: list[Any]) -> Any:
    flat = _flat(args)
    if len(flat) == 1:
        return _Negative(flat[0]) if isinstance(flat[0], Member | str) else -as_number(flat[0])
    return _difference(flat[0], flat[1:])


def _difference(first: Any, rest: Sequence[Any]) -> Any:
    return _added([first, *(_minus("neg", [value]) for value in rest)])


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
    return _added(_flat(args)) if op == "+" else _plus(op, args)


def _product(_: str, args: list[Any]) -> Any:
    result: int | Fraction = 1
    for value in _flat(args):
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
    flat = _flat(args)
    if not flat:
        raise Unreadable("no items")
    enum = next((value.enum for value in flat if isinstance(value, Member)), None)
    if enum is not None:
        flat = [value if isinstance(value, Member) else Member(enum.position(value) or 0, enum) for value in flat]
    return (max if op == "max" else min)(flat, key=_scale)


# counting


def _trues(values: Sequence[Any]) -> Any:
    return sum((as_number(value) for value in values), start=0)


def _count(_: str, args: list[Any]) -> Any:
    if len(args) == 1:
        return _trues(_flat(args))
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
        found = _trues(_flat(rest))
    return _bounded(op, found, bound)


def _bounded(op: str, found: Any, bound: Any) -> bool:
    if op.startswith("exactly"):
        return bool(found == bound)
    return bool(found >= bound) if op.startswith("at_least") else bool(found <= bound)


def _some_one(op: str, args: list[Any]) -> bool:
    return _bounded(op, _trues(_flat(args)), 1)


def _among(_: str, args: list[Any]) -> int:
    return sum(any(equal(item, value) for value in args[1].flat()) for item in args[0].flat())


def _nvalue(_: str, args: list[Any]) -> int:
    return len(
        {(type(value).__name__, value.casefold()) if isinstance(value, str) else _scale(value) for value in _flat(args)}
    )


# globals


def _all_different(_: str, args: list[Any]) -> bool:
    return all(not equal(one, other) for one, other in itertools.combinations(_flat(args), 2))


def _all_different_except(_: str, args: list[Any]) -> bool:
    skip = _flat([args[1]])
    left = [value for value in args[0].flat() if not any(equal(value, one) for one in skip)]
    return _all_different("", left)


def _all_equal(_: str, args: list[Any]) -> bool:
    flat = _flat(args)
    return all(equal(flat[0], value) for value in flat[1:])


def _ordered(op: str, args: list[Any]) -> bool:
    pairs = itertools.pairwise(_flat(args))
    match op:
        case "increasing":
            return all(not precedes(b, a) for a, b in pairs)
        case "strictly_increasing":
            return all(precedes(a, b) for a, b in pairs)
        case "decreasing":
            return all(not precedes(a, b) for a, b in pairs)
        case _:
            return all(precedes(b, a) for a, b in pairs)


def _table(_: str, args: list[Any]) -> bool:
    items = args[0].flat()
    rows = [row.flat() if isinstance(row, Items) else [row] for row in args[1].items]
    return any(all(equal(a, b) for a, b in zip(items, row, strict=True)) for row in rows)


def _relation(op: str, args: list[Any]) -> bool:
    enum = next((value.enum for value in args if isinstance(value, Member)), None)
    places = [enum.position(value) if enum and isinstance(value, str) else _scale(value) for value in args]
    if None in places:
        raise Unreadable("not a member")
    one, other = (Fraction(place or 0) for place in places[:2])
    match op:
        case "next_to":
            return abs(one - other) == 1
        case "left_of":
            return one < other
        case "right_of":
            return one > other
        case "directly_left_of":
            return one + 1 == other
        case "directly_right_of":
            return one == other + 1
        case "precedence":
            return one < other
        case _:
            third = Fraction(places[2] or 0)
            return min(one, third) < other < max(one, third)


def _precedence(op: str, args: list[Any]) -> bool:
    if len(args) == 2:  # noqa: PLR2004
        return _relation(op, args)
    start, duration, then = (as_number(value) for value in args)
    return start + duration <= then


def _no_overlap(_: str, args: list[Any]) -> bool:
    tasks = sorted((s, d) for s, d in zip(_scaled(args[0]), _scaled(args[1]), strict=True) if d != 0)
    return all(s + d <= t or t + e <= s for (s, d), (t, e) in itertools.combinations(tasks, 2))


def _cumulative(_: str, args: list[Any]) -> bool:
    tasks = list(zip(_scaled(args[0]), _scaled(args[1]), _scaled(args[2]), strict=True))
    capacity = as_number(args[3])
    moments = {s for s, _, _ in tasks}
    return all(sum(r for s, d, r in tasks if s <= moment < s + d) <= capacity for moment in moments)


def _steps(args: list[Any]) -> list[int] | None:
    base = int(as_number(args[1])) if len(args) > 1 else args[0].base
    steps = [int(value) - base for value in _scaled(args[0])]
    return steps if all(0 <= step < len(steps) for step in steps) else None


def _circuit(op: str, args: list[Any]) -> bool:
    steps = _steps(args)
    if steps is None or len(set(steps)) < len(steps):
        return False
    inside = [at for at, step in enumerate(steps) if op == "circuit" or step != at]
    if not inside:
        return True
    place, seen = inside[0], set[int]()
    while place not in seen:
        seen.add(place)
        place = steps[place]
    return len(seen) == len(inside)


def _inverse(_: str, args: list[Any]) -> bool:
    bases = [int(as_number(args[2]))] * 2 if len(args) > 2 else [args[0].base, args[1].base]  # noqa: PLR2004
    forth = [int(value) - bases[1] for value in _scaled(args[0])]
    back = [int(value) - bases[0] for value in _scaled(args[1])]
    inside = all(0 <= value < len(back) for value in forth) and all(0 <= value < len(forth) for value in back)
    return (
        inside
        and all(back[value] == at for at, value in enumerate(forth))
        and all(forth[value] == at for at, value in enumerate(back))
    )


def _lexicographic(op: str, args: list[Any]) -> bool:
    left, right = _scaled(args[0]), _scaled(args[1])
    match op:
        case "lex_less":
            return left < right
        case "lex_lesseq":
            return left <= right
        case "lex_greater":
            return left > right
        case _:
            return left >= right


def _regular(_: str, args: list[Any]) -> bool:
    first = 1 if len(args) == 6 else 0  # noqa: PLR2004
    table = [_scaled(row) for row in args[3 if first else 1].items]
    state = int(as_number(args[-2]))
    for value in _scaled(args[0]):
        row, at = state - first, int(value) - first
        if not (0 <= row < len(table) and 0 <= at < len(table[row])):
            return False
        state = int(table[row][at])
        if state < first:
            return False
    return state in _scaled(args[-1])


def _global_cardinality(_: str, args: list[Any]) -> bool:
    items, values, counts = (value.flat() for value in args)
    return all(
        sum(equal(item, value) for item in items) == as_number(count)
        for value, count in zip(values, counts, strict=True)
    )


def _value_precede(_: str, args: list[Any]) -> bool:
    items = next(value for value in args if isinstance(value, Items)).flat()
    first, second = [value for value in args if not isinstance(value, Items)]
    for item in items:
        if equal(item, first):
            return True
        if equal(item, second):
            return False
    return True


def _bin_packing(_: str, args: list[Any]) -> bool:
    loads: Counter[int | Fraction] = Counter()
    for place, size in zip(_scaled(args[1]), _scaled(args[2]), strict=True):
        loads[place] += size  # type: ignore[assignment]
    if isinstance(args[0], Items):
        limits = dict(enumerate(_scaled(args[0]), start=args[0].base))
        return all(place in limits and load <= limits[int(place)] for place, load in loads.items())
    return all(load <= as_number(args[0]) for load in loads.values())


def _arg_extreme(op: str, args: list[Any]) -> int:
    values = _scaled(args[0])
    return values.index(max(values) if op == "arg_max" else min(values)) + args[0].base


def _element(_: str, args: list[Any]) -> Any:
    target, key = (args[0], args[1]) if isinstance(args[0], Items) else (args[1], args[0])
    place = _scale(key) - target.base
    if not 0 <= place < len(target.items):
        raise Undefined
    found = target.items[int(place)]
    return equal(found, args[2]) if len(args) == 3 else found  # noqa: PLR2004


def _position(_: str, args: list[Any]) -> Any:
    return args[0].place + 1 if isinstance(args[0], Member) else as_number(args[0])


def _line(op: str, args: list[Any]) -> Any:
    if op == "row":
        return _element("", args)
    return Items([_element("", [line, args[1]]) for line in args[0].items], args[0].base)


MEANINGS: Final[dict[str, Meaning]] = {
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
    "all_different": _all_different,
    "all_different_except": _all_different_except,
    "all_equal": _all_equal,
    "increasing": _ordered,
    "strictly_increasing": _ordered,
    "decreasing": _ordered,
    "strictly_decreasing": _ordered,
    "table": _table,
    "next_to": _relation,
    "left_of": _relation,
    "right_of": _relation,
    "directly_left_of": _relation,
    "directly_right_of": _relation,
    "between": _relation,
    "precedence": _precedence,
    "no_overlap": _no_overlap,
    "cumulative": _cumulative,
    "circuit": _circuit,
    "subcircuit": _circuit,
    "inverse": _inverse,
    "lex_less": _lexicographic,
    "lex_lesseq": _lexicographic,
    "lex_greater": _lexicographic,
    "lex_greatereq": _lexicographic,
    "regular": _regular,
    "global_cardinality": _global_cardinality,
    "value_precede": _value_precede,
    "bin_packing": _bin_packing,
    "arg_max": _arg_extreme,
    "arg_min": _arg_extreme,
    "element": _element,
    "position": _position,
    "length": lambda _, args: len(args[0].items),
    "row": _line,
    "col": _line,
    "domain": lambda _, args: args[0],
    "list": lambda _, args: Items(_flat(args)),
}

TRUTH_VALUED: Final = frozenset(MEANINGS) - frozenset(
    [
        "+",
        "sum",
        "neg",
        "sub",
        "*",
        "product",
        "/",
        "div",
        "mod",
        "//",
        "%",
        "^",
        "abs",
        "min",
        "max",
        "count",
        "among",
        "nvalue",
        "arg_max",
        "arg_min",
        "element",
        "position",
        "length",
        "row",
        "col",
        "domain",
        "list",
    ]
) | {"in", "notin"}
"""The operations whose result is a truth value."""
