"""JSON spellings of an expression, `["<", "x", 3]` and `{"op": "<", "args": ["x", 3]}`, to the same tree as text."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .faults import ExpressionError
from .operators import canonical, quantifier
from .parser import DEPTH_MAX, parse
from .syntax import Apply, Name, Node, Number, Sequence, Truth
from .tokens import SYMBOLS

_BRACKETS = frozenset("()[]{},:?;.")


def build(value: Any, level: int = 0) -> Node:
    """The tree of a constraint in any spelling; strings are infix text.

    Raises:
        ExpressionError: when it is none of them, or nested deeper than 200.
    """
    if level > DEPTH_MAX:
        raise ExpressionError(f"the constraint is nested deeper than {DEPTH_MAX}", fix="split it into several")
    match value:
        case bool():
            return Truth(value)
        case int():
            return Number(Fraction(value))
        case float():
            return _float(value)
        case str():
            return parse(value)
        case {"op": str() as op, **rest}:
            args = rest.get("args", [])
            return _apply(op, args if isinstance(args, list) else [args], level)
        case {"var": str() as name}:
            return Name(name)
        case list():
            return _list(value, level)
        case _:
            raise ExpressionError(
                f"{_kind(value)} is not an expression", fix='write text ("x < 3") or a prefix list (["<", "x", 3])'
            )


def _float(value: float) -> Number:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
        raise ExpressionError(f"{value} is not a number", fix="write a finite number")
    return Number(Fraction(repr(value)), decimal=not value.is_integer())


def _list(items: list[Any], level: int) -> Node:
    if items and isinstance(items[0], str) and len(items) > 1 and operator_of(items[0]) is not None:
        return _apply(items[0], items[1:], level)
    return Sequence(tuple(build(item, level + 1) for item in items))


def operator_of(word: str) -> str | None:
    """The canonical operation that a JSON head names, symbol or word."""
    word = word.strip()
    symbol = SYMBOLS.get(word)
    return symbol if symbol and word not in _BRACKETS else canonical(word)


def _apply(op: str, args: list[Any], level: int) -> Node:
    name = operator_of(op) or op
    parts = tuple(build(arg, level + 1) for arg in args)
    if name == "-":
        name = "neg" if len(parts) == 1 else "sub"
    if name == "distinct" and op.strip().lower() == "distinct":
        name = "all_different"
    return Apply(quantifier(name), parts)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "an object without op" if isinstance(value, Mapping) else f"a {type(value).__name__}"
