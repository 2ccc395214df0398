"""A Pratt parser from tokens to the syntax tree; knows no names but those of operators.

Binding powers, loosest first: `? :`, iff, =>, or, xor, and, not, comparisons (chained), `..`, + -, * / div mod,
unary minus, ^, calls and indexes.
"""

from typing import Final

from .brackets import Brackets
from .faults import ExpressionError
from .operators import canonical, quantifier
from .syntax import Apply, Binder, Comprehension, Index, Interval, Name, Node, Number, Sequence, Truth, depth
from .tokens import Token, tokenize

DEPTH_MAX: Final = 200
SENTENCE_NAMES_MIN: Final = 3

_TERNARY, _IFF, _IMPLIES, _OR, _XOR, _AND, _NOT, _COMPARE, _RANGE, _SUM, _TERM, _SIGN, _POWER = range(1, 14)
_INFIX: Final = {
    "?": _TERNARY, "iff": _IFF, "=>": _IMPLIES, "or": _OR, "|": _OR, "nor": _OR, "xor": _XOR, "and": _AND,
    "nand": _AND, "=": _COMPARE, "distinct": _COMPARE, "<": _COMPARE, "<=": _COMPARE, ">": _COMPARE, ">=": _COMPARE,
    "in": _COMPARE, "notin": _COMPARE, "not": _COMPARE, "..": _RANGE, "+": _SUM, "-": _SUM,
    "*": _TERM, "/": _TERM, "//": _TERM, "%": _TERM, "div": _TERM, "mod": _TERM, "^": _POWER,
}  # fmt: skip
_FLAT: Final = frozenset({"and", "or", "+", "*", "xor"})
_CHAIN: Final = frozenset({"=", "distinct", "<", "<=", ">", ">="})
_CALLABLE: Final = frozenset(
    {"and", "or", "xor", "=>", "iff", "div", "mod", "nand", "nor", "forall", "exists", "sum", "in"}
)
"""Operator words that may also be called: `Or(a, b)`."""


_QUANTIFYING: Final = frozenset({"forall", "exists", "sum"})


def parse(text: str) -> Node:
    """The tree of one expression.

    Raises:
        ExpressionError: with the column of the first thing that does not fit.
    """
    parser = _Parser(tokenize(text))
    node = parser.whole()
    if depth(node) > DEPTH_MAX:
        raise ExpressionError(
            f"the expression is nested deeper than {DEPTH_MAX}", fix="split it into several constraints"
        )
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._brackets = Brackets(tokens)
        self._place = 0
        self._depth = 0

    @property
    def _now(self) -> Token:
        return self._tokens[self._place]

    def whole(self) -> Node:
        if self._now.kind == "end":
            raise ExpressionError("the constraint is empty", fix='write an expression such as "x < 3"')
        node = self._expression(0)
        while self._is(";"):
            self._place += 1
        if self._place < len(self._tokens) - 1:
            raise self._unexpected(after_value=True)
        return node

    def _is(self, op: str) -> bool:
        return self._now.kind == "op" and self._now.text == op

    def _next(self) -> Token:
        token = self._now
        self._place += 1
        return token

    def _expect(self, op: str, why: str) -> Token:
        if not self._is(op):
            raise ExpressionError(f"{op!r} is missing {why}, found {_show(self._now)}", column=self._now.column)
        return self._next()

    def _unexpected(self, *, after_value: bool = False) -> ExpressionError:
        token = self._now
        if after_value and self._in_words():
            fix = 'write it with names that vars declares, as "ann != 2", "ann < bob" or "ann = bob + 1"'
            return ExpressionError("this is a sentence, not an expression", fix=fix)
        what = f"{_show(token)} is not expected here"
        fix = ""
        if token.kind == "end":
            what, fix = "the expression ends too early", "complete it or remove the last operator"
        elif token.text == ".":
            what, fix = (
                "there is no attribute access in this language",
                "use plain names and the functions listed by meta.schema",
            )
        elif token.text in {")", "]", "}"}:
            fix = f"remove {token.text!r} or open it before"
        elif after_value and token.kind in {"name", "number", "quoted"}:
            fix = f"put an operator before {token.text!r}; quote or backtick names with spaces"
        return ExpressionError(what, column=token.column, fix=fix)

    def _in_words(self) -> bool:
        """Whether what was written is a sentence: name after name, and nothing that compares."""
        kinds = [token.kind for token in self._tokens]
        compared = any(token.text in _CHAIN for token in self._tokens)
        return kinds[:2] == ["name", "name"] and kinds.count("name") >= SENTENCE_NAMES_MIN and not compared

    def _expression(self, power: int) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise ExpressionError(
                f"the expression is nested deeper than {DEPTH_MAX}",
                column=self._now.column,
                fix="split it into several",
            )
        left = self._prefix()
        while self._now.kind == "op" and (binding := _INFIX.get(self._now.text, 0)) > power:
            left = self._comparison(left) if binding == _COMPARE else self._infix(left, binding)
        self._depth -= 1
        return left

    def _infix(self, left: Node, binding: int) -> Node:
        token = self._next()
        op, column = token.text, token.column
        if op == "?":
            yes = self._expression(0)
            self._expect(":", "after the first branch of ?")
            return Apply("ite", (left, yes, self._expression(_TERNARY - 1)), column)
        if op == "..":
            return Interval(left, self._expression(binding), column)
        if op in {"=>", "^"}:  # to the right
            return Apply(op, (left, self._expression(binding - 1)), column)
        right = self._expression(binding)
        if op == "-":
            op, right = "+", Apply("neg", (right,), column)
        if op == "|":
            op = "or"
        if op in _FLAT and isinstance(left, Apply) and left.op == op:
            return Apply(op, (*left.args, right), left.column)
        return Apply(op, (left, right), column)

    def _comparison(self, first: Node) -> Node:
        """`a < b <= c` as the conjunction of its pairs; `in` and `not in` end a chain."""
        pairs: list[Node] = []
        left = first
        while self._now.kind == "op" and _INFIX.get(self._now.text) == _COMPARE:
            token = self._next()
            op = token.text
            if op == "not":
                self._expect("in", "after not")
                op = "notin"
            right = self._expression(_COMPARE)
            pairs.append(Apply(op, (left, right), token.column))
            left = right
        return (
            pairs[0]
            if len(pairs) == 1
            else Apply("and", tuple(pairs), pairs[0].column if isinstance(pairs[0], Apply) else 0)
        )

    def _prefix(self) -> Node:
        token = self._next()
        if token.kind == "number":
            return self._postfix(Number(token.value, token.decimal, token.column))
        if token.kind in {"name", "quoted"}:
            return self._postfix(self._name(token))
        if token.kind == "op" and (node := self._operator(token)) is not None:
            return node
        self._place -= 1
        raise self._unexpected()

    def _operator(self, token: Token) -> Node | None:
        """What begins with an operator, a bracket or a word of the language; None when nothing can."""
        match token.text:
            case "true" | "false":
                return Truth(token.text == "true", token.column)
            case "not":
                return Apply("not", (self._expression(_NOT),), token.column)
            case "-":
                return _negated(self._expression(_SIGN), token.column)
            case "+":
                return self._expression(_SIGN)
            case "(" | "[" | "{":
                return self._postfix(self._group(token))
            case "if":
                return self._if(token)
            case text if text in _CALLABLE and self._is("("):
                return self._postfix(self._call(token))
            case text if text in _QUANTIFYING and self._now.kind == "name":
                return self._quantified(token)
            case _:
                return None

    def _name(self, token: Token) -> Node:
        if self._is("(") and token.kind == "name":
            return self._call(token)
        if token.kind == "name" and self._now.kind == "name" and canonical(token.text) in _QUANTIFYING:
            return self._quantified(token)
        return Name(token.text, token.kind == "quoted", token.column)

    def _postfix(self, node: Node) -> Node:
        while self._is("["):
            column = self._next().column
            indexes: list[Node | None] = []
            while not self._is("]"):
                if self._is("*") or (self._is("..") and self._tokens[self._place + 1].text in {",", "]"}):
                    self._place += 1
                    indexes.append(None)
                else:
                    indexes.append(self._expression(0))
                if not self._is("]"):
                    self._expect(",", "between indexes")
            self._next()
            node = Index(node, tuple(indexes), column)
        return node

    def _group(self, token: Token) -> Node:
        closing = {"(": ")", "[": "]", "{": "}"}[token.text]
        if token.text == "(":
            first = self._expression(0)
            if self._is(")"):
                self._next()
                return first
            items = self._items(")", [first])
            return Sequence(tuple(items), token.column)
        if (made := self._comprehension(token, closing)) is not None:
            return made
        return Sequence(tuple(self._items(closing, [])), token.column)

    def _items(self, closing: str, items: list[Node]) -> list[Node]:
        """Expressions between commas up to `closing`, which is taken."""
        while not self._is(closing):
            if items:
                self._expect(",", "between the items")
                if self._is(closing):
                    break
            items.append(self._expression(0))
        self._next()
        return items

    def _if(self, token: Token) -> Node:
        if self._is("(") and self._brackets.is_call(self._place, "then"):
            self._next()
            return self._postfix(Apply("ite", tuple(self._items(")", [])), token.column))
        condition = self._expression(0)
        self._expect("then", "after the condition of if")
        yes = self._expression(0)
        self._expect("else", "after the first branch of if")
        return Apply("ite", (condition, yes, self._expression(0)), token.column)

    def _call(self, token: Token) -> Node:
        opening = self._next()
        op = canonical(token.text) or token.text
        made = self._comprehension(opening, ")") or self._logic_lm(opening)
        if made is None:
            return Apply(quantifier(op), tuple(self._items(")", [])), token.column, token.text)
        if isinstance(made, Comprehension) and self._is("(") and isinstance(made.body, Truth):
            self._next()  # MiniZinc: forall(i in S)(body)
            made = Comprehension(self._expression(0), made.binders, made.where, made.column)
            self._expect(")", "after the body")
        return Apply(quantifier(op), (made,), token.column, token.text)

    def _comprehension(self, opening: Token, closing: str) -> Node | None:
        """`binders where c: body`, `body for binders if c`, `body | binders`, or None when it is none of them."""
        marks = self._brackets.marks(self._place - 1)
        if marks.binder_first and (marks.colon or (closing == ")" and marks.body_follows)):
            binders, where = self._binders()
            body: Node = Truth(value=True)
            if self._is(":"):
                self._next()
                body = self._expression(0)
            self._expect(closing, "after the body")
            return Comprehension(body, binders, where, opening.column)
        if marks.generator:
            body = self._expression(_OR if marks.bar else 0)
            self._next()
            binders, where = self._binders()
            self._expect(closing, "after the generator")
            return Comprehension(body, binders, where, opening.column)
        return None

    def _binders(self) -> tuple[tuple[Binder, ...], Node | None]:
        binders: list[Binder] = []
        while True:
            names = [self._binder_name()]
            while self._is(","):
                self._next()
                names.append(self._binder_name())
            self._expect("in", "after the name that runs")
            domain = self._expression(_COMPARE)
            binders += [Binder(name, domain) for name in names]
            if self._is("for"):
                self._next()
                continue
            if not self._is(","):
                break
            self._next()
        where = None
        if self._is("where") or self._is("if"):
            self._next()
            where = self._expression(0)
        return tuple(binders), where

    def _quantified(self, token: Token) -> Node:
        """`forall x in S: body` without brackets."""
        binders, where = self._binders()
        self._next() if self._is(":") or self._is(".") else self._expect(":", "after the set")
        made = Comprehension(self._expression(0), binders, where, token.column)
        return Apply(quantifier(canonical(token.text) or token.text), (made,), token.column)

    def _binder_name(self) -> str:
        if self._now.kind != "name":
            raise ExpressionError(f"a name is expected, found {_show(self._now)}", column=self._now.column)
        return self._next().text

    def _logic_lm(self, opening: Token) -> Node | None:
        """Logic-LM's quantifier: `([x:S, y:T], body)`."""
        if not (self._is("[") and self._brackets.typed_binders(self._place)):
            return None
        self._next()
        binders: list[Binder] = []
        while not self._is("]"):
            name = self._binder_name()
            self._expect(":", "between the name and its set")
            binders.append(Binder(name, self._expression(_COMPARE)))
            if not self._is("]"):
                self._expect(",", "between the names")
        self._next()
        self._expect(",", "after the names")
        body = self._expression(0)
        self._expect(")", "after the body")
        return Comprehension(body, tuple(binders), None, opening.column)


def _negated(node: Node, column: int) -> Node:
    if isinstance(node, Number):
        return Number(-node.value, node.decimal, column)
    return Apply("neg", (node,), column)


def _show(token: Token) -> str:
    return "the end of the text" if token.kind == "end" else repr(token.text)
