"""Syntax trees to Z3: names resolved, types checked, quantifiers unrolled, partial operations guarded.

A division or a list index that may be undefined makes the comparison around it false where it is undefined
(MiniZinc's relational semantics); `notes` says so.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import z3

from ..dsl.declarations import Declarations
from ..dsl.faults import ExpressionError
from ..dsl.syntax import (
    Apply,
    Binder,
    Comprehension,
    Index,
    Interval,
    Name,
    Node,
    Number,
    Truth,
    column_of,
)
from ..dsl.syntax import (
    Sequence as ListNode,
)
from ..dsl.types import Symbol, finite
from .cells import Cells
from .complaints import check_arity, undeclared, unknown_function
from .functions import FUNCTIONS, interval_membership
from .terms import (
    ListTerm,
    Term,
    boolean,
    conjunction,
    describe,
    implication,
    integer,
    number,
    real,
)

TERMS_MAX: Final = 100_000
Env = Mapping[str, "Term | ListTerm"]
Value = Term | ListTerm
Guarded = tuple[Any, Value]
"""An item of a list and the condition under which it is there."""


class Encoder(Cells):
    """Encodes the expressions of one problem; see `Cells` for its attributes."""

    def __init__(self, declarations: Declarations) -> None:
        super().__init__(declarations)
        self._terms = 0

    def constraint(self, node: Node) -> Any:
        """The Z3 truth value of a constraint.

        Raises:
            ExpressionError: when it is not understood, with the column.
        """
        value = self.truth(node, {})
        return z3.BoolVal(value) if isinstance(value, bool) else value

    def objective(self, node: Node) -> Term:
        """A numeric term to optimise; where it is undefined no solution is admitted (see `pending`)."""
        value = self.value(node, {})
        if isinstance(value, Term) and value.kind == "enum":
            return integer(value.value)
        return number(value, note=self.note)

    def pending(self) -> list[Any]:
        """Conditions of definedness met outside of any truth value, as in an objective; taken once."""
        found, self.conditions[0] = self.conditions[0], []
        return found

    def truth(self, node: Node, env: Env) -> Any:
        """A Python or Z3 truth value, false where a part of it is undefined."""
        self.conditions.append([])
        try:
            value = self.value(node, env)
        finally:
            conditions = self.conditions.pop()
        if isinstance(value, ListTerm):
            return conjunction([*(self.as_truth(item, node) for item in value.flat()), *conditions])
        return conjunction([self.as_truth(value, node), *conditions])

    def alternatives(self, node: Node, env: Env) -> list[Any]:
        """The parts of an `or`: a list gives one for each item."""
        self.conditions.append([])
        try:
            value = self.value(node, env)
        finally:
            conditions = self.conditions.pop()
        terms = value.flat() if isinstance(value, ListTerm) else [value]
        return [conjunction([self.as_truth(term, node), *conditions]) for term in terms]

    def as_truth(self, term: Value, node: Node) -> Any:
        """A term as truth value; 0 and 1 written as numbers are accepted."""
        if isinstance(term, Term) and term.kind == "bool":
            return term.value
        if isinstance(term, Term) and term.kind == "int" and term.constant and term.value in {0, 1}:
            return bool(term.value)
        raise ExpressionError(
            f"{describe(term)} stands where a truth value is needed",
            column=column_of(node),
            fix="compare it with something, e.g. x != 0; >= is written >=, not =>",
        )

    def value(self, node: Node, env: Env) -> Value:
        """The term of any expression."""
        self._terms += 1
        if self._terms > TERMS_MAX:
            raise ExpressionError(f"the problem unrolls to more than {TERMS_MAX} terms", fix="use smaller ranges")
        try:
            return self._value(node, env)
        except ExpressionError as error:
            raise error.at(column_of(node)) from None

    def _value(self, node: Node, env: Env) -> Value:
        match node:
            case Number(value=value, decimal=decimal):
                return integer(int(value)) if value.denominator == 1 and not decimal else real(value)
            case Truth(value=value):
                return boolean(value)
            case Name():
                return self._name(node, env)
            case ListNode(items=items):
                return ListTerm([self.value(item, env) for item in items])
            case Interval():
                return ListTerm(self._interval(node, env))
            case Index(target=target, indexes=indexes):
                return self._index(target, indexes, env)
            case Comprehension():
                return ListTerm([self._present(item) for item in self.items(node, env)])
            case Apply():
                return self._apply(node, env)
            case _:
                raise ExpressionError("this is not an expression")

    # names

    def _name(self, node: Name, env: Env) -> Value:
        text = node.text
        if not node.quoted:
            if text in env:
                return env[text]
            if text in self.declarations.symbols:
                return self.whole(self.declarations.symbols[text], ())
            if text in self.declarations.constants:
                return self.constant(self.declarations.constants[text])
        if self.declarations.enums_with(text):
            return Term("member", text)
        if text in self.declarations.sets:
            return ListTerm(self.set_values(finite(self.declarations.sets[text])))
        raise undeclared(self.declarations, text)

    def _index(self, target: Node, indexes: Sequence[Node | None], env: Env) -> Value:
        symbol = self._symbol_of(target, env)
        keys = [None if index is None else self.value(index, env) for index in indexes]
        if symbol is not None and symbol.indexes:
            return self.access(symbol, keys, ())
        return self.pick_all(self.value(target, env), keys)

    def _symbol_of(self, target: Node, env: Env) -> Symbol | None:
        if isinstance(target, Name) and not target.quoted and target.text not in env:
            return self.declarations.symbols.get(target.text)
        return None

    def truth_of_membership(self, item: Node, group: Node, env: Env) -> Any:
        """Item in group, for a range, a list, a set, or a variable's domain."""
        value = self.value(item, env)
        if isinstance(value, ListTerm):
            raise ExpressionError("a list is tested for membership", fix="test its items, or use table([x, y], rows)")
        if isinstance(group, Interval):
            return interval_membership(self, value, group, env)
        members = ListTerm(self.domain(group, env)).flat()
        return self.compare.one_of(value, members)

    # lists and quantifiers

    def items(self, node: Comprehension, env: Env) -> list[Guarded]:
        """The items of a comprehension, each with the condition under which it is there."""
        found: list[Guarded] = []
        for inner in self.bindings(node.binders, env):
            condition = True if node.where is None else self.truth(node.where, inner)
            if condition is False:
                continue
            self.conditions.append([])
            try:
                value = self.value(node.body, inner)
            finally:
                conditions = self.conditions.pop()
            if isinstance(value, Term) and value.kind == "bool":
                value = boolean(conjunction([value.value, *conditions]))
                conditions = []
            for one in conditions:
                self.require(implication(condition, one))
            found.append((condition, value))
        return found

    def bindings(self, binders: Sequence[Binder], env: Env) -> Iterator[Env]:
        """The environments in which a body is to be read."""
        if not binders:
            yield env
            return
        for value in self.domain(binders[0].domain, env):
            self.unrolling += 1
            try:
                yield from self.bindings(binders[1:], {**env, binders[0].name: value})
            finally:
                self.unrolling -= 1

    def domain(self, node: Node, env: Env) -> list[Value]:
        """What a bound name runs over."""
        if isinstance(node, Name) and not node.quoted and node.text not in env:
            symbol = self.declarations.symbols.get(node.text)
            if symbol is not None and not symbol.indexes:
                return list(self.set_values(finite(symbol.type)))
        value = self.value(node, env)
        if isinstance(value, ListTerm):
            return list(value.items)
        raise ExpressionError(
            f"{describe(value)} is no set to run over",
            column=column_of(node),
            fix="use a range (1..5), a list or a declared set",
        )

    def _interval(self, node: Interval, env: Env) -> list[Term]:
        low, high = (number(self.value(end, env)) for end in (node.low, node.high))
        if not (low.constant and high.constant):
            raise ExpressionError("the bounds of a range must be constants", fix="write low <= x and x <= high instead")
        first, last = math.ceil(low.value), math.floor(high.value)
        if last - first > TERMS_MAX:
            raise ExpressionError(f"the range has more than {TERMS_MAX} values", fix="use low <= x and x <= high")
        return [integer(value) for value in range(first, last + 1)]

    def _present(self, item: Guarded) -> Value:
        condition, value = item
        if condition is not True:
            raise ExpressionError(
                "the condition of this list depends on variables", fix="only and/or/sum/count may filter by variables"
            )
        return value

    def guarded(self, args: Sequence[Node], env: Env) -> list[tuple[Any, Term]]:
        """All items of the arguments, lists opened, each with its condition."""
        found: list[tuple[Any, Term]] = []
        for arg in args:
            pairs = self.items(arg, env) if isinstance(arg, Comprehension) else [(True, self.value(arg, env))]
            for condition, value in pairs:
                found += [(condition, term) for term in (value.flat() if isinstance(value, ListTerm) else [value])]
        return found

    def terms(self, args: Sequence[Node], env: Env) -> list[Term]:
        """All items of the arguments, lists opened; none may be conditional."""
        for condition, _ in (pairs := self.guarded(args, env)):
            if condition is not True:
                self._present((condition, integer(0)))
        return [term for _, term in pairs]

    def listed(self, node: Node, env: Env) -> ListTerm:
        """An argument that must be a list."""
        value = self.value(node, env)
        if not isinstance(value, ListTerm):
            raise ExpressionError(
                f"{describe(value)} stands where a list is needed",
                column=column_of(node),
                fix="write it in brackets: [a, b, c]",
            )
        return value

    # operations

    def _apply(self, node: Apply, env: Env) -> Value:
        symbol = self.declarations.symbols.get(node.word) or self.declarations.symbols.get(node.op)
        if symbol is not None and symbol.indexes:
            keys: list[Value | None] = [self.value(arg, env) for arg in node.args]
            if len(keys) != len(symbol.indexes):
                raise ExpressionError(
                    f"{symbol.name} takes {len(symbol.indexes)} arguments, not {len(keys)}",
                    fix="give one for each index",
                )
            return self.access(symbol, keys, ())
        if node.op not in FUNCTIONS:
            raise unknown_function(self.declarations, node)
        check_arity(node)
        return FUNCTIONS[node.op](self, node, env)

    def branch(self, condition: Any, node: Node, env: Env) -> Value:
        """A branch of if: what it asks for is asked only when it is taken."""
        self.conditions.append([])
        try:
            value = self.value(node, env)
        finally:
            conditions = self.conditions.pop()
        for one in conditions:
            self.require(implication(condition, one))
        return value

    def if_then_else(self, condition: Any, yes: Value, no: Value) -> Value:
        """One of two values; they must be of one kind."""
        return (
            self.merge([condition, True], [yes, no])
            if condition not in (True, False)
            else yes
            if condition is True
            else no
        )
