"""What each global constraint means, by its definition, on plain values; the table holds all functions."""

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from .quantities import QUANTITIES
from .scales import flat, scale, scaled
from .values import Items, Member, Undefined, Unreadable, as_number, equal, precedes

Meaning = Callable[[str, list[Any]], Any]


def _all_different(_: str, args: list[Any]) -> bool:
    return all(not equal(one, other) for one, other in itertools.combinations(flat(args), 2))


def _all_different_except(_: str, args: list[Any]) -> bool:
    skip = flat([args[1]])
    left = [value for value in args[0].flat() if not any(equal(value, one) for one in skip)]
    return _all_different("", left)


def _all_equal(_: str, args: list[Any]) -> bool:
    found = flat(args)
    return all(equal(found[0], value) for value in found[1:])


def _ordered(op: str, args: list[Any]) -> bool:
    pairs = itertools.pairwise(flat(args))
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
    places = [enum.position(value) if enum and isinstance(value, str) else scale(value) for value in args]
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
    tasks = sorted((s, d) for s, d in zip(scaled(args[0]), scaled(args[1]), strict=True) if d != 0)
    return all(s + d <= t or t + e <= s for (s, d), (t, e) in itertools.combinations(tasks, 2))


def _cumulative(_: str, args: list[Any]) -> bool:
    tasks = list(zip(scaled(args[0]), scaled(args[1]), scaled(args[2]), strict=True))
    capacity = as_number(args[3])
    moments = {s for s, _, _ in tasks}
    return all(sum(r for s, d, r in tasks if s <= moment < s + d) <= capacity for moment in moments)


def _steps(args: list[Any]) -> list[int] | None:
    base = int(as_number(args[1])) if len(args) > 1 else args[0].base
    steps = [int(value) - base for value in scaled(args[0])]
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
    forth = [int(value) - bases[1] for value in scaled(args[0])]
    back = [int(value) - bases[0] for value in scaled(args[1])]
    inside = all(0 <= value < len(back) for value in forth) and all(0 <= value < len(forth) for value in back)
    return (
        inside
        and all(back[value] == at for at, value in enumerate(forth))
        and all(forth[value] == at for at, value in enumerate(back))
    )


def _lexicographic(op: str, args: list[Any]) -> bool:
    left, right = scaled(args[0]), scaled(args[1])
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
    table = [scaled(row) for row in args[3 if first else 1].items]
    state = int(as_number(args[-2]))
    for value in scaled(args[0]):
        row, at = state - first, int(value) - first
        if not (0 <= row < len(table) and 0 <= at < len(table[row])):
            return False
        state = int(table[row][at])
        if state < first:
            return False
    return state in scaled(args[-1])


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
        if equal(item, second):
            return False
        if equal(item, first):
            return True
    return True


def _bin_packing(_: str, args: list[Any]) -> bool:
    loads: Counter[int | Fraction] = Counter()
    for place, size in zip(scaled(args[1]), scaled(args[2]), strict=True):
        loads[place] += size  # type: ignore[assignment]
    if isinstance(args[0], Items):
        limits = dict(enumerate(scaled(args[0]), start=args[0].base))
        return all(place in limits and load <= limits[int(place)] for place, load in loads.items())
    return all(load <= as_number(args[0]) for load in loads.values())


def _arg_extreme(op: str, args: list[Any]) -> int:
    values = scaled(args[0])
    return values.index(max(values) if op == "arg_max" else min(values)) + args[0].base


def _element(_: str, args: list[Any]) -> Any:
    target, key = (args[0], args[1]) if isinstance(args[0], Items) else (args[1], args[0])
    place = scale(key) - target.base
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
    **QUANTITIES,
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
    "list": lambda _, args: Items(flat(args)),
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
