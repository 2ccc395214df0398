"""The values to find as Z3 constants, and every way to reach them: whole, by constant index, by variable index.

What is undefined is kept as a condition of the truth value around it (MiniZinc's relational semantics).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import z3

from ..dsl.declarations import Constant, Declarations
from ..dsl.faults import ExpressionError
from ..dsl.types import BoolType, EnumType, FiniteSet, IndexValue, IntType, RealType, Symbol, Type
from .compare import Comparer
from .terms import ListTerm, Term, boolean, choose, describe, integer, number, real, z3_of

Value = Term | ListTerm


class Cells:
    """The cells of all declared symbols.

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
        self.unrolling = 0
        """How many bound names have a value here; then an index outside is no fault."""
        self.conditions: list[list[Any]] = [[]]
        for symbol in declarations.symbols.values():
            self._declare(symbol)

    def note(self, text: str) -> None:
        """Tell the user of a reading, once."""
        self.notes.setdefault(text)

    def require(self, condition: Any) -> None:
        """Make the truth value around this place false unless `condition` holds."""
        if condition is not True:
            self.conditions[-1].append(condition)

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

    def whole(self, symbol: Symbol, prefix: tuple[IndexValue, ...]) -> Value:
        """The cells below an index prefix: one term, or lists of lists."""
        if len(prefix) == len(symbol.indexes):
            return self._typed(symbol, self.cells[symbol.name][prefix])
        index = symbol.indexes[len(prefix)]
        return ListTerm([self.whole(symbol, (*prefix, value)) for value in index.values], index.base)

    # indexes

    def access(self, symbol: Symbol, keys: Sequence[Value | None], prefix: tuple[IndexValue, ...]) -> Value:
        """One axis after the other: a constant key goes on, a variable one chooses, `*` makes a list."""
        if not keys:
            return self.whole(symbol, prefix)
        if len(prefix) >= len(symbol.indexes):
            raise ExpressionError(
                f"{symbol.name} takes {len(symbol.indexes)} indexes, not more",
                fix=f"write {symbol.name} with {len(symbol.indexes)}",
            )
        index, key = symbol.indexes[len(prefix)], keys[0]
        if key is None:
            return ListTerm([self.access(symbol, keys[1:], (*prefix, value)) for value in index.values], index.base)
        if isinstance(key, ListTerm):
            raise ExpressionError("a list is no index", fix="use a single value")
        key = self._key(symbol, index, key)
        if key.constant:
            return self.access(symbol, keys[1:], (*prefix, self._constant_key(symbol, index, key)))
        branches = [(value, self.access(symbol, keys[1:], (*prefix, value))) for value in index.values]
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
        if self.unrolling and index.values:
            self.note(f"an index outside of {symbol.name}'s {first}..{last} makes its comparison false")
            self.require(condition=False)
            return first
        where = key.value if index.enum is None else f"at place {key.value + 1}"
        raise ExpressionError(
            f"the index {where} is outside of {symbol.name}'s {first}..{last}",
            fix="use an index within; counts start at 0, ranges as declared",
        )

    def pick_all(self, target: Value, keys: Sequence[Value | None]) -> Value:
        """Index a list that is no symbol: data, a literal, a row."""
        if not keys:
            return target
        if not isinstance(target, ListTerm):
            raise ExpressionError(
                f"{describe(target)} cannot be indexed", fix="only arrays, functions and lists take indexes"
            )
        key = keys[0]
        if key is None:
            return ListTerm([self.pick_all(item, keys[1:]) for item in target.items], target.base)
        if isinstance(key, ListTerm):
            raise ExpressionError("a list is no index", fix="use a single value")
        if key.kind in {"enum", "member"}:
            key = self.compare.resolve(key)
            place = integer(key.value)
        else:
            place = number(key, note=self.note)
        if place.kind == "real":
            raise ExpressionError("a real number indexes a list", fix="use whole numbers")
        if place.constant:
            where = place.value - target.base
            if not 0 <= where < len(target.items):
                if self.unrolling and target.items:
                    self.note("an index outside of a list makes its comparison false")
                    self.require(condition=False)
                    return self.pick_all(target.items[0], keys[1:])
                raise ExpressionError(
                    f"the index {place.value} is outside of {target.base}..{target.base + len(target.items) - 1}",
                    fix="use an index within",
                )
            return self.pick_all(target.items[where], keys[1:])
        branches = [(target.base + at, self.pick_all(item, keys[1:])) for at, item in enumerate(target.items)]
        return self._choose_among(place, branches, None)

    def pick(self, target: Value, key: Value) -> Value:
        """One item of a list by a key that may be a variable."""
        return self.pick_all(target, [key])

    def _choose_among(self, key: Term, branches: Sequence[tuple[IndexValue, Value]], enum: EnumType | None) -> Value:
        """The branch that a variable key selects; outside of all of them the truth value around is false."""
        if not branches:
            raise ExpressionError("an empty list is indexed", fix="give it items")
        places = [branches_at if enum is None else at for at, (branches_at, _) in enumerate(branches)]
        conditions = [z3_of(key) == place for place in places]
        self.require(z3.Or(conditions))
        self.note("a list indexed by a variable also asks that the index lies within the list")
        return self.merge(conditions, [value for _, value in branches])

    def merge(self, conditions: Sequence[Any], values: Sequence[Value]) -> Value:
        if all(isinstance(value, ListTerm) for value in values):
            lists = [value for value in values if isinstance(value, ListTerm)]
            width = len(lists[0].items)
            if any(len(value.items) != width for value in lists):
                lengths = " and ".join(sorted({str(len(value.items)) for value in lists}))
                raise ExpressionError(
                    f"lists of {lengths} items stand for each other", fix="make the lists equally long"
                )
            return ListTerm(
                [self.merge(conditions, [value.items[at] for value in lists]) for at in range(width)], lists[0].base
            )
        if any(isinstance(value, ListTerm) for value in values):
            raise ExpressionError("a list and a single value stand for each other", fix="give the branches one form")
        terms = self.compare.align([value for value in values if isinstance(value, Term)])
        chosen = terms[-1]
        for condition, term in zip(reversed(conditions[:-1]), reversed(terms[:-1]), strict=True):
            chosen = choose(condition, term, chosen)
        return chosen
