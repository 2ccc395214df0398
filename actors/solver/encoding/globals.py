"""Global constraints as decompositions that hold both ways, so that they may stand under not, or and =>.

No decomposition introduces free variables: under a negation such a variable would change the meaning.
Names and meanings: the MiniZinc standard library.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from ..dsl.faults import ExpressionError
from ..dsl.syntax import Apply, Comprehension, Node
from ..dsl.syntax import Sequence as ListNode
from .terms import (
    ListTerm,
    Term,
    add,
    boolean,
    choose,
    conjunction,
    disjunction,
    integer,
    multiply,
    negation,
    number,
    z3_of,
)

if TYPE_CHECKING:
    from .encoder import Encoder, Env


def _flat(encoder: "Encoder", node: Node, env: "Env") -> list[Term]:
    return encoder.listed(node, env).flat()


def _plain(encoder: "Encoder", node: Node, env: "Env") -> list[Term]:
    """The items of a list as numbers; enum values as their place."""
    return [
        integer(term.value) if term.kind == "enum" else number(term)
        for term in map(encoder.compare.resolve, _flat(encoder, node, env))
    ]


def _equal(encoder: "Encoder", left: Term, right: Term) -> Any:
    return encoder.compare.equal(left, right)


def as_number(truth: Any) -> Term:
    """1 where it holds, else 0."""
    return choose(truth, integer(1), integer(0))


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
    return add([as_number(_equal(encoder, item, value)) for item in items])


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
    if len(rest) == 2 and not isinstance(rest[0], Comprehension) and isinstance(encoder.value(rest[0], env), ListTerm):  # noqa: PLR2004
        value = encoder.value(rest[1], env)
        if isinstance(value, Term):
            return boolean(
                encoder.compare.compare(op, _occurrences(encoder, _flat(encoder, rest[0], env), value), bound)
            )
    return boolean(encoder.compare.compare(op, _counting(encoder, rest, env), bound))


def _some_one(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    op = {"exactly_one": "=", "at_most_one": "<=", "at_least_one": ">="}[node.op]
    return boolean(encoder.compare.compare(op, _counting(encoder, node.args, env), integer(1)))


def _among(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    members = ListTerm(encoder.domain(node.args[1], env)).flat()
    return add([as_number(encoder.compare.one_of(item, members)) for item in _flat(encoder, node.args[0], env)])


def _nvalue(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = encoder.terms(node.args, env)
    seen = [disjunction([_equal(encoder, item, earlier) for earlier in items[:at]]) for at, item in enumerate(items)]
    return add([as_number(negation(before)) for before in seen])


def _all_different(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    return boolean(encoder.compare.all_different(encoder.terms(node.args, env)))


def _all_different_except(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = _flat(encoder, node.args[0], env)
    excepted = encoder.value(node.args[1], env)
    skip = excepted.flat() if isinstance(excepted, ListTerm) else [excepted]
    free = [encoder.compare.one_of(item, skip) for item in items]
    return boolean(
        conjunction(
            [
                disjunction([free[at], free[to], negation(_equal(encoder, items[at], items[to]))])
                for to in range(len(items))
                for at in range(to)
            ]
        )
    )


def _all_equal(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = encoder.terms(node.args, env)
    return boolean(conjunction([_equal(encoder, one, other) for one, other in pairwise(items)]))


def _ordered(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    op = {"increasing": "<=", "strictly_increasing": "<", "decreasing": ">=", "strictly_decreasing": ">"}[node.op]
    items = encoder.terms(node.args, env)
    return boolean(conjunction([encoder.compare.order(op, one, other) for one, other in pairwise(items)]))


def _table(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items = _flat(encoder, node.args[0], env)
    rows = encoder.listed(node.args[1], env).items
    allowed: list[Any] = []
    for row in rows:
        values = row.flat() if isinstance(row, ListTerm) else [row]
        if len(values) != len(items):
            raise ExpressionError(
                f"a row has {len(values)} values for {len(items)} variables", fix="make rows as long as the list"
            )
        allowed.append(conjunction([_equal(encoder, item, value) for item, value in zip(items, values, strict=True)]))
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


def _same_length(*lists: Sequence[Any]) -> None:
    if len({len(one) for one in lists}) > 1:
        raise ExpressionError(
            f"lists of {', '.join(str(len(one)) for one in lists)} items stand together", fix="make them equally long"
        )


def _no_overlap(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    starts, durations = (_plain(encoder, arg, env) for arg in node.args)
    _same_length(starts, durations)
    order, parts = encoder.compare.order, []
    for to in range(len(starts)):
        for at in range(to):
            first = order("<=", add([starts[at], durations[at]]), starts[to])
            second = order("<=", add([starts[to], durations[to]]), starts[at])
            empty = [encoder.compare.equal(durations[one], integer(0)) for one in (at, to)]
            parts.append(disjunction([first, second, *empty]))
    return boolean(conjunction(parts))


def _cumulative(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """At each task's start the running tasks need no more than there is (peaks only occur at starts)."""
    starts, durations, demands = (_plain(encoder, arg, env) for arg in node.args[:3])
    _same_length(starts, durations, demands)
    capacity = number(encoder.value(node.args[3], env))
    order, parts = encoder.compare.order, []
    for start in starts:
        running = [
            conjunction([order("<=", other, start), order("<", start, add([other, duration]))])
            for other, duration in zip(starts, durations, strict=True)
        ]
        load = add([multiply(as_number(on), demand) for on, demand in zip(running, demands, strict=True)])
        parts.append(order("<=", load, capacity))
    return boolean(conjunction(parts))


def _successors(encoder: "Encoder", node: Apply, env: "Env") -> list[Term]:
    """The successor list with indexes from 0, its base taken away."""
    listed = encoder.listed(node.args[0], env)
    base = number(encoder.value(node.args[1], env)) if len(node.args) > 1 else integer(listed.base)
    shift = integer(-base.value)
    return [add([item, shift]) for item in _plain(encoder, node.args[0], env)]


def _follow(encoder: "Encoder", successors: Sequence[Term], place: Term) -> Term:
    found = successors[-1]
    for at in reversed(range(len(successors) - 1)):
        found = choose(encoder.compare.equal(place, integer(at)), successors[at], found)
    return found


def _in_range(encoder: "Encoder", items: Sequence[Term], size: int) -> Any:
    order = encoder.compare.order
    return conjunction(
        [part for item in items for part in (order("<=", integer(0), item), order("<", item, integer(size)))]
    )


def _circuit(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """From 0 it takes exactly all steps to come back to 0."""
    following = _successors(encoder, node, env)
    size = len(following)
    parts = [_in_range(encoder, following, size), encoder.compare.all_different(following)]
    place = integer(0)
    for step in range(1, size + 1):
        place = _follow(encoder, following, place)
        home = encoder.compare.equal(place, integer(0))
        parts.append(home if step == size else negation(home))
    return boolean(conjunction(parts))


def _subcircuit(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """All that do not point at themselves lie on the one cycle through the first of them."""
    following = _successors(encoder, node, env)
    size = len(following)
    out = [encoder.compare.equal(item, integer(at)) for at, item in enumerate(following)]
    place = integer(0)
    for at in reversed(range(size)):
        place = choose(out[at], place, integer(at))
    visited: list[list[Any]] = [[] for _ in range(size)]
    for _ in range(size):
        for at in range(size):
            visited[at].append(encoder.compare.equal(place, integer(at)))
        place = _follow(encoder, following, place)
    on_cycle = [disjunction([out[at], *visited[at]]) for at in range(size)]
    return boolean(
        conjunction([_in_range(encoder, following, size), encoder.compare.all_different(following), *on_cycle])
    )


def _inverse(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """f[i] = j exactly where g[j] = i, and all values are indexes of the other."""
    lists = [encoder.listed(arg, env) for arg in node.args[:2]]
    bases = [number(encoder.value(node.args[2], env)).value] * 2 if len(node.args) > 2 else [one.base for one in lists]  # noqa: PLR2004
    forth, back = (_plain(encoder, arg, env) for arg in node.args[:2])
    forth = [add([item, integer(-bases[1])]) for item in forth]
    back = [add([item, integer(-bases[0])]) for item in back]
    equal = encoder.compare.equal
    parts = [_in_range(encoder, forth, len(back)), _in_range(encoder, back, len(forth))]
    for at, item in enumerate(forth):
        for to, other in enumerate(back):
            one, two = equal(item, integer(to)), equal(other, integer(at))
            parts.append(disjunction([conjunction([one, two]), conjunction([negation(one), negation(two)])]))
    return boolean(conjunction(parts))


def _lexicographic(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    left, right = (_flat(encoder, arg, env) for arg in node.args)
    if "greater" in node.op:
        left, right = right, left
    result: Any = len(left) < len(right) or (node.op.endswith("eq") and len(left) == len(right))
    for one, other in reversed(list(zip(left, right, strict=False))):
        less, same = encoder.compare.order("<", one, other), encoder.compare.equal(one, other)
        result = disjunction([less, conjunction([same, result])])
    return boolean(result)


def _regular(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """The list is a word of an automaton.

    Either (list, next[state][value], start, accepting) with states from 0 and -1 for stuck, or MiniZinc's
    (list, Q, S, next, start, accepting) with states and values from 1 and 0 for stuck.
    """
    from_one = len(node.args) == 6  # noqa: PLR2004
    items = _plain(encoder, node.args[0], env)
    table = [
        [number(cell).value for cell in row.flat()]
        for row in encoder.listed(node.args[3 if from_one else 1], env).items
        if isinstance(row, ListTerm)
    ]
    first = 1 if from_one else 0
    start = number(encoder.value(node.args[-2], env)).value
    accepting = {number(term).value for term in ListTerm(encoder.domain(node.args[-1], env)).flat()}
    reached: dict[int, Any] = {start: True}
    for item in items:
        following: dict[int, list[Any]] = {}
        for state, here in reached.items():
            row = table[state - first] if 0 <= state - first < len(table) else []
            for value, target in enumerate(row, start=first):
                if target >= first:
                    step = conjunction([here, encoder.compare.equal(item, integer(value))])
                    following.setdefault(target, []).append(step)
        reached = {state: disjunction(ways) for state, ways in following.items()}
    return boolean(disjunction([here for state, here in reached.items() if state in accepting]))


def _global_cardinality(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    items, values, counts = (_flat(encoder, arg, env) for arg in node.args)
    _same_length(values, counts)
    return boolean(
        conjunction(
            [
                encoder.compare.equal(_occurrences(encoder, items, value), wanted)
                for value, wanted in zip(values, counts, strict=True)
            ]
        )
    )


def _value_precede(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    listed = [at for at, arg in enumerate(node.args) if isinstance(encoder.value(arg, env), ListTerm)]
    items = _flat(encoder, node.args[listed[0]], env) if listed else []
    first, second = [encoder.terms([arg], env)[0] for at, arg in enumerate(node.args) if at not in listed][:2]
    parts: list[Any] = []
    for at, item in enumerate(items):
        before = disjunction([_equal(encoder, earlier, first) for earlier in items[:at]])
        parts.append(disjunction([negation(_equal(encoder, item, second)), before]))
    return boolean(conjunction(parts))


def _bin_packing(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """(capacity, bins, sizes) or (capacities, bins, sizes): what shares a bin fits into it."""
    bins, sizes = (_plain(encoder, arg, env) for arg in node.args[1:])
    _same_length(bins, sizes)
    capacity = encoder.value(node.args[0], env)
    order, equal = encoder.compare.order, encoder.compare.equal
    if isinstance(capacity, ListTerm):
        limits = {at: number(limit) for at, limit in enumerate(capacity.flat(), start=capacity.base)}
        loads = {
            at: add([multiply(as_number(equal(one, integer(at))), size) for one, size in zip(bins, sizes, strict=True)])
            for at in limits
        }
        inside = [disjunction([equal(one, integer(at)) for at in limits]) for one in bins]
        return boolean(conjunction([*inside, *(order("<=", loads[at], limit) for at, limit in limits.items())]))
    parts: list[Any] = []
    for one in bins:
        load = add([multiply(as_number(equal(one, other)), size) for other, size in zip(bins, sizes, strict=True)])
        parts.append(order("<=", load, number(capacity)))
    return boolean(conjunction(parts))


def _arg_extreme(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """The index of the first largest or smallest item."""
    listed = encoder.listed(node.args[0], env)
    items = _plain(encoder, node.args[0], env)
    if not items:
        raise ExpressionError(f"{node.op} needs at least one item", fix="give it items")
    best, place = items[0], integer(listed.base)
    for at, item in enumerate(items[1:], start=listed.base + 1):
        better = encoder.compare.order(">" if node.op == "arg_max" else "<", item, best)
        best, place = choose(better, *encoder.compare.align([item, best])), choose(better, integer(at), place)
    return place


GLOBALS: Final[dict[str, Callable[["Encoder", Apply, "Env"], "Term | ListTerm"]]] = {
    "count": _count,
    "exactly": _cardinality,
    "at_least": _cardinality,
    "at_most": _cardinality,
    "exactly_one": _some_one,
    "at_most_one": _some_one,
    "at_least_one": _some_one,
    "among": _among,
    "nvalue": _nvalue,
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
    "no_overlap": _no_overlap,
    "cumulative": _cumulative,
    "circuit": _circuit,
    "subcircuit": _subcircuit,
    "inverse": _inverse,
    "lex_less": _lexicographic,
    "lex_lesseq": _lexicographic,
    "lex_greater": _lexicographic,
    "lex_greatereq": _lexicographic,
    "regular": _regular,
    "global_cardinality": _global_cardinality,
    "value_precede": _value_precede,
    "bin_packing": _bin_packing,
    "arg_max": _arg_extreme,
    "arg_min": _arg_extreme,
}

__all__ = ["GLOBALS", "as_number", "z3_of"]
