"""Declarations: `vars`, `types` and `data` to symbols, named sets and constants, with every fault at once."""

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from .faults import Defect, ExpressionError, ProblemError
from .types import BoolType, EnumType, IndexValue, Symbol, Type, finite
from .typetext import read_type

CELLS_MAX: Final = 20_000
_TYPE_KEYS: Final = frozenset(
    {"type", "kind", "min", "max", "low", "high", "lb", "ub", "size", "shape", "values", "domain", "members"}
)

Constant = bool | int | Fraction | str | tuple["Constant", ...]


class Declarations:
    """Everything that a name can mean in a problem.

    Attributes:
        symbols: variables, arrays and functions by name.
        sets: named enums and ranges.
        constants: data by name; lists are tuples, indexed from 0.
        notes: repairs made while reading.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}
        self.sets: dict[str, Type] = {}
        self.constants: dict[str, Constant] = {}
        self.notes: list[str] = []
        self._members: dict[str, list[EnumType]] = {}

    def enums_with(self, member: str) -> list[EnumType]:
        """The enums that have this member."""
        return self._members.get(member, []) or self._members.get(member.casefold(), [])

    def members(self) -> list[str]:
        """Every enum member there is, in order of declaration."""
        return list(dict.fromkeys(name for enums in self._members.values() for enum in enums for name in enum.members))

    def names(self) -> list[str]:
        """Every name that means something."""
        return [*self.symbols, *self.constants, *self.sets, *self.members()]

    def add_set(self, name: str, kind: Type) -> None:
        """Name a set; its members become known."""
        self.sets[name] = kind
        self._learn(kind)

    def add(self, symbol: Symbol) -> None:
        """Declare a variable; the members of its type become known."""
        self.symbols[symbol.name] = symbol
        self._learn(symbol.type)
        for index in symbol.indexes:
            if index.enum:
                self._learn(index.enum)

    def _learn(self, kind: Type) -> None:
        if isinstance(kind, EnumType):
            for member in kind.members:
                for spelling in {member, member.casefold()}:
                    known = self._members.setdefault(spelling, [])
                    if kind not in known:
                        known.append(kind)

    def cells(self, symbol: Symbol) -> Iterator[tuple[IndexValue, ...]]:
        """The index tuples of a symbol; one empty tuple for a plain variable."""
        return itertools.product(*(index.values for index in symbol.indexes))

    def finite(self) -> bool:
        """Whether every value comes from a finite set."""
        return all(isinstance(one.type, BoolType) or finite(one.type) is not None for one in self.symbols.values())

    def count(self) -> int:
        """How many single values a solution has."""
        return sum(_size(symbol) for symbol in self.symbols.values())


def _size(symbol: Symbol) -> int:
    size = 1
    for index in symbol.indexes:
        size *= len(index.values)
    return size


def declare(variables: Any, sets: Any = None, data: Any = None) -> Declarations:
    """Read all declarations: three objects of name to declaration, each of which may be missing.

    Raises:
        ProblemError: with one defect per declaration that is not understood.
    """
    found, defects = Declarations(), []
    for where, group, read in (
        ("types", sets, _add_set),
        ("data", data, _add_data),
        ("vars", variables, _add_variable),
    ):
        if group is not None and not isinstance(group, Mapping):
            example = '{"x": "int 1..5"}'
            defects.append(
                Defect(where=where, text=str(group)[:100], problem="this is not an object", fix=f"write {example}")
            )
            continue
        for name, value in (group or {}).items():
            try:
                _check_name(name)
                read(found, name.strip().strip("`"), value)
            except ExpressionError as error:
                defects.append(
                    Defect(
                        where=f"{where}.{name}"[:80],
                        text=str(value)[:200],
                        problem=error.problem,
                        fix=error.fix,
                        example=error.example,
                    )
                )
    if found.count() > CELLS_MAX:
        defects.append(
            Defect(
                where="vars", problem=f"{found.count()} values to find, more than {CELLS_MAX}", fix="make it smaller"
            )
        )
    if defects:
        raise ProblemError(defects)
    return found


def _check_name(name: Any) -> None:
    text = name.strip().strip("`") if isinstance(name, str) else ""
    if not text or len(text) > 200 or "\x00" in text or any(0xD800 <= ord(char) < 0xE000 for char in text):  # noqa: PLR2004
        raise ExpressionError(f"{str(name)[:40]!r} is not a name", fix="use letters, digits and _, at most 200 of them")


def _add_set(found: Declarations, name: str, value: Any) -> None:
    symbol = read_type(name, value, found.sets)
    if symbol.indexes or finite(symbol.type) is None:
        raise ExpressionError(f"{name} must be a finite set", fix='a list of names or a range: ["mon","tue"], "1..5"')
    found.add_set(name, symbol.type)


def _add_data(found: Declarations, name: str, value: Any) -> None:
    found.constants[name] = _constant(value)


def _constant(value: Any, level: int = 0) -> Constant:
    match value:
        case bool() | int() | str():
            return value
        case float() if value == value and abs(value) != float("inf"):  # noqa: PLR0124
            return Fraction(repr(value))
        case list() | tuple() if level < 5:  # noqa: PLR2004
            return tuple(_constant(item, level + 1) for item in value)
        case _:
            raise ExpressionError(
                f"{str(value)[:40]} is not a constant",
                fix="numbers, truth values, names, and lists of them",
                example="[3, 4, 5]",
            )


def _add_variable(found: Declarations, name: str, value: Any) -> None:
    if name in found.symbols:
        raise ExpressionError(f"{name} is declared twice", fix="remove one of them")
    found.add(read_type(name, value, found.sets))
