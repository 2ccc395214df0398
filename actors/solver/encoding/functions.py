"""Functions over numbers and lists; the global constraints are in `globals`, one table holds both."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import z3

from ..dsl.faults import ExpressionError
from ..dsl.syntax import Apply, Comprehension, Interval, Node, column_of
from ..dsl.syntax import Sequence as ListNode
from . import arithmetic
from .connectives import CONNECTIVES
from .globals import GLOBALS
from .terms import ListTerm, Term, add, boolean, choose, describe, integer, multiply, negate, negation, number, z3_of

if TYPE_CHECKING:
    from .encoder import Encoder, Env, Value

Function = Callable[["Encoder", Apply, "Env"], "Term | ListTerm"]


def numbers(encoder: "Encoder", args: Sequence[Node], env: "Env") -> list[Term]:
    """The arguments as numbers, lists opened; an item under a condition counts 0 when it is not there."""
    found: list[Term] = []
    for condition, term in encoder.guarded(args, env):
        value = _counted(encoder, term)
        found.append(choose(condition, value, Term(value.kind, 0)))
    return found


def _quiet(_: str) -> None:
    """A sum of truth values is a count; nothing to tell."""


def _sum(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """A sum, whose subtractions are written as `neg`; each part is encoded once, however deep sums are nested."""
    if node.op != "+" or any(isinstance(arg, Comprehension | ListNode) for arg in node.args):
        return add(numbers(encoder, node.args, env))
    parts: list[tuple[int, Term]] = []
    for arg in node.args:
        if isinstance(arg, Apply) and arg.op == "neg" and len(arg.args) == 1:
            parts.append((-1, _subtracted(encoder, arg.args[0], env)))
        else:
            parts += [(1, term) for _, term in encoder.guarded([arg], env)]
    enums = [term for _, term in parts if term.kind == "enum"]
    if len(parts) > 1 and enums:
        return _moved(encoder, parts, enums[0].enum)
    return add([_signed(sign, _counted(encoder, term)) for sign, term in parts])


def _moved(encoder: "Encoder", parts: Sequence[tuple[int, Term]], enum: Any) -> Term:
    """Enum arithmetic: the distance of two values, or a value moved by a whole number."""
    total: list[Term] = []
    balance = 0
    for sign, term in parts:
        if term.kind in {"enum", "member"}:
            balance += sign
            total.append(_signed(sign, integer(encoder.compare.align([term, Term("enum", 0, enum)])[0].value)))
            continue
        moved = number(term, note=encoder.note)
        if moved.kind == "real":
            raise ExpressionError("an enum value is moved by a real number", fix="use a whole number")
        total.append(_signed(sign, moved))
    if balance not in {0, 1}:
        raise ExpressionError("two enum values are added", fix="subtract them for their distance, or use position(x)")
    result = add(total)
    return Term("enum", result.value, enum) if balance == 1 else result


def _signed(sign: int, term: Term) -> Term:
    return term if sign > 0 else negate(term)


def _counted(encoder: "Encoder", term: Term) -> Term:
    return number(term, note=_quiet if term.kind == "bool" else encoder.note)


def _negative(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    terms = [_counted(encoder, _subtracted(encoder, arg, env)) for arg in node.args]
    if len(terms) == 1:
        return negate(terms[0])
    return add([terms[0], *(negate(term) for term in terms[1:])])


def _subtracted(encoder: "Encoder", arg: Node, env: "Env") -> Term:
    value = encoder.value(arg, env)
    if isinstance(value, ListTerm):
        raise ExpressionError("a list is subtracted", fix="subtract its items, or sum(list)")
    return value


def _subtract(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    first, *rest = node.args
    if not rest:
        return _negative(encoder, node, env)
    return _sum(encoder, Apply("+", (first, *(Apply("neg", (arg,)) for arg in rest))), env)


def _product(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    result = integer(1)
    for condition, term in encoder.guarded(node.args, env):
        value = number(term)
        result = multiply(result, choose(condition, value, Term(value.kind, 1)))
    return result


def _quotient(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    left, right = (number(encoder.value(arg, env), note=encoder.note) for arg in node.args)
    if right.constant:
        if right.value == 0 and encoder.unrolling:
            encoder.note("a division by 0 makes its comparison false")
            encoder.require(condition=False)
            return integer(0)
        if right.value == 0:
            raise ExpressionError("division by 0", fix="divide by something else")
    else:
        encoder.require(z3_of(right) != 0)
        encoder.note(f"{node.op} also asks that its divisor is not 0")
    if node.op == "/":
        if left.kind == "int" and right.kind == "int":
            encoder.note("/ is exact division; use div or // for whole quotients")
        return arithmetic.divide(left, right)
    return arithmetic.divide_whole(node.op, left, right)


def _power(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    base, exponent = (number(encoder.value(arg, env), note=encoder.note) for arg in node.args)
    return arithmetic.power(base, exponent)


def _absolute(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return arithmetic.absolute(number(encoder.value(node.args[0], env), note=encoder.note))


def _extreme(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    terms = encoder.terms(node.args, env)
    if terms and any(term.kind == "enum" for term in terms):
        aligned = encoder.compare.align(terms)
        best = arithmetic.extreme([integer(term.value) for term in aligned], largest=node.op == "max")
        return Term("enum", best.value, aligned[0].enum)
    return arithmetic.extreme([number(term) for term in terms], largest=node.op == "max")


def _if(encoder: "Encoder", node: Apply, env: "Env") -> "Value":
    condition = encoder.truth(node.args[0], env)
    if condition in (True, False):
        return encoder.value(node.args[1 if condition else 2], env)
    yes = encoder.branch(condition, node.args[1], env)
    no = encoder.branch(negation(condition), node.args[2], env)
    return encoder.if_then_else(condition, yes, no)


def _element(encoder: "Encoder", node: Apply, env: "Env") -> "Value":
    values = [encoder.value(arg, env) for arg in node.args]
    target, key = (node.args[0], values[1]) if isinstance(values[0], ListTerm) else (node.args[1], values[0])
    found = encoder.pick(encoder.value(target, env), key)
    return boolean(encoder.compare.equal(found, values[2])) if len(values) == 3 else found  # noqa: PLR2004


def _membership(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    held = encoder.truth_of_membership(node.args[0], node.args[1], env)
    return boolean(negation(held) if node.op == "notin" else held)


def _position(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    value = encoder.value(node.args[0], env)
    if isinstance(value, Term) and value.kind in {"enum", "member"}:
        value = encoder.compare.resolve(value)
        return add([integer(value.value), integer(1)])
    return number(value)


def _length(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return integer(len(encoder.listed(node.args[0], env).items))


def _line(encoder: "Encoder", node: Apply, env: "Env") -> "Value":
    grid = encoder.listed(node.args[0], env)
    key = encoder.value(node.args[1], env)
    if isinstance(key, ListTerm):
        raise ExpressionError("a list is no index", fix="use a single value")
    if node.op == "row":
        return encoder.pick(grid, key)
    return ListTerm([encoder.pick(line, key) for line in grid.items], grid.base)


def _domain(encoder: "Encoder", node: Apply, env: "Env") -> ListTerm:
    return ListTerm(encoder.domain(node.args[0], env))


def _list(encoder: "Encoder", node: Apply, env: "Env") -> ListTerm:
    return ListTerm(encoder.terms(node.args, env))


def interval_membership(encoder: "Encoder", value: Term, interval: Interval, env: "Env") -> Any:
    """Low <= value <= high, for bounds of any kind."""
    low, high = (encoder.value(end, env) for end in (interval.low, interval.high))
    held = [encoder.compare.order("<=", low, value), encoder.compare.order("<=", value, high)]
    return (
        held[0]
        if held[1] is True
        else held[1]
        if held[0] is True
        else z3.And(*held)
        if not any(part is False for part in held)
        else False
    )


def needs_list(node: Node, value: "Value") -> ExpressionError:
    """The error for an argument that should have been a list."""
    return ExpressionError(
        f"{describe(value)} stands where a list is needed",
        column=column_of(node),
        fix="write it in brackets: [a, b, c]",
    )


FUNCTIONS: Final[dict[str, Function]] = {
    **CONNECTIVES,
    **GLOBALS,
    "+": _sum,
    "sum": _sum,
    "neg": _negative,
    "sub": _subtract,
    "*": _product,
    "product": _product,
    "/": _quotient,
    "div": _quotient,
    "mod": _quotient,
    "//": _quotient,
    "%": _quotient,
    "^": _power,
    "abs": _absolute,
    "min": _extreme,
    "max": _extreme,
    "ite": _if,
    "element": _element,
    "in": _membership,
    "notin": _membership,
    "position": _position,
    "length": _length,
    "row": _line,
    "col": _line,
    "domain": _domain,
    "list": _list,
}
