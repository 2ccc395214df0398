"""How many items hold or have a value: count, exactly, among and their kin."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ..dsl.faults import ExpressionError
from ..dsl.syntax import Apply, Comprehension, Node
from ..dsl.syntax import Sequence as ListNode
from .lists import as_number, equal, flat, same_length
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


def _counting(encoder: "Encoder", args: Sequence[Node], env: "Env") -> Term:
    """How many of the items hold; numbers are added, as Logic-LM's Count does."""
    parts: list[Term] = []
    for condition, term in encoder.guarded(args, env):
        if term.kind != "bool":
            encoder.note("count over numbers adds them up; write the condition to count, e.g. count(i in S: a[i] > 0)")
            parts.append(choose(condition, number(term), integer(0)))
        else:
            parts.append(as_number(conjunction([condition, term.value])))
    return add(parts)


def _occurrences(encoder: "Encoder", items: Sequence[Term], value: Term) -> Term:
    return add([as_number(equal(encoder, item, value)) for item in items])


def _count(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    if len(node.args) == 1:
        return _counting(encoder, node.args, env)
    values = [encoder.value(arg, env) for arg in node.args]
    lists = [value for value in values if isinstance(value, ListTerm)]
    singles = [value for value in values if isinstance(value, Term)]
    if not lists:
        return _counting(encoder, node.args, env)
    if len(lists) == 2 and not singles:  # noqa: PLR2004
        return add([as_number(encoder.compare.one_of(item, lists[1].flat())) for item in lists[0].flat()])
    if len(lists) > 1 or len(singles) > 2:  # noqa: PLR2004
        raise ExpressionError(
            f"count is given {len(lists)} lists and {len(singles)} single values", fix="count(list, value)"
        )
    found = _occurrences(encoder, lists[0].flat(), singles[0])
    return boolean(encoder.compare.equal(found, singles[1])) if len(singles) == 2 else found  # noqa: PLR2004


def _cardinality(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """exactly, at_least and at_most: (n, list), (n, list, value), (list, n) or (n, a, b, c)."""
    op = {"exactly": "=", "at_least": ">=", "at_most": "<="}[node.op]
    first, *rest = node.args
    if not rest:
        raise ExpressionError(f"{node.op} needs a number and a list", fix=f"{node.op}(2, [a, b, c])")
    if isinstance(first, Comprehension | ListNode) or isinstance(encoder.value(first, env), ListTerm):
        first, rest = rest[0], [node.args[0], *rest[1:]]
    bound = number(encoder.value(first, env))
    if len(rest) == 2 and not isinstance(rest[1], Comprehension | ListNode):  # noqa: PLR2004
        value = encoder.value(rest[1], env)
        listed = isinstance(rest[0], Comprehension) or isinstance(encoder.value(rest[0], env), ListTerm)
        if listed and isinstance(value, Term):
            found = add(
                [
                    as_number(conjunction([condition, equal(encoder, item, value)]))
                    for condition, item in encoder.guarded(rest[:1], env)
                ]
            )
            return boolean(encoder.compare.compare(op, found, bound))
    return boolean(encoder.compare.compare(op, _counting(encoder, rest, env), bound))


def _some_one(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    op = {"exactly_one": "=", "at_most_one": "<=", "at_least_one": ">="}[node.op]
    return boolean(encoder.compare.compare(op, _counting(encoder, node.args, env), integer(1)))


def _among(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    members = flat(encoder, node.args[1], env)
    return add([as_number(encoder.compare.one_of(item, members)) for item in flat(encoder, node.args[0], env)])


def _nvalue(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = encoder.terms(node.args, env)
    seen = [disjunction([equal(encoder, item, earlier) for earlier in items[:at]]) for at, item in enumerate(items)]
    return add([as_number(negation(before)) for before in seen])


def _global_cardinality(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items, values, counts = (flat(encoder, arg, env) for arg in node.args)
    same_length(values, counts)
    return boolean(
        conjunction(
            [
                encoder.compare.equal(_occurrences(encoder, items, value), wanted)
                for value, wanted in zip(values, counts, strict=True)
            ]
        )
    )


COUNTING: Final[dict[str, Callable[["Encoder", Apply, "Env"], "Term | ListTerm"]]] = {
    "count": _count,
    "exactly": _cardinality,
    "at_least": _cardinality,
    "at_most": _cardinality,
    "exactly_one": _some_one,
    "at_most_one": _some_one,
    "at_least_one": _some_one,
    "among": _among,
    "nvalue": _nvalue,
    "global_cardinality": _global_cardinality,
}
