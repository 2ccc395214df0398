"""Typed terms: a Python constant or a Z3 expression with its kind; arithmetic folds constants exactly."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, Literal

import z3

from ..dsl.faults import ExpressionError
from ..dsl.types import EnumType

Kind = Literal["bool", "int", "real", "enum", "member"]
_BITS_MAX: Final = 65_536


class Term:
    """One value. `value` is bool, int, Fraction, str (an unresolved enum member) or a Z3 expression.

    Enum values are positions counted from 0; `day + 1` stays an enum and may lie outside of its members.
    """

    __slots__ = ("enum", "kind", "value")

    def __init__(self, kind: Kind, value: Any, enum: EnumType | None = None) -> None:
        self.kind: Kind = kind
        self.value = value
        self.enum = enum

    @property
    def constant(self) -> bool:
        return not isinstance(self.value, z3.ExprRef)


class ListTerm:
    """A list of terms or lists; `base` is the index of the first."""

    __slots__ = ("base", "items")

    def __init__(self, items: Sequence["Term | ListTerm"], base: int = 0) -> None:
        self.items = tuple(items)
        self.base = base

    def flat(self) -> list[Term]:
        """All terms, row by row."""
        found: list[Term] = []
        stack: list[Term | ListTerm] = list(reversed(self.items))
        while stack:
            item = stack.pop()
            if isinstance(item, ListTerm):
                stack.extend(reversed(item.items))
            else:
                found.append(item)
        return found


def boolean(value: Any) -> Term:
    return Term("bool", value)


def integer(value: Any) -> Term:
    return Term("int", value)


def real(value: Any) -> Term:
    return Term("real", value)


def describe(term: Term | ListTerm) -> str:
    """What a term is, for messages."""
    if isinstance(term, ListTerm):
        return "a list"
    names = {"bool": "a truth value", "int": "a whole number", "real": "a real number", "member": "a name"}
    if term.kind == "enum" and term.enum:
        return "one of {" + ", ".join(term.enum.members[:4]) + ("…" if len(term.enum.members) > 4 else "") + "}"  # noqa: PLR2004
    return names.get(term.kind, term.kind)


def z3_of(term: Term) -> Any:
    """The Z3 expression of a resolved term."""
    value = term.value
    if isinstance(value, z3.ExprRef):
        return value
    if term.kind == "bool":
        return z3.BoolVal(value)
    if term.kind == "real":
        exact = Fraction(value)
        return z3.Q(str_int(exact.numerator), str_int(exact.denominator))
    return z3.IntVal(str_int(value))


def str_int(value: int) -> str:
    """Decimal text of an integer of any size."""
    return format(value, "d") if value.bit_length() < 12_000 else _long(value)  # noqa: PLR2004


def _long(value: int) -> str:
    sign, value = ("-", -value) if value < 0 else ("", value)
    parts: list[str] = []
    step = 10**3000
    while value:
        value, part = divmod(value, step)
        parts.append(format(part, "d").rjust(3000, "0"))
    return sign + "".join(reversed(parts)).lstrip("0")


def bounded(value: Any) -> Any:
    """A folded constant, refused when it is absurdly large."""
    size = (
        value.bit_length() if isinstance(value, int) else value.numerator.bit_length() + value.denominator.bit_length()
    )
    if size > _BITS_MAX:
        raise ExpressionError("a number grows beyond 65,536 bits", fix="scale the problem down")
    return value


def number(term: Term | ListTerm, *, note: Callable[[str], None] | None = None) -> Term:
    """The term as int or real; truth values count as 0 and 1.

    Raises:
        ExpressionError: for lists, enums and names.
    """
    if isinstance(term, ListTerm):
        raise ExpressionError("a list stands where a number is needed", fix="take one of its items, or its sum")
    if term.kind in {"int", "real"}:
        return term
    if term.kind == "bool":
        if note:
            note("a truth value used as a number counts as 0 or 1")
        return integer(int(term.value)) if term.constant else integer(z3.If(term.value, z3.IntVal(1), z3.IntVal(0)))
    if term.kind == "enum":
        raise ExpressionError(
            f"{describe(term)} stands where a number is needed", fix="position(x) is its place in the list, from 1"
        )
    raise ExpressionError(f"the name {term.value!r} stands where a number is needed", fix="use a variable or a number")


def as_real(term: Term) -> Term:
    """A numeric term as real."""
    if term.kind == "real":
        return term
    return real(Fraction(term.value)) if term.constant else real(z3.ToReal(term.value))


def same_kind(terms: Sequence[Term]) -> list[Term]:
    """Numbers as all int, or all real when one is."""
    if any(term.kind == "real" for term in terms):
        return [as_real(term) for term in terms]
    return list(terms)


def add(terms: Sequence[Term]) -> Term:
    """The sum of numbers; constants folded."""
    terms = same_kind(terms)
    kind = terms[0].kind if terms else "int"
    fixed = bounded(sum((term.value for term in terms if term.constant), start=0))
    parts = [term.value for term in terms if not term.constant]
    if not parts:
        return Term(kind, Fraction(fixed) if kind == "real" else fixed)
    if fixed != 0:
        parts.append(z3_of(Term(kind, fixed)))
    return Term(kind, parts[0] if len(parts) == 1 else z3.Sum(parts))


def multiply(left: Term, right: Term) -> Term:
    """The product of two numbers."""
    left, right = same_kind([left, right])
    if left.constant and right.constant:
        return Term(left.kind, bounded(left.value * right.value))
    for one, other in ((left, right), (right, left)):
        if one.constant and one.value in {0, 1}:
            return other if one.value == 1 else Term(one.kind, one.value)
    return Term(left.kind, z3_of(left) * z3_of(right))


def negate(term: Term) -> Term:
    """Minus a number."""
    return Term(term.kind, -term.value)


def conjunction(parts: Sequence[Any]) -> Any:
    """And over Python and Z3 truth values; a Python bool when it is decided."""
    rest = [part for part in parts if part is not True]
    if any(part is False for part in rest):
        return False
    return True if not rest else rest[0] if len(rest) == 1 else z3.And(rest)


def disjunction(parts: Sequence[Any]) -> Any:
    """Or over Python and Z3 truth values; a Python bool when it is decided."""
    rest = [part for part in parts if part is not False]
    if any(part is True for part in rest):
        return True
    return False if not rest else rest[0] if len(rest) == 1 else z3.Or(rest)


def negation(part: Any) -> Any:
    """Not of a Python or Z3 truth value."""
    return (not part) if isinstance(part, bool) else z3.Not(part)


def implication(condition: Any, part: Any) -> Any:
    """Condition => part, decided where it can be."""
    if condition is False or part is True:
        return True
    if condition is True:
        return part
    return z3.Not(condition) if part is False else z3.Implies(condition, part)


def choose(condition: Any, yes: Term, no: Term) -> Term:
    """If condition then yes else no, for two terms of one kind."""
    if isinstance(condition, bool):
        return yes if condition else no
    if yes.constant and no.constant and yes.value == no.value and yes.kind == no.kind:
        return yes
    return Term(yes.kind, z3.If(condition, z3_of(yes), z3_of(no)), yes.enum)
