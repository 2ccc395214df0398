"""How a type is written: "int 1..5", "bool", ["mon", "tue"], "(S, T) -> bool", "array[3,3] of int 0..9", objects."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from .faults import ExpressionError, near
from .types import BoolType, EnumType, FiniteSet, IntType, RealType, Symbol, Type, finite

SET_MAX: Final = 10_000
_INDEX_RANGE_MAX: Final = 10_000
_BOOLS: Final = frozenset({"bool", "boolean", "binary", "truth", "bit"})
_INTS: Final = frozenset({"int", "integer", "ints", "nat", "natural", "number", "num"})
_REALS: Final = frozenset({"real", "float", "rational", "decimal", "double"})
_RANGE: Final = re.compile(r"^\s*(-?\d+(?:\.\d+)?)?\s*(?:\.\.|…|\bto\b|\u2013)\s*(-?\d+(?:\.\d+)?)?\s*$")
_PAIR: Final = re.compile(r"^[\[(]\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*[\])]$")
_BOUND: Final = re.compile(r"(>=|<=|≥|≤|>|<)\s*(-?\d+(?:\.\d+)?)")
_ARRAY: Final = re.compile(
    r"^\s*(?:array|list|matrix|grid)?\s*\[(?P<size>[^\]]*)\]\s*(?:of)?\s+(?:var\s+)?(?P<item>.+)$", re.IGNORECASE
)
_POSTFIX: Final = re.compile(r"^(?P<item>.*[^\s\]])\s*(?P<sizes>(?:\[\s*\w+(?:\s*,\s*\w+)*\s*\]\s*)+)$")
_FUNCTION: Final = re.compile(
    r"^\s*(?:function)?\s*\(?\s*(?P<from>[^()>-][^()>]*?)\s*\)?\s*(?:->|→|=>)\s*(?P<to>.+)$", re.IGNORECASE
)
_EXAMPLE: Final = (
    '"int 1..5", "bool", "real", ["mon","tue"], "(S,T) -> bool", {"type":"int","min":0,"max":9,"size":[3,3]}'
)

_RANGE_FIX: Final = 'write the range of its values, as "int 1..5"; a value that is known is a constraint, as "x = 2"'


def read_type(name: str, value: Any, sets: Mapping[str, Type]) -> Symbol:
    """The declared symbol.

    Raises:
        ExpressionError: when the type is not understood; says what would be.
    """
    match value:
        case str():
            return _text(name, value.strip(), sets)
        case list() | tuple():
            return Symbol(name, (), _members(value))
        case Mapping():
            return _object(name, value, sets)
        case _:
            raise _unknown(name, value)


def _text(name: str, text: str, sets: Mapping[str, Type]) -> Symbol:
    text = re.sub(r"^(?:var\b|:|in\b|∈)\s*", "", text).strip()
    if (found := _ARRAY.match(text)) is not None:
        return Symbol(name, _sizes(found["size"], sets), _scalar(name, found["item"], sets))
    if (found := _FUNCTION.match(text)) is not None:
        return Symbol(name, _sizes(found["from"], sets), _scalar(name, found["to"], sets))
    if (found := _POSTFIX.match(text)) is not None and not _PAIR.match(found["sizes"].strip()):
        return Symbol(
            name, _sizes(found["sizes"].replace("][", ",").strip(" []"), sets), _scalar(name, found["item"], sets)
        )
    return Symbol(name, (), _scalar(name, text, sets))


def _scalar(name: str, text: str, sets: Mapping[str, Type]) -> Type:
    text = text.strip()
    if text in sets:
        return sets[text]
    word, _, rest = text.partition(" ")
    folded = re.split(r"[^\w]", word.lower())[0]
    if folded in _BOOLS:
        return BoolType()
    rest = text[len(folded) :].strip(" :,") if folded in _INTS | _REALS else text
    rest = re.sub(r"^(?:in|from|between|∈)\s+", "", rest).replace(" and ", "..") if rest else rest
    if folded in _REALS:
        low, high = _bounds(rest)
        return RealType(low, high)
    if (found := _braces(rest)) is not None:
        return _members(found)
    if folded in _INTS or _RANGE.match(rest) or _PAIR.match(rest):
        low, high = _bounds(rest)
        _whole(low, high)
        if folded in {"nat", "natural"} and low is None:
            low = Fraction(0)
        return _interval(None if low is None else int(low), None if high is None else int(high))
    raise _unknown(name, text, near(text, [*sets, "int", "bool", "real"]))


def _braces(text: str) -> list[Any] | None:
    """The items of `{a, b}` or of `enum(a, b)`."""
    found = re.match(r"^(?:enum|set|one\s+of)?\s*[{(]([^{}()]*)[})]$", text.strip(), re.IGNORECASE)
    if found is None or _PAIR.match(text.strip()):
        return None
    items = [item.strip().strip("\"'") for item in found[1].split(",") if item.strip()]
    return [int(item) if re.fullmatch(r"-?\d{1,18}", item) else item for item in items]


def _bounds(text: str) -> tuple[Fraction | None, Fraction | None]:
    if not text:
        return None, None
    found = _RANGE.match(text) or _PAIR.match(text)
    if found is not None:
        return (Fraction(found[1]) if found[1] else None), (Fraction(found[2]) if found[2] else None)
    low: Fraction | None = None
    high: Fraction | None = None
    bounds = _BOUND.findall(text)
    if not bounds or _BOUND.sub("", text).strip(" ,&"):
        raise ExpressionError(f"the range {text[:40]!r} is not understood", fix=_RANGE_FIX, example="int 1..5")
    for sign, number in bounds:
        value = Fraction(number)
        if sign in {">=", "≥"}:
            low = value
        elif sign in {"<=", "≤"}:
            high = value
        elif sign == ">":
            low = value + 1
        else:
            high = value - 1
    return low, high


def _whole(*bounds: Fraction | None) -> None:
    for bound in bounds:
        if bound is not None and bound.denominator != 1:
            raise ExpressionError(f"the bound {float(bound)} of an int is not whole", fix='use whole bounds, or "real"')


def _interval(low: int | None, high: int | None) -> IntType:
    if low is not None and high is not None and low > high:
        raise ExpressionError(f"the range {low}..{high} is empty", fix=f"write {high}..{low}")
    return IntType(low, high)


def _members(items: Sequence[Any]) -> Type:
    """The type of a list: all integers make an int, all names an ordered enum.

    Raises:
        ExpressionError: empty, double or mixed members, or two integers that may be a range or a set.
    """
    if not items:
        raise ExpressionError("the list of values is empty", fix='list the values, e.g. ["mon","tue"]')
    if len(items) > SET_MAX:
        raise ExpressionError(f"{len(items)} values, more than {SET_MAX}", fix="use a range")
    if all(isinstance(item, bool) for item in items):
        return BoolType()
    if all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        return _integers([int(item) for item in items])
    names = [_member(item) for item in items]
    doubles = sorted({name for name in names if names.count(name) > 1}) if len(names) < 2000 else []  # noqa: PLR2004
    if doubles or len(set(names)) < len(names):
        raise ExpressionError(f"{', '.join(doubles) or 'a member'} is listed twice", fix="list each member once")
    return EnumType(tuple(names))


def _integers(values: list[int]) -> IntType:
    if len(values) == 2 and values[1] - values[0] > 1:  # noqa: PLR2004
        low, high = values
        raise ExpressionError(
            f"[{low}, {high}] can be a range or two values",
            fix=f'write "int {low}..{high}" for the range or "int {{{low}, {high}}}" for the two values',
        )
    unique = sorted(set(values))
    if unique[-1] - unique[0] + 1 == len(unique):
        return IntType(unique[0], unique[-1])
    return IntType(unique[0], unique[-1], tuple(unique))


def _member(item: Any) -> str:
    if isinstance(item, str) and item.strip() and len(item) <= 200:  # noqa: PLR2004
        return item.strip()
    if isinstance(item, int) and not isinstance(item, bool):
        return str(item)
    raise ExpressionError(f"{str(item)[:40]!r} is not a member", fix="members are names or whole numbers")


def _object(name: str, value: Mapping[str, Any], sets: Mapping[str, Type]) -> Symbol:
    known = {str(key).lower(): item for key, item in value.items()}
    size = known.get("size", known.get("shape", known.get("index")))
    low = known.get("min", known.get("low", known.get("lb")))
    high = known.get("max", known.get("high", known.get("ub")))
    listed = known.get("values", known.get("domain", known.get("members")))
    word = str(known.get("type", known.get("kind", "int"))).strip()
    if isinstance(listed, str):
        base = _text(name, listed, sets)
    elif listed is not None and word.lower() in {"int", "integer"} and _two_integers(listed):
        base = Symbol(name, (), IntType(min(listed), max(listed), tuple(sorted(set(listed)))))
    elif listed is not None:
        base = read_type(name, list(listed) if isinstance(listed, list | tuple) else listed, sets)
    else:
        base = _text(name, word, sets)
    kind = _bounded(base.type, low, high)
    indexes = base.indexes if size is None else _sizes(size, sets)
    return Symbol(name, indexes, kind)


def _two_integers(listed: Any) -> bool:
    return isinstance(listed, list) and len(listed) == 2 and all(type(item) is int for item in listed)  # noqa: PLR2004


def _bounded(kind: Type, low: Any, high: Any) -> Type:
    if low is None and high is None:
        return kind
    bounds = [None if bound is None else _bound(bound) for bound in (low, high)]
    if isinstance(kind, RealType):
        return RealType(bounds[0], bounds[1])
    if isinstance(kind, IntType):
        _whole(*bounds)
        return _interval(*(None if bound is None else int(bound) for bound in bounds))
    raise ExpressionError("only int and real take min and max", fix="leave min and max out")


def _bound(value: Any) -> Fraction:
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf"):  # noqa: PLR0124
        return Fraction(repr(value))
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,400}(\.\d{1,400})?\s*", value):
        return Fraction(value.strip())
    raise ExpressionError(f"the bound {str(value)[:40]!r} is not a number", fix="write a number")


def _sizes(size: Any, sets: Mapping[str, Type]) -> tuple[FiniteSet, ...]:
    parts = size.split(",") if isinstance(size, str) else size if isinstance(size, list | tuple) else [size]
    if not parts or len(parts) > 4:  # noqa: PLR2004
        raise ExpressionError(f"{len(parts)} dimensions, from 1 to 4 are possible", fix="use fewer dimensions")
    return tuple(_index(part, sets) for part in parts)


def _index(part: Any, sets: Mapping[str, Type]) -> FiniteSet:
    """One dimension: a count (indexes from 0), a range, or the name of a set."""
    if isinstance(part, str):
        text = part.strip()
        if text in sets:
            found = finite(sets[text])
            assert found is not None
            return found
        if text.lower() in _BOOLS:
            raise ExpressionError("bool is no index", fix="index by a range or an enum")
        if re.fullmatch(r"\d{1,6}", text):
            part = int(text)
        elif (
            (between := _RANGE.match(text))
            and between[1]
            and between[2]
            and float(between[2]) - float(between[1]) < _INDEX_RANGE_MAX
        ):
            return FiniteSet(tuple(range(int(float(between[1])), int(float(between[2])) + 1)))
        elif (listed := _braces(text)) is not None:
            found = finite(_members(listed))
            assert found is not None
            return found
        else:
            close = near(text, sets)
            raise ExpressionError(
                f"{text[:40]!r} names no set",
                fix=f"declare it under types{f', or did you mean {close[0]}?' if close else ''}",
            )
    if isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= SET_MAX:
        return FiniteSet(tuple(range(part)))
    raise ExpressionError(
        f"the size {str(part)[:40]} is not understood", fix='a count, a range "1..9", or the name of a set'
    )


def _unknown(name: str, value: Any, close: Sequence[str] = ()) -> ExpressionError:
    hint = f"did you mean {close[0]}? " if close else ""
    return ExpressionError(
        f"the type {str(value)[:60]!r} is not understood",
        fix=_RANGE_FIX if re.fullmatch(r"-?\d+", str(value)) else f"{hint}types are {_EXAMPLE}",
        example=f'"{name[:40]}": "int 1..5"',
    )
