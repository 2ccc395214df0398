"""Schedules, packings, circuits, inverses and automata as decompositions without free variables."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..dsl.faults import ExpressionError
from ..dsl.syntax import Apply
from .lists import as_number, flat, plain, same_length
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
)

if TYPE_CHECKING:
    from .encoder import Encoder, Env


def _no_overlap(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    starts, durations = (plain(encoder, arg, env) for arg in node.args)
    same_length(starts, durations)
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
    starts, durations, demands = (plain(encoder, arg, env) for arg in node.args[:3])
    same_length(starts, durations, demands)
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


def _bin_packing(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """(capacity, bins, sizes) or (capacities, bins, sizes): what shares a bin fits into it."""
    bins, sizes = (plain(encoder, arg, env) for arg in node.args[1:])
    same_length(bins, sizes)
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


def _successors(encoder: "Encoder", node: Apply, env: "Env") -> list[Term]:
    """The successor list with indexes from 0, its base taken away."""
    listed = encoder.listed(node.args[0], env)
    base = _fixed(encoder.value(node.args[-1], env), "the first index") if node.args[1:] else listed.base
    shift = integer(-base)
    return [add([item, shift]) for item in plain(encoder, node.args[0], env)]


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
    bases = [one.base for one in lists]
    if len(node.args) > len(lists):
        bases = [_fixed(encoder.value(node.args[2], env), "the first index")] * 2
    forth, back = (plain(encoder, arg, env) for arg in node.args[:2])
    forth = [add([item, integer(-bases[1])]) for item in forth]
    back = [add([item, integer(-bases[0])]) for item in back]
    equal = encoder.compare.equal
    parts = [_in_range(encoder, forth, len(back)), _in_range(encoder, back, len(forth))]
    for at, item in enumerate(forth):
        for to, other in enumerate(back):
            one, two = equal(item, integer(to)), equal(other, integer(at))
            parts.append(disjunction([conjunction([one, two]), conjunction([negation(one), negation(two)])]))
    return boolean(conjunction(parts))


def _regular(encoder: "Encoder", node: Apply, env: "Env") -> Term:
    """The list is a word of an automaton.

    Either (list, next[state][value], start, accepting) with states from 0 and -1 for stuck, or MiniZinc's
    (list, Q, S, next, start, accepting) with states and values from 1 and 0 for stuck.
    """
    from_one = len(node.args) == 6  # noqa: PLR2004
    items = plain(encoder, node.args[0], env)
    table = [
        [_fixed(cell, "a next state") for cell in row.flat()]
        for row in encoder.listed(node.args[3 if from_one else 1], env).items
        if isinstance(row, ListTerm)
    ]
    first = 1 if from_one else 0
    start = _fixed(encoder.value(node.args[-2], env), "the start state")
    accepting = {_fixed(term, "an accepting state") for term in flat(encoder, node.args[-1], env)}
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


def _fixed(value: "Term | ListTerm", what: str) -> int:
    """An index or a state, which is data and no variable."""
    told = number(value)
    if not told.constant or told.kind == "real":
        raise ExpressionError(
            f"{what} must be a whole number that is known, no variable", fix="write it out, or use data"
        )
    return int(told.value)


STRUCTURES: Final[dict[str, Callable[["Encoder", Apply, "Env"], "Term | ListTerm"]]] = {
    "no_overlap": _no_overlap,
    "cumulative": _cumulative,
    "circuit": _circuit,
    "subcircuit": _subcircuit,
    "inverse": _inverse,
    "regular": _regular,
    "bin_packing": _bin_packing,
}
