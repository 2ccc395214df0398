"""Random well-typed constraints over a few small variables, and the two readings of one under an assignment."""
# ruff: noqa: E501 - one constraint after the other

import random
from fractions import Fraction

import z3

from actors.solver.dsl.declarations import Declarations, declare
from actors.solver.dsl.evaluator import Evaluator
from actors.solver.dsl.faults import ExpressionError
from actors.solver.dsl.parser import parse
from actors.solver.dsl.types import BoolType, EnumType, RealType, finite
from actors.solver.dsl.values import Member
from actors.solver.encoding.encoder import Encoder
from actors.solver.encoding.model import literal

VARS = {
    "a": "int 0..3",
    "b": "int -2..2",
    "c": "int 1..4",
    "p": "bool",
    "q": "bool",
    "d": ["mon", "tue", "wed"],
    "e": ["mon", "tue", "wed"],
    "r": "real 0..2",
    "g": {"type": "int", "min": 0, "max": 3, "size": [4]},
    "h": {"type": "int", "min": 0, "max": 3, "size": [4]},
    "m": "array[1..2, 0..1] of int 0..2",
    "f": "(Day, 0..1) -> bool",
    "t": {"type": "bool", "size": [3]},
}
TYPES = {"Day": ["mon", "tue", "wed"]}
DATA = {"w": [2, 0, 3, 1], "k": 2}


def declared() -> Declarations:
    return declare(VARS, TYPES, DATA)


GLOBALS = [
    "all_different(g)", "all_different(a, b, c)", "all_different(d, e)", "all_different_except(g, 0)", "all_equal(g)",
    "a in {0, 2}", "a in 1..b", "d in {mon, wed}", "d not in {tue}", "b in g", "d in tue..wed",
    "table([a, d], [[1, mon], [2, wed], [0, mon]])", "increasing(g)", "strictly_increasing(g)", "decreasing(g)",
    "strictly_decreasing(h)", "precedence(a, 2, c)", "precedence(d, e)", "no_overlap(g, [1, 2, 0, 1])",
    "cumulative(g, [1, 2, 1, 2], [1, 1, 2, 1], 2)", "cumulative(g, h, [1, 1, 2, 1], c)", "next_to(a, c)",
    "next_to(d, e)", "next_to(d, tue)", "left_of(d, e)", "right_of(a, b)", "directly_left_of(d, e)",
    "directly_right_of(a, c)", "between(a, b, c)", "between(d, tue, e)", "circuit(g)", "circuit(g, 0)", "subcircuit(g)",
    "inverse(g, h)", "lex_less(g, h)", "lex_lesseq(g, h)", "lex_greater(g, h)", "lex_greatereq(g, h)",
    "lex_less([a, b], [c])", "regular(g, [[0, 1, -1, 1], [1, 0, 0, -1]], 0, [1])",
    "regular([c, c, a], 2, 4, [[1, 2, 0, 1], [2, 2, 1, 0]], 1, {2})", "global_cardinality(g, [0, 1], [a, c])",
    "value_precede(g, 1, 2)", "value_precede(1, 2, g)", "bin_packing(4, g, [1, 2, 3, 1])",
    "bin_packing([3, 2, 4, a], g, [1, 2, 3, 1])", "arg_max(g) = a", "arg_min(g) < c", "element(a, g) = b",
    "element(g, b) >= 1", "g[b] = 1", "g[a] != h[b + 1]", "m[1, a] = b", "m[c, *] = m[2, *]", "w[a] = c", "w[b] > 1",
    "f(d, 0) and f[e, a]", "f(mon, b)", "count(g, 1) = a", "count(g, {0, 2}) >= 2", "count(g, 2, a)", "among(g, {1, 3}) = c",
    "nvalue(g) = c", "nvalue(a, b, c) = 2", "exactly(2, g, 1)", "at_least(a, g, 3)", "at_most(1, g, 0)", "exactly(2, t)",
    "exactly(1, p, q, a > 1)", "at_least(2, [p, q, a = b])", "at_most(1, t)", "exactly_one(t)", "at_most_one(p, q)",
    "at_least_one(t)", "count(i in 0..3: g[i] > a) >= 2", "count(p, q, a < b) = 1", "count(t) = a",
    "sum(i in 0..3 where g[i] > 0: w[i]) = c", "sum(w) = 6", "sum(i in 0..3: w[i] * g[i]) <= 5", "sum(t) = b",
    "forall(i in 0..3: g[i] <= h[i] or p)", "exists(i, j in 0..3 where i < j: g[i] = g[j])",
    "forall(x in Day: f(x, 0) -> f(x, 1))", "exists(x in d: x > e)", "forall(i in 0..3: g[i] > 2 -> g[i + 1] = 0)",
    "exists(i in 0..3: g[i] = 1 and g[i + 1] = 2)", "max(g) - min(h) = b", "max(a, b, c) >= abs(b) + 1", "max(d, e) = wed",
    "min(d, tue) = e", "product(g) = 4", "a / c = r", "r * 2 = a", "r < 3/2", "1 / b > r", "a div b = 1", "a mod b = 0",
    "a // b = -1", "a % b = -1", "b div 2 = -1 or b % 2 = 1", "a ^ 2 = c", "(a + b) ^ 3 > c", "d + 1 = e", "e - d = 1",
    "abs(d - e) = 2", "position(d) = c", "d < e", "d <= tue", "(if p then a else b) = c",
    "if b != 0 then a / b > 1 else q", "(if p then d else e) = tue", "length(g) = 4", "row(m, 1) = [a, b]",
    "col(m, 0) = m[*, 1]", "all(t)", "any(t)", "[a, b] = [b, a]", "distinct(a, b, c)", "a < b < c", "a = b = c",
    "not(1 / b = a)", "p xor q xor a > 1", "p <-> q", "nand(p, q)", "p -> q -> t[0]", "sum(i in Day: f(i, 1)) >= a",
    "forall(i in 1..2, j in 0..1: m[i, j] >= i - j - 1)", "all_different(i in 0..3: g[i] + i)", "sum(g) - sum(h) = b",
    "a * b = c", "-a < b", "k * a = c + 1", "max(i in 0..3: g[i] * w[i]) = c", "list(g, h) = list(h, g)",
]  # fmt: skip


class Maker:
    """Random expressions of a given depth."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def truth(self, depth: int) -> str:
        pick = self.random.choice
        if depth <= 0:
            return pick([*GLOBALS, "p", "q", "t[1]"])
        kind = self.random.randrange(8)
        if kind == 0:
            return f"not ({self.truth(depth - 1)})"
        if kind in {1, 2, 3}:
            op = pick(["and", "or", "->", "<->", "xor", "&&", "||", "=>"])
            return f"({self.truth(depth - 1)}) {op} ({self.truth(depth - 1)})"
        if kind == 4:
            return f"if {self.truth(depth - 1)} then ({self.truth(depth - 1)}) else ({self.truth(depth - 1)})"
        op = pick(["=", "!=", "<", "<=", ">", ">="])
        return f"{self.number(depth)} {op} {self.number(depth)}"

    def defined(self, depth: int) -> str:
        """A constraint in which no constant is divided by a constant 0."""
        while True:
            text = self.truth(depth)
            try:
                Encoder(declared()).constraint(parse(text))
            except ExpressionError as error:
                assert error.problem == "division by 0", (text, error.problem)
            else:
                return text

    def number(self, depth: int) -> str:
        pick = self.random.choice
        if depth <= 0:
            return pick(["a", "b", "c", "g[0]", "h[3]", "2", "-1", "w[1]", "m[2,1]", "sum(g)", "count(t)", "k"])
        kind = self.random.randrange(7)
        one, other = self.number(depth - 1), self.number(depth - 1)
        if kind < 3:
            return f"({one} {pick(['+', '-', '*'])} {other})"
        if kind == 3:
            return f"({one} {pick(['div', 'mod', '//', '%'])} {other})"
        if kind == 4:
            return f"{pick(['max', 'min'])}({one}, {other})"
        if kind == 5:
            return f"abs({one})"
        return f"(if {self.truth(0)} then {one} else {other})"

    def assignment(self, declarations: Declarations) -> dict:
        return {
            symbol.name: {index: self.value(symbol.type) for index in declarations.cells(symbol)}
            for symbol in declarations.symbols.values()
        }

    def value(self, kind):
        if isinstance(kind, BoolType):
            return self.random.random() < 0.5
        if isinstance(kind, RealType):
            return Fraction(self.random.randrange(0, 9), 4)
        if isinstance(kind, EnumType):
            return Member(self.random.randrange(len(kind.members)), kind)
        return self.random.choice(finite(kind).values)


def both(declarations: Declarations, text: str, assignments: list[dict]) -> list[tuple[bool, bool]]:
    """What Z3 makes of the encoding and what the evaluator says, for each assignment."""
    node = parse(text)
    encoder = Encoder(declarations)
    term = encoder.constraint(node)
    found = []
    for values in assignments:
        pairs = [
            (cell, literal(declarations.symbols[name].type, values[name][index]))
            for name, cells in encoder.cells.items()
            for index, cell in cells.items()
        ]
        found.append(
            (z3.is_true(z3.simplify(z3.substitute(term, *pairs))), Evaluator(declarations, values).holds(node))
        )
    return found
