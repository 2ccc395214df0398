"""Z3's models as typed values: exact numbers, members by name, irrational numbers as text with decimals."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import z3

from ..dsl.declarations import Declarations
from ..dsl.types import BoolType, EnumType, FiniteSet, IndexValue, Symbol
from ..dsl.values import Approximate, Assignment, Member
from .terms import str_int

_DIGITS: Final = 40
_SHOWN_DIGITS: Final = 12
_INT_MAX: Final = 1 << 63
_FLOAT_DIGITS: Final = 15


def value_of(expression: Any) -> Any:
    """A Z3 numeral or truth value as bool, int or Fraction; irrational values as an Approximate Fraction."""
    if z3.is_true(expression) or z3.is_false(expression):
        return z3.is_true(expression)
    if z3.is_int_value(expression):
        return parse_int(expression.as_string())
    if z3.is_rational_value(expression):
        return Fraction(parse_int(expression.numerator().as_string()), parse_int(expression.denominator().as_string()))
    if z3.is_algebraic_value(expression):
        near = expression.approx(_DIGITS)
        return Approximate(parse_int(near.numerator().as_string()), parse_int(near.denominator().as_string()))
    raise ValueError(expression.sexpr()[:100])


def parse_int(text: str) -> int:
    """An integer of any length (Python refuses to read more than 4300 digits at once)."""
    if len(text) < 4000:  # noqa: PLR2004
        return int(text)
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    value = 0
    for at in range(0, len(text), 4000):
        part = text[at : at + 4000]
        value = value * 10 ** len(part) + int(part)
    return sign * value


def assignment(
    declarations: Declarations, cells: Mapping[str, Mapping[tuple[IndexValue, ...], Any]], model: z3.ModelRef
) -> Assignment:
    """Plain values for every cell, free ones completed by Z3."""
    found: dict[str, dict[tuple[IndexValue, ...], Any]] = {}
    for name, by_index in cells.items():
        kind = declarations.symbols[name].type
        values = {index: value_of(model.eval(cell, model_completion=True)) for index, cell in by_index.items()}
        found[name] = (
            {index: Member(value, kind) for index, value in values.items()} if isinstance(kind, EnumType) else values
        )
    return found


def shown(declarations: Declarations, values: Assignment) -> dict[str, Any]:
    """An assignment as JSON: nested lists for arrays, objects for functions over enums."""
    return {symbol.name: _shown(symbol, values[symbol.name], ()) for symbol in declarations.symbols.values()}


def _shown(symbol: Symbol, values: Mapping[tuple[IndexValue, ...], Any], prefix: tuple[IndexValue, ...]) -> Any:
    if len(prefix) == len(symbol.indexes):
        return show(values[prefix])
    index = symbol.indexes[len(prefix)]
    if _listed(index):
        return [_shown(symbol, values, (*prefix, value)) for value in index.values]
    return {str(value): _shown(symbol, values, (*prefix, value)) for value in index.values}


def _listed(index: FiniteSet) -> bool:
    """Arrays counted from 0 are lists; others name their indexes."""
    return index.enum is None and index.base == 0


def show(value: Any) -> Any:
    """One value as JSON: ints beyond 64 bit as text, fractions as decimals where those are exact, else as a/b."""
    match value:
        case bool():
            return value
        case int():
            return value if abs(value) < _INT_MAX else str_int(value)
        case Approximate():
            return f"≈{_decimal(value, _SHOWN_DIGITS)}"
        case Fraction():
            return _fraction(value)
        case Member():
            inside = 0 <= value.place < len(value.enum.members)
            return value.enum.members[value.place] if inside else f"outside ({value.place})"
        case _:
            return str(value)


def _fraction(value: Fraction) -> Any:
    if value.denominator == 1:
        return show(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    decimal = float(value) if value.numerator.bit_length() < 512 and value.denominator.bit_length() < 512 else 0.0  # noqa: PLR2004
    if (
        rest == 1
        and len(repr(decimal)) <= _FLOAT_DIGITS
        and "e" not in repr(decimal)
        and Fraction(repr(decimal)) == value
    ):
        return decimal
    return f"{str_int(value.numerator)}/{str_int(value.denominator)}"


def _decimal(value: Fraction, digits: int) -> str:
    scaled = round(abs(value) * 10**digits)
    whole, part = divmod(scaled, 10**digits)
    return ("-" if value < 0 else "") + str_int(whole) + "." + str(part).rjust(digits, "0")


def literal(kind: Any, value: Any) -> Any:
    """The Z3 value of a plain one, None when it is irrational and cannot be written."""
    if isinstance(value, Approximate):
        return None
    if isinstance(kind, BoolType):
        return z3.BoolVal(bool(value))
    if isinstance(value, Member):
        return z3.IntVal(value.place)
    if isinstance(value, Fraction):
        return z3.Q(str_int(value.numerator), str_int(value.denominator))
    return z3.IntVal(str_int(value))
