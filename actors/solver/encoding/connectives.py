"""Truth values: and, or, not and their kin, and comparisons of any number of values."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import z3

from ..dsl.syntax import Apply, Comprehension, Node
from .terms import ListTerm, Term, boolean, conjunction, disjunction, implication, negation

if TYPE_CHECKING:
    from .encoder import Encoder, Env


def _each(encoder: "Encoder", node: Apply, env: "Env") -> list[Any]:
    return [encoder.truth(arg, env) for arg in node.args]


def _parts(encoder: "Encoder", args: Sequence[Node], env: "Env", *, implied: bool) -> list[Any]:
    """The parts of and/or; an item under a condition is implied by it, or holds with it."""
    parts: list[Any] = []
    for arg in args:
        if isinstance(arg, Comprehension):
            for inner in encoder.bindings(arg.binders, env):
                condition = True if arg.where is None else encoder.truth(arg.where, inner)
                part = True if condition is False else encoder.truth(arg.body, inner)
                parts.append(implication(condition, part) if implied else conjunction([condition, part]))
        elif implied:
            parts.append(encoder.truth(arg, env))
        else:
            parts += encoder.alternatives(arg, env)
    return parts


def _and(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return boolean(conjunction(_parts(encoder, node.args, env, implied=True)))


def _or(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return boolean(disjunction(_parts(encoder, node.args, env, implied=False)))


def _not(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return boolean(negation(encoder.truth(node.args[0], env)))


def _neither(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    parts = _each(encoder, node, env)
    return boolean(negation(conjunction(parts) if node.op == "nand" else disjunction(parts)))


def _implies(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """A => b => c is a => (b => c)."""
    parts = _each(encoder, node, env)
    result = parts[-1]
    for part in reversed(parts[:-1]):
        result = implication(part, result)
    return boolean(result)


def _iff(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return boolean(conjunction([_same(one, other) for one, other in pairwise(_each(encoder, node, env))]))


def _xor(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """An odd number of the parts holds."""
    result: Any = False
    for part in _each(encoder, node, env):
        if isinstance(result, bool):
            result = negation(part) if result else part
        elif isinstance(part, bool):
            result = negation(result) if part else result
        else:
            result = z3.Xor(result, part)
    return boolean(result)


def _same(one: Any, other: Any) -> Any:
    for fixed, free in ((one, other), (other, one)):
        if isinstance(fixed, bool):
            return free if fixed else negation(free)
    return one == other


def _comparison(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """A chain: each neighbouring pair; `distinct` of more than two: all pairs."""
    args = [encoder.value(arg, env) for arg in node.args]
    if len(args) == 1 and isinstance(args[0], ListTerm):
        args = list(args[0].items)
    if node.op == "distinct" and len(args) > 2:  # noqa: PLR2004
        return boolean(encoder.compare.all_different(ListTerm(args).flat()))
    return boolean(conjunction([encoder.compare.compare(node.op, left, right) for left, right in pairwise(args)]))


CONNECTIVES: Final[dict[str, Callable[["Encoder", Apply, "Env"], Term | ListTerm]]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "nand": _neither,
    "nor": _neither,
    "=>": _implies,
    "iff": _iff,
    "xor": _xor,
    "=": _comparison,
    "distinct": _comparison,
    "<": _comparison,
    "<=": _comparison,
    ">": _comparison,
    ">=": _comparison,
}
