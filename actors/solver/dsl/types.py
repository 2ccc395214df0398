"""The types of the language and the finite sets that index, quantify and bound."""

from fractions import Fraction

from msgspec import Struct

IndexValue = int | str
"""What an index or a bound name stands for: an integer or the name of an enum member."""


class Type(Struct, frozen=True):
    """Base of all."""


class BoolType(Type, frozen=True):
    """true or false."""


class IntType(Type, frozen=True):
    """An integer between `low` and `high` (None = open), or one of `values`."""

    low: int | None = None
    high: int | None = None
    values: tuple[int, ...] = ()


class RealType(Type, frozen=True):
    """An exact real between `low` and `high` (None = open)."""

    low: Fraction | None = None
    high: Fraction | None = None


class EnumType(Type, frozen=True):
    """An ordered list of names; two enums with the same members are the same type."""

    members: tuple[str, ...]

    def position(self, member: str) -> int | None:
        """The place of a member counted from 0; near spellings in case count as the same."""
        if member in self.members:
            return self.members.index(member)
        folded = [name.casefold() for name in self.members]
        return folded.index(member.casefold()) if folded.count(member.casefold()) == 1 else None


class FiniteSet(Struct, frozen=True):
    """An ordered finite set; `enum` when its values are names."""

    values: tuple[IndexValue, ...]
    enum: EnumType | None = None

    @property
    def base(self) -> int:
        """The first index of an array over this set; 0 for enums."""
        first = self.values[0] if self.values else 0
        return first if isinstance(first, int) else 0


class Symbol(Struct, frozen=True):
    """A declared variable, array or function: `indexes` is empty for a plain variable."""

    name: str
    indexes: tuple[FiniteSet, ...]
    type: Type


def finite(kind: Type) -> FiniteSet | None:
    """The values of a type, None when they are not finitely many."""
    match kind:
        case EnumType(members=members):
            return FiniteSet(members, kind)
        case IntType(values=values) if values:
            return FiniteSet(values)
        case IntType(low=int() as low, high=int() as high):
            return FiniteSet(tuple(range(low, high + 1)))
        case _:
            return None


def limited(kind: Type) -> bool:
    """Whether a declaration rules out some values that its kind has."""
    match kind:
        case IntType(low=None, high=None, values=()) | RealType(low=None, high=None) | BoolType():
            return False
        case _:
            return True


def spell(kind: Type) -> str:
    """A type as one would declare it."""
    match kind:
        case BoolType():
            return "bool"
        case IntType(values=values) if values:
            return "int {" + ", ".join(map(str, values[:8])) + ("…" if len(values) > 8 else "") + "}"  # noqa: PLR2004
        case IntType(low=low, high=high):
            return "int" if low is None and high is None else f"int {_bound(low)}..{_bound(high)}"
        case RealType():
            return "real"
        case EnumType(members=members):
            return "{" + ", ".join(members[:8]) + ("…" if len(members) > 8 else "") + "}"  # noqa: PLR2004
        case _:
            return "unknown"


def _bound(value: int | None) -> str:
    return "" if value is None else str(value)
