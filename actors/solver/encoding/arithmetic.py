"""Division, powers and extremes: Z3's division is SMT-LIB's; the floor kinds are built from it."""

import math
from collections.abc import Sequence
from typing import Any, Final

import z3

from ..dsl.faults import ExpressionError
from .terms import Term, as_real, bounded, choose, integer, multiply, real, same_kind, z3_of

EXPONENT_MAX: Final = 64


def euclidean(left: int, right: int) -> tuple[int, int]:
    """SMT-LIB's div and mod: the remainder is never negative."""
    remainder = left % abs(right)
    return (left - remainder) // right, remainder


def divide_whole(op: str, left: Term, right: Term) -> Term:
    """div, mod, // and % of ints whose divisor is not 0.

    Raises:
        ExpressionError: for reals.
    """
    if "real" in {left.kind, right.kind}:
        raise ExpressionError(f"{op} is for whole numbers", fix="use / for reals")
    if left.constant and right.constant:
        quotient, remainder = (
            euclidean(left.value, right.value) if op in {"div", "mod"} else divmod(left.value, right.value)
        )
        return integer(quotient if op in {"div", "//"} else remainder)
    one, other = z3_of(left), z3_of(right)
    if op == "div" or (op == "//" and right.constant and right.value > 0):
        return integer(one / other)
    if op == "mod" or (op == "%" and right.constant and right.value > 0):
        return integer(one % other)
    floor = z3.If(other > 0, one / other, (-one) / (-other))
    return integer(floor if op == "//" else one - other * floor)


def divide(left: Term, right: Term) -> Term:
    """The exact quotient of two numbers, the divisor not 0."""
    left, right = as_real(left), as_real(right)
    if left.constant and right.constant:
        return real(bounded(left.value / right.value))
    if right.constant:
        return multiply(left, real(1 / right.value))
    return real(z3_of(left) / z3_of(right))


def power(base: Term, exponent: Term) -> Term:
    """Base ^ exponent for a constant whole exponent from 0 to 64.

    Raises:
        ExpressionError: for any other exponent.
    """
    if not exponent.constant or exponent.value != math.floor(exponent.value) or not 0 <= exponent.value <= EXPONENT_MAX:
        raise ExpressionError(
            f"the exponent must be a whole constant from 0 to {EXPONENT_MAX}",
            fix="write x ^ 2, or list the powers in a table",
        )
    times = int(exponent.value)
    if base.constant:
        if base.value not in {0, 1, -1}:
            size = base.value.numerator.bit_length() + base.value.denominator.bit_length()
            bounded(1 << min(size * times, 1 << 20))
        return Term(base.kind, bounded(base.value**times))
    result = integer(1)
    for _ in range(times):
        result = multiply(result, base)
    return result


def extreme(terms: Sequence[Term], *, largest: bool) -> Term:
    """The largest or smallest of numbers.

    Raises:
        ExpressionError: for none.
    """
    if not terms:
        raise ExpressionError("min and max need at least one item", fix="give them items")
    terms = same_kind(terms)
    fixed = [term for term in terms if term.constant]
    rest = [term for term in terms if not term.constant]
    if fixed:
        pick = max if largest else min
        rest.append(pick(fixed, key=lambda term: term.value))
    best = rest[0]
    for term in rest[1:]:
        one, other = z3_of(best), z3_of(term)
        best = choose(one >= other if largest else one <= other, best, term)
    return best


def absolute(term: Term) -> Term:
    """The absolute value of a number."""
    if term.constant:
        return Term(term.kind, abs(term.value))
    value: Any = z3_of(term)
    return Term(term.kind, z3.If(value >= 0, value, -value))
