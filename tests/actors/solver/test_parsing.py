"""Text and JSON become one tree; what does not fit is told with its column."""

import pytest

from actors.solver.dsl.faults import ExpressionError
from actors.solver.dsl.parser import parse
from actors.solver.dsl.prefix import build
from actors.solver.dsl.syntax import Apply, Comprehension, Index, Interval, Name, Node, Number, Sequence, Truth


def show(node: Node) -> str:
    match node:
        case Number(value=value):
            return str(value)
        case Truth(value=value):
            return str(value).lower()
        case Name(text=text):
            return text
        case Apply(op=op, args=args):
            return f"({' '.join([op, *map(show, args)])})"
        case Index(target=target, indexes=indexes):
            return f"{show(target)}[{','.join('*' if one is None else show(one) for one in indexes)}]"
        case Sequence(items=items):
            return f"[{' '.join(map(show, items))}]"
        case Interval(low=low, high=high):
            return f"{show(low)}..{show(high)}"
        case Comprehension(body=body, binders=binders, where=where):
            names = " ".join(f"{one.name}:{show(one.domain)}" for one in binders)
            return f"<{names}{'' if where is None else ' ? ' + show(where)} | {show(body)}>"
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x + 2*g[0,1] <= 7", "(<= (+ x (* 2 g[0,1])) 7)"),
        ("a - b - c = -1", "(= (+ a (neg b) (neg c)) -1)"),
        ("-x^2", "(neg (^ x 2))"),
        ("2^3^2", "(^ 2 (^ 3 2))"),
        ("a and b or not c = d", "(or (and a b) (not (= c d)))"),
        ("p -> q -> r", "(=> p (=> q r))"),
        ("p <-> q and r", "(iff p (and q r))"),
        ("1 < x <= 5", "(and (< 1 x) (<= x 5))"),
        ("x not in {1, 2}", "(notin x [1 2])"),
        ("x in 1..n-1", "(in x 1..(+ n (neg 1)))"),
        ("p ? x : y = 3", "(ite p x (= y 3))"),
        ("if p then x else y", "(ite p x y)"),
        ("If(p, x, y) == 2", "(= (ite p x y) 2)"),
        ("Or(a, b) && !c", "(and (or a b) (not c))"),
        ("a ∧ ¬b ⇒ c ≠ d", "(=> (and a (not b)) (distinct c d))"),
        ("x / y // z % 2", "(% (// (/ x y) z) 2)"),
        ("forall(i in 0..2: g[i] < 3)", "(and <i:0..2 | (< g[i] 3)>)"),
        ("forall(i, j in S where i < j)(f(i) != f(j))", "(and <i:S j:S ? (< i j) | (distinct (f i) (f j))>)"),
        ("all(x[i] > 0 for i in 1..3 if i != 2)", "(and <i:1..3 ? (distinct i 2) | (> x[i] 0)>)"),
        ("sum(i in S: w[i]) = 3", "(= (sum <i:S | w[i]>) 3)"),
        ("[x[i] | i in 1..2]", "<i:1..2 | x[i]>"),
        ("Count([t:types], on(t)) == 4", "(= (count <t:types | (on t)>) 4)"),
        ("exists x in S: p(x)", "(or <x:S | (p x)>)"),
        ("AllDifferentConstraint([a, b])", "(all_different [a b])"),
        ("g[*, 1]", "g[*,1]"),
        ("`big house` = 'red one'", "(= big house red one)"),
        ("x > 1 # the first", "(> x 1)"),
        ("x == 1 ::: said so", "(= x 1)"),
        ("1.25e1 = x", "(= 25/2 x)"),
        ("a | b", "(or a b)"),
        ("x;", "x"),
    ],
)
def test_infix_reads_as(text, tree):
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        (["=>", ["=", "day", "mon"], ["<", "x", 3]], "(=> (= day mon) (< x 3))"),
        ({"op": "and", "args": ["x > 1", ["not", "p"]]}, "(and (> x 1) (not p))"),
        (["all_different", ["x", "y"]], "(all_different [x y])"),
        (["-", "x"], "(neg x)"),
        (["-", "x", "y"], "(sub x y)"),
        (["<=", 0.1, "r"], "(<= 1/10 r)"),
        ({"var": "x"}, "x"),
    ],
)
def test_json_reads_as_the_same_tree(value, tree):
    assert show(build(value)) == tree


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("x >", 4, "ends too early"),
        ("(x + 1", 1, "not closed"),
        ("x + 1)", 6, "closes nothing"),
        ("(x]", 3, "closed by"),
        ("x y", 3, "not expected"),
        ("x = 'red", 5, "not closed"),
        ("3x > 1", 1, "cannot begin with a digit"),
        ("x.y > 1", 2, "attribute"),
        ("x @ 1", 3, "not part of the language"),
        ("if x then y", 12, "else"),
        ("", 0, "empty"),
        ("(" * 300 + "x" + ")" * 300, 201, "deeper"),
        ("not " * 500 + "x", 801, "deeper"),
        ("1e999 = x", 1, "out of bounds"),
        ("x = " + "9" * 2500, 5, "out of bounds"),
        ("x" * 5000, 0, "4096"),
    ],
)
def test_what_does_not_fit_is_told_with_its_column(text, column, words):
    with pytest.raises(ExpressionError, match=words) as error:
        parse(text)
    assert error.value.column == column


def test_long_flat_chains_are_not_deep():
    assert show(parse(" + ".join(["x"] * 900))).count("x") == 900
