"""The syntax tree of one expression: what was written, before anything is known about the names in it."""

from collections.abc import Callable
from fractions import Fraction

from msgspec import Struct


class Node(Struct, frozen=True):
    """Base of all; `column` counts from 1 in the text as written, 0 when it came from JSON."""


class Number(Node, frozen=True):
    """An exact number; `decimal` when it was written with a point or an exponent."""

    value: Fraction
    decimal: bool = False
    column: int = 0


class Truth(Node, frozen=True):
    """true or false."""

    value: bool
    column: int = 0


class Name(Node, frozen=True):
    """A variable, a constant, an enum member or a set; `quoted` ones are never variables."""

    text: str
    quoted: bool = False
    column: int = 0


class Apply(Node, frozen=True):
    """An operator or function on arguments; `op` is canonical, `word` what was written where it was a call."""

    op: str
    args: tuple[Node, ...]
    column: int = 0
    word: str = ""


class Index(Node, frozen=True):
    """`target[i, j]`; a None among the indexes is `*`, the whole axis."""

    target: Node
    indexes: tuple[Node | None, ...]
    column: int = 0


class Sequence(Node, frozen=True):
    """`[a, b, c]` or `{a, b, c}`."""

    items: tuple[Node, ...]
    column: int = 0


class Interval(Node, frozen=True):
    """`low..high`, both included."""

    low: Node
    high: Node
    column: int = 0


class Binder(Struct, frozen=True):
    """`name in domain`."""

    name: str
    domain: Node


class Comprehension(Node, frozen=True):
    """`[body | binders where condition]`: what quantifiers and sums run over."""

    body: Node
    binders: tuple[Binder, ...]
    where: Node | None = None
    column: int = 0


def children(node: Node) -> tuple[Node, ...]:
    """The direct parts of a node, binder domains included."""
    match node:
        case Apply(args=args):
            return args
        case Index(target=target, indexes=indexes):
            return (target, *(index for index in indexes if index is not None))
        case Sequence(items=items):
            return items
        case Interval(low=low, high=high):
            return (low, high)
        case Comprehension(body=body, binders=binders, where=where):
            return (*(binder.domain for binder in binders), body, *((where,) if where is not None else ()))
        case _:
            return ()


def column_of(node: Node) -> int:
    """Where a node begins, as far as it is known."""
    return getattr(node, "column", 0)


def depth(node: Node) -> int:
    """How deep the tree is; walks without recursion."""
    deepest, stack = 0, [(node, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(current))
    return deepest


def replaced(node: Node, change: Callable[[Node], Node]) -> Node:
    """The tree with every node changed, from the leaves up."""
    match node:
        case Apply(op, args, column, word):
            return change(Apply(op, tuple(replaced(arg, change) for arg in args), column, word))
        case Index(target, indexes, column):
            keys = tuple(None if index is None else replaced(index, change) for index in indexes)
            return change(Index(replaced(target, change), keys, column))
        case Sequence(items, column):
            return change(Sequence(tuple(replaced(item, change) for item in items), column))
        case Interval(low, high, column):
            return change(Interval(replaced(low, change), replaced(high, change), column))
        case Comprehension(body, binders, where, column):
            inner = tuple(Binder(binder.name, replaced(binder.domain, change)) for binder in binders)
            condition = None if where is None else replaced(where, change)
            return change(Comprehension(replaced(body, change), inner, condition, column))
        case _:
            return change(node)
