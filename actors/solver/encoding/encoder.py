"""Syntax trees to Z3: names resolved, types checked, quantifiers unrolled, partial operations guarded.

A division or a list index that may be undefined makes the comparison around it false where it is undefined
(MiniZinc's relational semantics); `notes` says so.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import z3

from ..dsl.declarations import Constant, Declarations
from ..dsl.faults import ExpressionError, near
from ..dsl.operators import ARITY, EXAMPLES, canonical, known_words
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
from ..dsl.types import BoolType, EnumType, FiniteSet, IndexValue, IntType, RealType, Symbol, Type, finite
from . import arithmetic
from .compare import Comparer
from .functions import FUNCTIONS, interval_membership
from .terms import (
    ListTerm,
    Term,
    add,
    boolean,
    choose,
    conjunction,
    describe,
    disjunction,
    implication,
    integer,
    multiply,
    negate,
    negation,
    number,
    real,
    same_kind,
    z3_of,
)

TERMS_MAX: Final = 100_000
Env = Mapping[str, "Term | ListTerm"]
Value = Term | ListTerm
Guarded = tuple[Any, Value]
"""An item of a list and the condition under which it is there."""


class Encoder:
    """Encodes the expressions of one problem.

    Attributes:
        cells: the Z3 constant of each value to find, by name and index tuple.
        domains: the declared ranges as constraints.
        notes: repairs and readings that the user should know of.
    """

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self.cells: dict[str, dict[tuple[IndexValue, ...], Any]] = {}
        self.domains: list[Any] = []
        self.notes: dict[str, None] = {}
        self.compare = Comparer(declarations, self.note)
        self._terms = 0
        self._unrolling = 0
        self._conditions: list[list[Any]] = [[]]
        for symbol in declarations.symbols.values():
            self._declare(symbol)

    def note(self, text: str) -> None:
        """Tell the user of a reading, once."""
        self.notes.setdefault(text)

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
        found, self._conditions[0] = self._conditions[0], []
        return found

    def truth(self, node: Node, env: Env) -> Any:
        """A Python or Z3 truth value, false where a part of it is undefined."""
        self._conditions.append([])
        try:
            value = self.value(node, env)
        finally:
            conditions = self._conditions.pop()
        if isinstance(value, ListTerm):
            return conjunction([*(self.as_truth(item, node) for item in value.flat()), *conditions])
        return conjunction([self.as_truth(value, node), *conditions])

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

    def require(self, condition: Any) -> None:
        """Make the truth value around this place false unless `condition` holds."""
        if condition is not True:
            self._conditions[-1].append(condition)

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

    def _declare(self, symbol: Symbol) -> None:
        cells: dict[tuple[IndexValue, ...], Any] = {}
        for index in self.declarations.cells(symbol):
            name = symbol.name + ("[" + ",".join(map(str, index)) + "]" if index else "")
            cells[index] = self._cell(name, symbol.type)
        self.cells[symbol.name] = cells

    def _cell(self, name: str, kind: Type) -> Any:
        match kind:
            case BoolType():
                return z3.Bool(name)
            case RealType(low=low, high=high):
                cell = z3.Real(name)
                bounds = [cell >= z3_of(real(low))] if low is not None else []
                bounds += [cell <= z3_of(real(high))] if high is not None else []
            case EnumType(members=members):
                cell = z3.Int(name)
                bounds = [cell >= 0, cell < len(members)]
            case IntType(low=low, high=high, values=values):
                cell = z3.Int(name)
                bounds = [cell >= z3_of(integer(low))] if low is not None else []
                bounds += [cell <= z3_of(integer(high))] if high is not None else []
                bounds += [z3.Or([cell == z3_of(integer(value)) for value in values])] if values else []
            case _:
                raise ExpressionError("an unknown type")
        self.domains += bounds
        return cell

    def _name(self, node: Name, env: Env) -> Value:
        text = node.text
        if not node.quoted:
            if text in env:
                return env[text]
            if text in self.declarations.symbols:
                return self._whole(self.declarations.symbols[text], ())
            if text in self.declarations.constants:
                return self.constant(self.declarations.constants[text])
        if self.declarations.enums_with(text):
            return Term("member", text)
        if text in self.declarations.sets:
            return ListTerm(self.set_values(finite(self.declarations.sets[text])))
        raise self.undeclared(text)

    def undeclared(self, text: str) -> ExpressionError:
        """The error for a name that nothing declares, with near matches and the line to add."""
        close = near(text, self.declarations.names())
        fix = f"did you mean {' or '.join(close)}? otherwise " if close else ""
        enums = [symbol.name for symbol in self.declarations.symbols.values() if isinstance(symbol.type, EnumType)]
        add_to = f', or add "{text}" to the values of {enums[0]}' if enums else ""
        return ExpressionError(
            f"{text!r} is not declared",
            fix=f'{fix}add to vars: "{text}": "int 1..5" (or "bool"){add_to}',
            example=f'"vars": {{"{text}": "int 1..5"}}',
        )

    def constant(self, value: Constant) -> Value:
        """Data as a term."""
        match value:
            case bool():
                return boolean(value)
            case int():
                return integer(value)
            case Fraction():
                return real(value)
            case str():
                return Term("member", value)
            case _:
                return ListTerm([self.constant(item) for item in value])

    def set_values(self, values: FiniteSet | None) -> list[Term]:
        """The values of a finite set as terms."""
        if values is None:
            raise ExpressionError("the set is not finite", fix='declare it with bounds, e.g. "int 1..5"')
        if values.enum:
            return [Term("enum", place, values.enum) for place in range(len(values.values))]
        return [integer(value) for value in values.values]

    def _typed(self, symbol: Symbol, cell: Any) -> Term:
        match symbol.type:
            case BoolType():
                return boolean(cell)
            case RealType():
                return real(cell)
            case EnumType() as enum:
                return Term("enum", cell, enum)
            case _:
                return integer(cell)

    def _whole(self, symbol: Symbol, prefix: tuple[IndexValue, ...]) -> Value:
        """The cells below an index prefix: one term, or lists of lists."""
        if len(prefix) == len(symbol.indexes):
            return self._typed(symbol, self.cells[symbol.name][prefix])
        index = symbol.indexes[len(prefix)]
        return ListTerm([self._whole(symbol, (*prefix, value)) for value in index.values], index.base)

    # indexes

    def _index(self, target: Node, indexes: Sequence[Node | None], env: Env) -> Value:
        symbol = self._symbol_of(target, env)
        keys = [None if index is None else self.value(index, env) for index in indexes]
        if symbol is not None and symbol.indexes:
            return self._access(symbol, keys, ())
        return self._pick(self.value(target, env), keys)

    def _symbol_of(self, target: Node, env: Env) -> Symbol | None:
        if isinstance(target, Name) and not target.quoted and target.text not in env:
            return self.declarations.symbols.get(target.text)
        return None

    def _access(self, symbol: Symbol, keys: Sequence[Value | None], prefix: tuple[IndexValue, ...]) -> Value:
        """One axis after the other: a constant key goes on, a variable one chooses, `*` makes a list."""
        if not keys:
            return self._whole(symbol, prefix)
        if len(prefix) >= len(symbol.indexes):
            raise ExpressionError(
                f"{symbol.name} takes {len(symbol.indexes)} indexes, not more",
                fix=f"write {symbol.name} with {len(symbol.indexes)}",
            )
        index, key = symbol.indexes[len(prefix)], keys[0]
        if key is None:
            return ListTerm([self._access(symbol, keys[1:], (*prefix, value)) for value in index.values], index.base)
        if isinstance(key, ListTerm):
            raise ExpressionError("a list is no index", fix="use a single value")
        key = self._key(symbol, index, key)
        if key.constant:
            return self._access(symbol, keys[1:], (*prefix, self._constant_key(symbol, index, key)))
        branches = [(value, self._access(symbol, keys[1:], (*prefix, value))) for value in index.values]
        return self._choose_among(key, branches, index.enum)

    def _key(self, symbol: Symbol, index: FiniteSet, key: Term) -> Term:
        if index.enum:
            try:
                key = self.compare.align([key, Term("enum", 0, index.enum)])[0]
            except ExpressionError as error:
                raise ExpressionError(
                    f"{symbol.name} is indexed by {describe(Term('enum', 0, index.enum))}: {error.problem}",
                    fix=error.fix,
                ) from None
            return key
        key = number(key, note=self.note)
        if key.kind == "real":
            raise ExpressionError(f"a real number indexes {symbol.name}", fix="use whole numbers")
        return key

    def _constant_key(self, symbol: Symbol, index: FiniteSet, key: Term) -> IndexValue:
        """The index that a constant key names; under a quantifier one outside makes the truth value around it false."""
        inside = 0 <= key.value < len(index.values) if index.enum else key.value in index.values
        if inside:
            return index.values[key.value] if index.enum else key.value
        first, last = (index.values[0], index.values[-1]) if index.values else (0, -1)
        if self._unrolling and index.values:
            self.note(f"an index outside of {symbol.name}'s {first}..{last} makes its comparison false")
            self.require(condition=False)
            return first
        where = key.value if index.enum is None else f"at place {key.value + 1}"
        raise ExpressionError(
            f"the index {where} is outside of {symbol.name}'s {first}..{last}",
            fix="use an index within; counts start at 0, ranges as declared",
        )

    def _pick(self, target: Value, keys: Sequence[Value | None]) -> Value:
        """Index a list that is no symbol: data, a literal, a row."""
        if not keys:
            return target
        if not isinstance(target, ListTerm):
            raise ExpressionError(
                f"{describe(target)} cannot be indexed", fix="only arrays, functions and lists take indexes"
            )
        key = keys[0]
        if key is None:
            return ListTerm([self._pick(item, keys[1:]) for item in target.items], target.base)
        if isinstance(key, ListTerm):
            raise ExpressionError("a list is no index", fix="use a single value")
        if key.kind in {"enum", "member"}:
            key = self.compare.resolve(key)
            place = integer(key.value if key.constant else key.value)
        else:
            place = number(key, note=self.note)
        if place.kind == "real":
            raise ExpressionError("a real number indexes a list", fix="use whole numbers")
        if place.constant:
            where = place.value - target.base
            if not 0 <= where < len(target.items):
                if self._unrolling and target.items:
                    self.note("an index outside of a list makes its comparison false")
                    self.require(condition=False)
                    return self._pick(target.items[0], keys[1:])
                raise ExpressionError(
                    f"the index {place.value} is outside of {target.base}..{target.base + len(target.items) - 1}",
                    fix="use an index within",
                )
            return self._pick(target.items[where], keys[1:])
        branches = [(target.base + at, self._pick(item, keys[1:])) for at, item in enumerate(target.items)]
        return self._choose_among(place, branches, None)

    def pick(self, target: Value, key: Value) -> Value:
        """One item of a list by a key that may be a variable."""
        return self._pick(target, [key])

    def truth_of_membership(self, item: Node, group: Node, env: Env) -> Any:
        """Item in group, for a range, a list, a set, or a variable's domain."""
        value = self.value(item, env)
        if isinstance(value, ListTerm):
            raise ExpressionError("a list is tested for membership", fix="test its items, or use table([x, y], rows)")
        if isinstance(group, Interval):
            return interval_membership(self, value, group, env)
        members = ListTerm(self.domain(group, env)).flat()
        return self.compare.one_of(value, members)

    def _choose_among(self, key: Term, branches: Sequence[tuple[IndexValue, Value]], enum: EnumType | None) -> Value:
        """The branch that a variable key selects; outside of all of them the truth value around is false."""
        if not branches:
            raise ExpressionError("an empty list is indexed", fix="give it items")
        places = [branches_at if enum is None else at for at, (branches_at, _) in enumerate(branches)]
        conditions = [z3_of(key) == place for place in places]
        self.require(z3.Or(conditions))
        self.note("a list indexed by a variable also asks that the index lies within the list")
        return self._merge(conditions, [value for _, value in branches])

    def _merge(self, conditions: Sequence[Any], values: Sequence[Value]) -> Value:
        if all(isinstance(value, ListTerm) for value in values):
            lists = [value for value in values if isinstance(value, ListTerm)]
            width = min(len(value.items) for value in lists)
            return ListTerm(
                [self._merge(conditions, [value.items[at] for value in lists]) for at in range(width)], lists[0].base
            )
        terms = self.compare.align([value for value in values if isinstance(value, Term)])
        chosen = terms[-1]
        for condition, term in zip(reversed(conditions[:-1]), reversed(terms[:-1]), strict=True):
            chosen = choose(condition, term, chosen)
        return chosen

    # lists and quantifiers

    def items(self, node: Comprehension, env: Env) -> list[Guarded]:
        """The items of a comprehension, each with the condition under which it is there."""
        found: list[Guarded] = []
        for inner in self._bindings(node.binders, env):
            condition = True if node.where is None else self.truth(node.where, inner)
            if condition is False:
                continue
            self._conditions.append([])
            try:
                value = self.value(node.body, inner)
            finally:
                conditions = self._conditions.pop()
            if isinstance(value, Term) and value.kind == "bool":
                value = boolean(conjunction([value.value, *conditions]))
                conditions = []
            for one in conditions:
                self.require(implication(condition, one))
            found.append((condition, value))
        return found

    def _bindings(self, binders: Sequence[Binder], env: Env) -> Iterator[Env]:
        if not binders:
            yield env
            return
        for value in self.domain(binders[0].domain, env):
            self._unrolling += 1
            try:
                yield from self._bindings(binders[1:], {**env, binders[0].name: value})
            finally:
                self._unrolling -= 1

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
                    f"{symbol.name} takes {len(symbol.indexes)} arguments, not {len(keys)}", fix="give one per index"
                )
            return self._access(symbol, keys, ())
        if canonical(node.op) is None and node.op not in FUNCTIONS and node.op not in _CONNECTIVES:
            raise self.unknown_function(node)
        self._check_arity(node)
        if node.op in _CONNECTIVES:
            return self._connective(node, env)
        if node.op in {"=", "distinct", "<", "<=", ">", ">="}:
            return boolean(self._comparison(node, env))
        return FUNCTIONS[node.op](self, node, env)

    def unknown_function(self, node: Apply) -> ExpressionError:
        """The error for a call of what is no function."""
        symbol = self.declarations.symbols.get(node.op)
        if symbol is not None:
            return ExpressionError(
                f"{node.op} is a plain variable and takes no arguments", fix=f"write {node.op} alone"
            )
        close = near(node.op, [*known_words(), *self.declarations.symbols])
        fix = (
            f"did you mean {' or '.join(close)}?"
            if close
            else "use the functions that meta.schema lists; nothing is run as code"
        )
        return ExpressionError(f"the function {node.op!r} does not exist", fix=fix)

    def _check_arity(self, node: Apply) -> None:
        if (
            len(node.args) == 1
            and isinstance(node.args[0], Comprehension | ListNode)
            and node.op not in {"not", "neg", "abs", "ite"}
        ):
            return
        fewest, most = ARITY.get(node.op, (0, TERMS_MAX))
        if not fewest <= len(node.args) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}" if most < 99 else f"at least {fewest}"  # noqa: PLR2004
            raise ExpressionError(
                f"{node.word or node.op} takes {wanted} arguments, not {len(node.args)}",
                fix=EXAMPLES.get(node.op, "see meta.schema"),
                example=EXAMPLES.get(node.op, ""),
            )

    def _comparison(self, node: Apply, env: Env) -> Any:
        args = [self.value(arg, env) for arg in node.args]
        if len(args) == 1 and isinstance(args[0], ListTerm):
            args = list(args[0].items)
        if node.op == "distinct" and len(args) > 2:  # noqa: PLR2004
            return self.compare.all_different([term for term in ListTerm(args).flat()])
        return conjunction(
            [self.compare.compare(node.op, left, right) for left, right in zip(args, args[1:], strict=False)]
        )

    def _connective(self, node: Apply, env: Env) -> Term:
        match node.op:
            case "and" | "or":
                parts = self._truths(node.args, env, implied=node.op == "and")
                return boolean(conjunction(parts) if node.op == "and" else disjunction(parts))
            case "not":
                return boolean(negation(self.truth(node.args[0], env)))
            case "nand" | "nor":
                parts = [self.truth(arg, env) for arg in node.args]
                return boolean(negation(conjunction(parts) if node.op == "nand" else disjunction(parts)))
            case "=>":
                parts = [self.truth(arg, env) for arg in node.args]
                result = parts[-1]
                for part in reversed(parts[:-1]):
                    result = implication(part, result)
                return boolean(result)
            case "xor":
                return boolean(_parity([self.truth(arg, env) for arg in node.args]))
            case _:
                parts = [self.truth(arg, env) for arg in node.args]
                return boolean(conjunction([_same(one, other) for one, other in zip(parts, parts[1:], strict=False)]))

    def _truths(self, args: Sequence[Node], env: Env, *, implied: bool) -> list[Any]:
        """The parts of and/or; an item under a condition is implied by it, or holds with it."""
        parts: list[Any] = []
        for arg in args:
            if isinstance(arg, Comprehension):
                for inner in self._bindings(arg.binders, env):
                    condition = True if arg.where is None else self.truth(arg.where, inner)
                    part = True if condition is False else self.truth(arg.body, inner)
                    parts.append(implication(condition, part) if implied else conjunction([condition, part]))
            else:
                parts.append(self.truth(arg, env))
        return parts

    def branch(self, condition: Any, node: Node, env: Env) -> Value:
        """A branch of if: what it asks for is asked only when it is taken."""
        self._conditions.append([])
        try:
            value = self.value(node, env)
        finally:
            conditions = self._conditions.pop()
        for one in conditions:
            self.require(implication(condition, one))
        return value

    def if_then_else(self, condition: Any, yes: Value, no: Value) -> Value:
        """One of two values; they must be of one kind."""
        return (
            self._merge([condition, True], [yes, no])
            if condition not in (True, False)
            else yes
            if condition is True
            else no
        )


_CONNECTIVES: Final = frozenset({"and", "or", "not", "nand", "nor", "=>", "xor", "iff"})


def _same(one: Any, other: Any) -> Any:
    for fixed, free in ((one, other), (other, one)):
        if isinstance(fixed, bool):
            return free if fixed else negation(free)
    return one == other


def _parity(parts: Sequence[Any]) -> Any:
    result: Any = False
    for part in parts:
        if isinstance(result, bool):
            result = negation(part) if result else part
        elif isinstance(part, bool):
            result = negation(result) if part else result
        else:
            result = z3.Xor(result, part)
    return result


__all__ = ["Encoder", "add", "arithmetic", "multiply", "negate", "same_kind"]
