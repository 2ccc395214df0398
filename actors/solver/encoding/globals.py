"""Global constraints as decompositions that hold both ways, so that they may stand under not, or and =>.

No decomposition introduces free variables: under a negation such a variable would change the meaning.
Names and meanings: the MiniZinc standard library.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from ..dsl.faults import ExpressionError
from ..dsl.syntax import Apply
from .counting import COUNTING
from .lists import equal, flat, plain
from .structures import STRUCTURES
from .terms import (
    ListTerm,
    Term,
    add,
    boolean,
    choose,
    conjunction,
    disjunction,
    integer,
    negation,
    number,
)

if TYPE_CHECKING:
    from .encoder import Encoder, Env


def _all_different(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return boolean(encoder.compare.all_different(encoder.terms(node.args, env)))


def _all_different_except(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = flat(encoder, node.args[0], env)
    excepted = encoder.value(node.args[1], env)
    skip = excepted.flat() if isinstance(excepted, ListTerm) else [excepted]
    free = [encoder.compare.one_of(item, skip) for item in items]
    return boolean(
        conjunction(
            [
                disjunction([free[at], free[to], negation(equal(encoder, items[at], items[to]))])
                for to in range(len(items))
                for at in range(to)
            ]
        )
    )


def _all_equal(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = encoder.terms(node.args, env)
    return boolean(conjunction([equal(encoder, one, other) for one, other in pairwise(items)]))


def _ordered(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    op = {"increasing": "<=", "strictly_increasing": "<", "decreasing": ">=", "strictly_decreasing": ">"}[node.op]
    items = encoder.terms(node.args, env)
    return boolean(conjunction([encoder.compare.order(op, one, other) for one, other in pairwise(items)]))


def _table(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = flat(encoder, node.args[0], env)
    rows = encoder.listed(node.args[1], env).items
    allowed: list[Any] = []
    for row in rows:
        values = row.flat() if isinstance(row, ListTerm) else [row]
        if len(values) != len(items):
            raise ExpressionError(
                f"a row has {len(values)} values for {len(items)} variables", fix="make rows as long as the list"
            )
        allowed.append(conjunction([equal(encoder, item, value) for item, value in zip(items, values, strict=True)]))
    return boolean(disjunction(allowed))


def _pair(encoder: "Encoder", node: Apply, env: "Env") -> tuple[Term, ...]:
    """The arguments of a puzzle relation, as numbers on one scale."""
    terms: list[Term] = []
    for arg in node.args:
        value = encoder.value(arg, env)
        if isinstance(value, ListTerm):
            raise ExpressionError("a list stands where a single value is needed", fix=f"{node.op}(a, b)")
        terms.append(value)
    return tuple(integer(term.value) if term.kind == "enum" else number(term) for term in encoder.compare.align(terms))


def _neighbours(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    left, right = _pair(encoder, node, env)
    after = encoder.compare.equal(add([left, integer(1)]), right)
    before = encoder.compare.equal(add([right, integer(1)]), left)
    match node.op:
        case "next_to":
            return boolean(disjunction([after, before]))
        case "directly_left_of":
            return boolean(after)
        case "directly_right_of":
            return boolean(before)
        case _:
            return boolean(encoder.compare.order("<" if node.op == "left_of" else ">", left, right))


def _between(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    low, middle, high = _pair(encoder, node, env)
    order = encoder.compare.order
    up = conjunction([order("<", low, middle), order("<", middle, high)])
    down = conjunction([order("<", high, middle), order("<", middle, low)])
    return boolean(disjunction([up, down]))


def _precedence(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    if len(node.args) == 2:  # noqa: PLR2004
        return boolean(encoder.compare.order("<", *_pair(encoder, node, env)))
    start, duration, then = (number(encoder.value(arg, env)) for arg in node.args)
    return boolean(encoder.compare.order("<=", add([start, duration]), then))


def _lexicographic(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    left, right = (flat(encoder, arg, env) for arg in node.args)
    if "greater" in node.op:
        left, right = right, left
    result: Any = len(left) < len(right) or (node.op.endswith("eq") and len(left) == len(right))
    for one, other in reversed(list(zip(left, right, strict=False))):
        less, same = encoder.compare.order("<", one, other), encoder.compare.equal(one, other)
        result = disjunction([less, conjunction([same, result])])
    return boolean(result)


def _value_precede(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    listed = [at for at, arg in enumerate(node.args) if isinstance(encoder.value(arg, env), ListTerm)]
    singles = [encoder.terms([arg], env)[0] for at, arg in enumerate(node.args) if at not in listed]
    if len(listed) != 1 or len(singles) != 2:  # noqa: PLR2004
        raise ExpressionError(
            "value_precede needs one list and two values", fix="value_precede(list, first value, second value)"
        )
    items = flat(encoder, node.args[listed[0]], env)
    first, second = singles
    parts: list[Any] = []
    for at, item in enumerate(items):
        before = disjunction([equal(encoder, earlier, first) for earlier in items[:at]])
        parts.append(disjunction([negation(equal(encoder, item, second)), before]))
    return boolean(conjunction(parts))


def _arg_extreme(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """The index of the first largest or smallest item."""
    listed = encoder.listed(node.args[0], env)
    items = plain(encoder, node.args[0], env)
    if not items:
        raise ExpressionError(f"{node.op} needs at least one item", fix="give it items")
    best, place = items[0], integer(listed.base)
    for at, item in enumerate(items[1:], start=listed.base + 1):
        better = encoder.compare.order(">" if node.op == "arg_max" else "<", item, best)
        best, place = choose(better, *encoder.compare.align([item, best])), choose(better, integer(at), place)
    return place


GLOBALS: Final[dict[str, Callable[["Encoder", Apply, "Env"], "Term | ListTerm"]]] = {
    **COUNTING,
    **STRUCTURES,
    "all_different": _all_different,
    "all_different_except": _all_different_except,
    "all_equal": _all_equal,
    "increasing": _ordered,
    "strictly_increasing": _ordered,
    "decreasing": _ordered,
    "strictly_decreasing": _ordered,
    "table": _table,
    "next_to": _neighbours,
    "left_of": _neighbours,
    "right_of": _neighbours,
    "directly_left_of": _neighbours,
    "directly_right_of": _neighbours,
    "between": _between,
    "precedence": _precedence,
    "lex_less": _lexicographic,
    "lex_lesseq": _lexicographic,
    "lex_greater": _lexicographic,
    "lex_greatereq": _lexicographic,
    "value_precede": _value_precede,
    "arg_max": _arg_extreme,
    "arg_min": _arg_extreme,
}
