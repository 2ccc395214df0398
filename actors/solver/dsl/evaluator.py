"""The second opinion: evaluates an expression on plain values, straight from the syntax tree.

It shares the parser and the declarations with the encoder, and nothing else: types, quantifiers, arithmetic and
every global constraint are done again, on Python values, by their definitions. What is undefined (a division by 0,
an index outside) makes the nearest truth value around it false.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from .declarations import Constant, Declarations
from .meanings import MEANINGS, TRUTH_VALUED
from .syntax import Apply, Binder, Comprehension, Index, Interval, Name, Node, Number, Truth
from .syntax import Sequence as ListNode
from .types import EnumType, IndexValue, Symbol, finite
from .values import Assignment, Items, Member, Undefined, Unreadable, Value, as_number, equal, precedes

_STEPS_MAX: Final = 3_000_000
_CONNECTIVES: Final = frozenset({"and", "or", "not", "nand", "nor", "=>", "xor", "iff"})
_ORDER: Final = frozenset({"=", "distinct", "<", "<=", ">", ">="})


class Evaluator:
    """Evaluates expressions under one assignment."""

    def __init__(self, declarations: Declarations, assignment: Assignment) -> None:
        self._declarations = declarations
        self._assignment = assignment
        self._steps = 0

    def holds(self, node: Node) -> bool:
        """Whether a constraint holds.

        Raises:
            Unreadable: when the expression has no meaning on plain values.
        """
        return self._truth(node, {})

    def number(self, node: Node) -> Fraction:
        """The value of an objective."""
        value = self._value(node, {})
        return Fraction(value.place) if isinstance(value, Member) else Fraction(as_number(value))

    def _truth(self, node: Node, env: Mapping[str, Value]) -> bool:
        try:
            value = self._value(node, env)
        except Undefined:
            return False
        if isinstance(value, Items):
            return all(_is_true(item) for item in value.flat())
        return _is_true(value)

    def _value(self, node: Node, env: Mapping[str, Value]) -> Value:
        self._steps += 1
        if self._steps > _STEPS_MAX:
            raise Unreadable("too many steps")
        match node:
            case Number(value=value):
                return int(value) if value.denominator == 1 else value
            case Truth(value=value):
                return value
            case Name():
                return self._name(node, env)
            case ListNode(items=items):
                return Items([self._value(item, env) for item in items])
            case Interval(low=low, high=high):
                first, last = (as_number(self._value(end, env)) for end in (low, high))
                return Items(list(range(math.ceil(first), math.floor(last) + 1)))
            case Index(target=target, indexes=indexes):
                return self._index(target, indexes, env)
            case Comprehension():
                return Items(list(self._run(node, env)))
            case Apply():
                return self._apply(node, env)
            case _:
                raise Unreadable("not an expression")

    # names and indexes

    def _name(self, node: Name, env: Mapping[str, Value]) -> Value:
        text = node.text
        if not node.quoted:
            if text in env:
                return env[text]
            if text in self._declarations.symbols:
                return self._whole(self._declarations.symbols[text], ())
            if text in self._declarations.constants:
                return _constant(self._declarations.constants[text])
        if self._declarations.enums_with(text):
            return text
        if text in self._declarations.sets:
            return self._all_of(self._declarations.sets[text])
        raise Unreadable(f"{text} is unknown")

    def _all_of(self, kind: Any) -> Items:
        if isinstance(kind, EnumType):
            return Items([Member(place, kind) for place in range(len(kind.members))])
        values = finite(kind)
        if values is None:
            raise Unreadable("not finite")
        return Items(list(values.values))

    def _whole(self, symbol: Symbol, prefix: tuple[IndexValue, ...]) -> Value:
        if len(prefix) == len(symbol.indexes):
            return self._assignment[symbol.name][prefix]
        index = symbol.indexes[len(prefix)]
        return Items([self._whole(symbol, (*prefix, value)) for value in index.values], index.base)

    def _index(self, target: Node, indexes: Sequence[Node | None], env: Mapping[str, Value]) -> Value:
        keys = [None if index is None else self._value(index, env) for index in indexes]
        if isinstance(target, Name) and not target.quoted and target.text not in env:
            symbol = self._declarations.symbols.get(target.text)
            if symbol is not None and symbol.indexes:
                return self._cells(symbol, keys, ())
        return _within(self._value(target, env), keys)

    def _cells(self, symbol: Symbol, keys: Sequence[Value | None], prefix: tuple[IndexValue, ...]) -> Value:
        if not keys:
            return self._whole(symbol, prefix)
        index, key = symbol.indexes[len(prefix)], keys[0]
        if key is None:
            return Items([self._cells(symbol, keys[1:], (*prefix, value)) for value in index.values], index.base)
        if index.enum is not None:
            place = index.enum.position(key) if isinstance(key, str) else key.place if isinstance(key, Member) else None
            if place is None or not 0 <= place < len(index.values):
                raise Undefined
            return self._cells(symbol, keys[1:], (*prefix, index.values[place]))
        where = as_number(key)
        if where not in index.values:
            raise Undefined
        return self._cells(symbol, keys[1:], (*prefix, int(where)))

    # lists

    def _environments(self, binders: Sequence[Binder], env: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
        if not binders:
            yield env
            return
        for value in self._domain(binders[0].domain, env).items:
            yield from self._environments(binders[1:], {**env, binders[0].name: value})

    def _domain(self, node: Node, env: Mapping[str, Value]) -> Items:
        if isinstance(node, Name) and not node.quoted and node.text not in env:
            symbol = self._declarations.symbols.get(node.text)
            if symbol is not None and not symbol.indexes:
                return self._all_of(symbol.type)
        value = self._value(node, env)
        if not isinstance(value, Items):
            raise Unreadable("no set")
        return value

    def _run(self, node: Comprehension, env: Mapping[str, Value]) -> Iterator[Value]:
        for inner in self._environments(node.binders, env):
            if node.where is None or self._truth(node.where, inner):
                yield self._body(node.body, inner)

    def _body(self, node: Node, env: Mapping[str, Value]) -> Value:
        """An item; a truth value that is undefined is false."""
        if isinstance(node, Apply) and (node.op in _CONNECTIVES or node.op in _ORDER):
            return self._truth(node, env)
        try:
            return self._value(node, env)
        except Undefined:
            if _is_boolean(node):
                return False
            raise

    # operations

    def _apply(self, node: Apply, env: Mapping[str, Value]) -> Value:
        symbol = self._declarations.symbols.get(node.word) or self._declarations.symbols.get(node.op)
        if symbol is not None and symbol.indexes:
            return self._cells(symbol, [self._value(arg, env) for arg in node.args], ())
        if node.op in _CONNECTIVES:
            return self._connective(node.op, node.args, env)
        if node.op == "ite":
            return self._value(node.args[1 if self._truth(node.args[0], env) else 2], env)
        if node.op in {"in", "notin"}:
            return self._member(node, env) == (node.op == "in")
        args = [self._domain(arg, env) if node.op == "domain" else self._value(arg, env) for arg in node.args]
        if node.op in _ORDER:
            return _compare(node.op, args)
        if node.op not in MEANINGS:
            raise Unreadable(f"{node.op} is unknown")
        return MEANINGS[node.op](node.op, args)

    def _member(self, node: Apply, env: Mapping[str, Value]) -> bool:
        value = self._value(node.args[0], env)
        group = node.args[1]
        if isinstance(group, Interval):
            low, high = (self._value(end, env) for end in (group.low, group.high))
            return not precedes(value, low) and not precedes(high, value)
        return any(equal(value, item) for item in self._domain(group, env).flat())

    def _connective(self, op: str, args: Sequence[Node], env: Mapping[str, Value]) -> bool:
        parts: list[bool] = []
        for arg in args:
            if isinstance(arg, Comprehension):
                parts += [
                    self._truth(arg.body, inner)
                    for inner in self._environments(arg.binders, env)
                    if arg.where is None or self._truth(arg.where, inner)
                ]
            elif op in {"and", "or"} and not isinstance(arg, Apply):
                value = self._value(arg, env)
                parts += (
                    [_is_true(item) for item in value.flat()]
                    if isinstance(value, Items) and op == "or"
                    else [self._truth(arg, env)]
                )
            else:
                parts.append(self._truth(arg, env))
        return _joined(op, parts)


def _joined(op: str, parts: Sequence[bool]) -> bool:
    match op:
        case "and":
            return all(parts)
        case "or":
            return any(parts)
        case "not":
            return not parts[0]
        case "nand":
            return not all(parts)
        case "nor":
            return not any(parts)
        case "xor":
            return sum(parts) % 2 == 1
        case "=>":
            return parts[-1] or not all(parts[:-1])
        case _:
            return len(set(parts)) <= 1


def _is_true(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    raise Unreadable("not a truth value")


def _is_boolean(node: Node) -> bool:
    return isinstance(node, Apply) and node.op in TRUTH_VALUED


def _constant(value: Constant) -> Value:
    if isinstance(value, tuple):
        return Items([_constant(item) for item in value])
    return value


def _within(target: Value, keys: Sequence[Value | None]) -> Value:
    if not keys:
        return target
    if not isinstance(target, Items):
        raise Unreadable("not a list")
    key = keys[0]
    if key is None:
        return Items([_within(item, keys[1:]) for item in target.items], target.base)
    place = (key.place if isinstance(key, Member) else as_number(key)) - target.base
    if place != int(place) or not 0 <= place < len(target.items):
        raise Undefined
    return _within(target.items[int(place)], keys[1:])


def _compare(op: str, args: Sequence[Value]) -> bool:
    if len(args) == 1 and isinstance(args[0], Items):
        args = args[0].items
    if op == "distinct" and len(args) > 2:  # noqa: PLR2004
        flat = Items(list(args)).flat()
        return not any(equal(one, other) for at, one in enumerate(flat) for other in flat[:at])
    return all(_pair(op, one, other) for one, other in pairwise(args))


def _pair(op: str, left: Value, right: Value) -> bool:
    match op:
        case "=":
            return equal(left, right)
        case "distinct":
            return not equal(left, right)
        case "<":
            return precedes(left, right)
        case ">":
            return precedes(right, left)
        case "<=":
            return not precedes(right, left) or equal(left, right)
        case _:
            return not precedes(left, right) or equal(left, right)
