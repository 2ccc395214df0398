"""Comparing terms: members find their enum, ints meet reals, lists meet lists."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import z3

from ..dsl.declarations import Declarations
from ..dsl.faults import ExpressionError, listing, near
from ..dsl.types import EnumType
from .terms import ListTerm, Term, as_real, conjunction, describe, disjunction, negation, number, z3_of

_ORDER: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Comparer:
    """Makes comparable what is compared, given what is declared."""

    def __init__(self, declarations: Declarations, note: Callable[[str], None]) -> None:
        self._declarations = declarations
        self._note = note

    def resolve(self, term: Term, enum: EnumType | None = None) -> Term:
        """A bare member as a value of `enum`, or of the one enum that has it.

        Raises:
            ExpressionError: not a member, or a member of several enums.
        """
        if term.kind != "member":
            return term
        candidates = [enum] if enum else self._declarations.enums_with(term.value)
        places = [(one, place) for one in candidates if (place := one.position(term.value)) is not None]
        if len(places) == 1:
            return Term("enum", places[0][1], places[0][0])
        if enum is not None:
            close = near(term.value, enum.members)
            raise ExpressionError(
                f"{term.value!r} is not one of {{{listing(enum.members)}}}",
                fix=f"did you mean {close[0]!r}?" if close else f"use one of {listing(enum.members)}",
            )
        raise ExpressionError(
            f"{term.value!r} is a member of {len(places)} enums",
            fix="compare it with a variable, so that it is clear which",
        )

    def align(self, terms: Sequence[Term]) -> list[Term]:
        """Terms made comparable with each other: one enum, all bool, or all numbers of one kind.

        Raises:
            ExpressionError: when they are not comparable.
        """
        kinds = {term.kind for term in terms}
        if kinds == {"bool"}:
            return list(terms)
        if "enum" in kinds or "member" in kinds:
            return self._enums(terms)
        numbers = [number(term, note=self._note) for term in terms]
        if any(term.kind == "real" for term in numbers):
            return [as_real(term) for term in numbers]
        return numbers

    def _enums(self, terms: Sequence[Term]) -> list[Term]:
        enums = {term.enum for term in terms if term.kind == "enum" and term.enum}
        if not enums:
            enums = self._shared(terms)
        if len(enums) != 1:
            raise ExpressionError(
                "values of different enums are compared: "
                + " and ".join(sorted(describe(Term("enum", 0, enum)) for enum in enums)),
                fix="give both variables the same list of members",
            )
        enum = enums.pop()
        aligned = [self.resolve(term, enum) for term in terms]
        for term in aligned:
            if term.kind != "enum":
                raise ExpressionError(
                    f"{describe(term)} is compared with {describe(Term('enum', 0, enum))}",
                    fix="compare with a member, or use position(x), the place in the list from 1",
                    example=f"x = {enum.members[0]}" if enum.members else "",
                )
        return aligned

    def _shared(self, terms: Sequence[Term]) -> set[EnumType]:
        """The enums that have all of these bare members; the first when there are several."""
        sets = [set(self._declarations.enums_with(term.value)) for term in terms if term.kind == "member"]
        shared = set.intersection(*sets) if sets else set()
        if not shared or any(term.kind != "member" for term in terms):
            names = ", ".join(repr(term.value) for term in terms if term.kind == "member")
            raise ExpressionError(f"{names} cannot be compared with that", fix="compare a member with an enum variable")
        return {min(shared, key=lambda enum: enum.members)}

    def equal(self, left: Term | ListTerm, right: Term | ListTerm) -> Any:
        """Left = right as a Python or Z3 truth value; lists item by item."""
        if isinstance(left, ListTerm) or isinstance(right, ListTerm):
            if not (isinstance(left, ListTerm) and isinstance(right, ListTerm)):
                raise ExpressionError("a list is compared with a single value", fix="compare its items: x[i] = value")
            if len(left.items) != len(right.items):
                raise ExpressionError(
                    f"lists of {len(left.items)} and {len(right.items)} items are compared",
                    fix="make them equally long",
                )
            return conjunction([self.equal(one, other) for one, other in zip(left.items, right.items, strict=True)])
        one, other = self.align([left, right])
        if one.constant and other.constant:
            return one.value == other.value
        if one.kind == "bool" and (one.constant or other.constant):
            fixed, free = (one, other) if one.constant else (other, one)
            return free.value if fixed.value else z3.Not(free.value)
        return z3_of(one) == z3_of(other)

    def order(self, op: str, left: Term | ListTerm, right: Term | ListTerm) -> Any:
        """Left < right and its kin."""
        if isinstance(left, ListTerm) or isinstance(right, ListTerm):
            raise ExpressionError("lists have no order", fix="use lex_less(a, b), or compare items")
        if {left.kind, right.kind} == {"bool"}:
            left, right = number(left), number(right)
        one, other = self.align([left, right])
        if one.constant and other.constant:
            return _ORDER[op](one.value, other.value)
        return _ORDER[op](z3_of(one), z3_of(other))

    def compare(self, op: str, left: Term | ListTerm, right: Term | ListTerm) -> Any:
        """One comparison of any kind."""
        if op == "=":
            return self.equal(left, right)
        if op == "distinct":
            return negation(self.equal(left, right))
        return self.order(op, left, right)

    def all_different(self, terms: Sequence[Term]) -> Any:
        """No two equal."""
        if len(terms) < 2:  # noqa: PLR2004
            return True
        aligned = self.align(terms)
        if aligned[0].kind == "bool":
            aligned = [number(term) for term in aligned]
        if all(term.constant for term in aligned):
            return len({term.value for term in aligned}) == len(aligned)
        return z3.Distinct([z3_of(term) for term in aligned])

    def one_of(self, term: Term, values: Sequence[Term]) -> Any:
        """The term equals one of the values."""
        return disjunction([self.equal(term, value) for value in values])
