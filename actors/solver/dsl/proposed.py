"""A proposed assignment read: JSON values to plain values of the declared types, whole or in part."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .declarations import Declarations
from .faults import Defect, ExpressionError, ProblemError, listing, near
from .types import BoolType, EnumType, IndexValue, IntType, RealType, Symbol, Type
from .values import Member

Cells = dict[str, dict[tuple[IndexValue, ...], Any]]
_CELL = re.compile(r"^\s*(?P<name>[^\[\]()]+?)\s*[\[(](?P<index>[^\[\]()]*)[\])]\s*$")


def read_assignment(declarations: Declarations, proposed: Mapping[str, Any]) -> Cells:
    """Plain values by cell; `null` leaves a cell open.

    Raises:
        ProblemError: every name that is not declared and every value that does not fit its type.
    """
    found: Cells = {name: {} for name in declarations.symbols}
    defects: list[Defect] = []
    for name, value in proposed.items():
        try:
            symbol, prefix = _target(declarations, str(name))
            _place(symbol, prefix, value, found[symbol.name])
        except ExpressionError as error:
            defects.append(
                Defect(where=f"assignment.{name}"[:100], text=str(value)[:100], problem=error.problem, fix=error.fix)
            )
    if defects:
        raise ProblemError(defects)
    return found


def _target(declarations: Declarations, name: str) -> tuple[Symbol, tuple[IndexValue, ...]]:
    if name in declarations.symbols:
        return declarations.symbols[name], ()
    cell = _CELL.match(name)
    if cell is not None and cell["name"] in declarations.symbols:
        symbol = declarations.symbols[cell["name"]]
        keys = [part.strip() for part in cell["index"].split(",")]
        return symbol, tuple(_key(symbol, at, key) for at, key in enumerate(keys))
    close = near(name, declarations.symbols)
    raise ExpressionError(
        f"{name!r} is not declared", fix=f"did you mean {close[0]}?" if close else "use the names of vars"
    )


def _key(symbol: Symbol, at: int, key: str) -> IndexValue:
    if at >= len(symbol.indexes):
        raise ExpressionError(f"{symbol.name} takes {len(symbol.indexes)} indexes", fix="leave the others out")
    index = symbol.indexes[at]
    value: IndexValue = key
    if index.enum is None and re.fullmatch(r"-?\d{1,9}", key):
        value = int(key)
    elif index.enum is not None and (place := index.enum.position(key)) is not None:
        value = index.enum.members[place]
    if value not in index.values:
        raise ExpressionError(
            f"{key!r} is no index of {symbol.name}", fix=f"use one of {listing(map(str, index.values))}"
        )
    return value


def _place(
    symbol: Symbol, prefix: tuple[IndexValue, ...], value: Any, cells: dict[tuple[IndexValue, ...], Any]
) -> None:
    if value is None:
        return
    if len(prefix) == len(symbol.indexes):
        cells[prefix] = read_value(symbol.type, value)
        return
    index = symbol.indexes[len(prefix)]
    if isinstance(value, list):
        if len(value) != len(index.values):
            raise ExpressionError(
                f"{len(value)} values for {len(index.values)} places of {symbol.name}",
                fix="give one each, null for open ones",
            )
        for key, item in zip(index.values, value, strict=True):
            _place(symbol, (*prefix, key), item, cells)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _place(symbol, (*prefix, _key(symbol, len(prefix), str(key))), item, cells)
    else:
        raise ExpressionError(
            f"{symbol.name} is an array; a single value is given", fix="give a list, or name one cell: name[index]"
        )


def read_value(kind: Type, value: Any) -> Any:
    """One plain value of a type.

    Raises:
        ExpressionError: when it does not fit; its range is not asked about here.
    """
    text = value.strip() if isinstance(value, str) else None
    match kind:
        case BoolType():
            words = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
            if str(value).strip().lower() in words:
                return words[str(value).strip().lower()]
        case EnumType() as enum:
            place = enum.position(str(value).strip())
            if place is not None:
                return Member(place, enum)
            close = near(str(value), enum.members)
            raise ExpressionError(
                f"{str(value)[:40]!r} is not one of {{{listing(enum.members)}}}",
                fix=f"did you mean {close[0]!r}?" if close else "use a member",
            )
        case IntType() | RealType() if not isinstance(value, bool):
            exact = _exact(value, text)
            if exact is not None and (isinstance(kind, RealType) or exact.denominator == 1):
                return int(exact) if isinstance(kind, IntType) else exact
        case _:
            pass
    raise ExpressionError(f"{str(value)[:40]!r} does not fit the type", fix="give a value of the declared type")


def _exact(value: Any, text: str | None) -> Fraction | None:
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124
        return Fraction(repr(value))
    if text and re.fullmatch(r"-?\d{1,2000}(\.\d{1,400}|/0*[1-9]\d{0,400})?", text):
        return Fraction(text)
    return None


def in_domain(kind: Type, value: Any) -> bool:
    """Whether a plain value lies in the declared range."""
    match kind:
        case IntType(values=values) if values:
            return value in values
        case IntType(low=low, high=high) | RealType(low=low, high=high):
            return (low is None or value >= low) and (high is None or value <= high)
        case _:
            return True
