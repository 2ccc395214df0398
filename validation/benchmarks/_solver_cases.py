"""Thirty-seven public complaints about solvers and their wrappers, each with a smallest input of ours.

Numbers and sources are those of the research notes (issues of Z3, CPMpy, MiniZinc, claripy, java-smt, MCP servers …).
"""
# ruff: noqa: E501 - tables and formulas read best on one line

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from protocol.actions.reason import Check, Solve

from ._solver import Reply

NESTED = "(declare-const x Int)(assert (> " + "(+ 1 (* x " * 50 + "x" + "))" * 50 + " 5))"
RECURSIVE = "(define-fun-rec f ((n Int)) Int (ite (<= n 0) 0 (+ 1 (f (- n 1)))))(assert (= (f 1000000) 1000000))"
WIDE = "(declare-const a (_ BitVec 20000))(declare-const b (_ BitVec 20000))(assert (= (bvmul a b) (bvmul b (bvmul a a))))(assert (not (= a b)))"
HUGE = "(declare-const a (_ BitVec 100000000))(assert (= a (bvadd a a)))"
XY: dict[str, Any] = {"x": "int", "y": "int"}
GRACE_MS = 500

Test = Callable[[Reply], bool]


class Case(Struct, frozen=True):
    """One complaint: its number, who complained, the request, and what a right answer is."""

    number: int
    source: str
    request: Solve | Check
    right: Test


def said(reply: Reply) -> str:
    """All that a reply tells, as one text."""
    if reply.failure:
        return f"{reply.failure.message} {[(one.path, one.problem, one.expected) for one in reply.failure.faults]}"
    assert reply.outcome is not None
    return f"{reply.outcome.summary} {reply.outcome.notes} {reply.data}"


def refused(*words: str) -> Test:
    """An error that names these words."""
    return lambda reply: (
        reply.failure is not None and reply.failure.code != "internal" and all(word in said(reply) for word in words)
    )


def gives(result: str, **more: Any) -> Test:
    """A result with these fields."""
    return lambda reply: reply.result == result and all(reply.data.get(name) == value for name, value in more.items())


def ends(timeout_ms: int, *reasons: str) -> Test:
    """Unknown for one of the reasons, at the deadline or before."""
    return lambda reply: (
        reply.result == "unknown" and reply.data["reason"] in reasons and reply.ms <= timeout_ms + GRACE_MS
    )


def members(*names: str) -> Test:
    """Unsat, the conflict exactly these."""
    return lambda reply: (
        reply.result == "unsat" and {one["name"] for one in reply.data["conflict"]["members"]} == set(names)
    )


def _smt(text: str, timeout_ms: int = 5000) -> Solve:
    return Solve(smt2=text, timeout_ms=timeout_ms)


def _infix(constraints: list[Any], variables: dict[str, Any] | None = None, **more: Any) -> Solve:
    return Solve(vars=XY if variables is None else variables, constraints=constraints, **more)


def _model(**values: Any) -> Test:
    return lambda reply: (
        reply.result == "sat" and all(reply.data["model"].get(name) == value for name, value in values.items())
    )


def _nested(depth: int) -> Any:
    term: Any = "x > 1"
    for _ in range(depth):
        term = ["not", term]
    return term


_ITEMS = range(40)
_KNAPSACK = Solve(
    vars={"t": {"type": "bool", "size": [40]}},
    data={f"w{at}": [(37 * at * at + 11 * to * to + 5 * at * to) % 97 + 20 for to in _ITEMS] for at in range(3)}
    | {"v": [(53 * to * to + 29 * to) % 89 + 30 for to in _ITEMS]},
    constraints=[f"sum(i in 0..39: w{at}[i] * t[i]) <= 1100" for at in range(3)],
    maximize="sum(i in 0..39: v[i] * t[i])",
    timeout_ms=1000,
)

CASES: list[Case] = [
    Case(1, "Z3 #7607, #3065: the soft timeout is not looked at", _smt(NESTED, 2000), ends(2000, "timeout")),
    Case(2, "CPMpy #648: the limit does not count what comes before the solve", _smt(RECURSIVE, 2000), ends(2000, "timeout")),
    Case(3, "minizinc-python #142: n solutions take n times the limit", _infix(["true"], dict.fromkeys("xyz", "int 0..50"), solutions="all", timeout_ms=1500), lambda r: r.result == "sat" and r.data.get("complete", False) is False and r.ms <= 1500 + GRACE_MS),
    Case(4, "Z3 #4821, #1128: the optimiser throws when time is out, no best so far", _KNAPSACK, lambda r: r.result == "sat" and r.data["optimum"] in {"best_so_far", "proved"} and r.data["verified"] and r.ms <= 1000 + GRACE_MS),
    Case(8, "halmos #204: memory takes the host down", _smt(WIDE, 4000), ends(4000, "memory", "timeout")),
    Case(9, "Z3 #10250: poisoned after a memory trip", _smt("(declare-const x Int)(assert (> x 1))"), gives("sat")),
    Case(10, "Z3 #7454: a huge bit width ends the process", _smt(HUGE), ends(5000, "memory", "timeout")),
    Case(11, "Z3 #5937: deep terms overflow the stack", _smt("(assert " + "(not " * 40_000 + "true" + ")" * 40_001), refused("nested deeper")),
    Case(12, "Z3 #6498, claripy #162: recursion errors on deep expressions", _infix([_nested(190), "-" * 3000 + "x > 1", "(" * 1000 + "x" + ")" * 1000 + " > 1"]), refused("nested deeper")),
    Case(13, "quicksampler #8: unknown taken for unsat", _infix(["x*x*x + y*y*y = z*z*z", "x > 0", "y > 0", "z > 0"], dict.fromkeys("xyz", "int"), timeout_ms=1000), lambda r: r.result == "unknown" and "unsat" in (r.outcome.next_action or "") if r.outcome else False),
    Case(14, "Z3 #419: a timeout shows as exception or canceled", _smt(RECURSIVE, 1000), ends(1000, "timeout")),
    Case(15, "Z3 #7658: a model that violates a constraint", Check(vars=XY, constraints=["x * y = 12", "x < y"], assignment={"x": 4, "y": 3}), lambda r: r.result == "violated" and [one["name"] for one in r.data["violated"]] == ["c2"]),
    Case(16, "Z3 #640: objectives in text are dropped", _smt("(declare-const x Int)(assert (< x 9))(maximize x)"), lambda r: _model(x=8)(r) and r.data["optimum"] == "proved"),
    Case(17, "Z3 #59: push, pop and several checks are not kept", _smt("(declare-const x Int)(assert (> x 1))(push 1)(assert false)(check-sat)(pop 1)(check-sat)"), lambda r: [one["result"] for one in r.data["checks"]] == ["unsat", "sat"]),
    Case(18, "an unknown command is ignored", _smt("(declare-const x Int)\n  (assrt (> x 1))(check-sat)"), refused("line 2", "column 3", "assert")),
    Case(19, "Z3 #3537: named assertions give empty cores", _smt("(declare-const x Int)(assert (! (> x 5) :named low))(assert (! (< x 3) :named high))(check-sat)"), members("low", "high")),
    Case(20, "Z3 #1761: the core is not minimal", _infix(["x > 9", "x < 3", "x > 0"]), members("c1", "c2")),
    Case(21, "Z3 #2185: spellings of datatypes", _smt("(declare-datatypes ((C 0)) (((r)(g)(b))))(declare-datatypes () ((D p q)))(declare-const c C)(declare-const d D)(assert (not (= c r)))(assert (= d q))"), lambda r: r.result == "sat" and r.data["model"]["d"] == "q" and r.data["model"]["c"] in {"g", "b"}),
    Case(22, "Z3 #1599: enums with the same name or member", _infix(["c = a"], {"c": ["a", "a"]}), refused("twice")),
    Case(23, "Z3 #4956: accents, CJK and blanks in names", _infix(["é < 变量", "`x y` = 3", "é > `x y`"], {"é": "int 0..9", "变量": "int 0..5", "x y": "int"}), _model(**{"é": 4, "变量": 5, "x y": 3})),
    Case(24, "claripy #577: integers of more than 4300 digits", _smt("(declare-const x Int)(assert (= x 1" + "0" * 5000 + "))"), _model(x="1" + "0" * 5000)),
    Case(25, "Z3 #6459: huge powers", _infix(["x = 2 ^ 64", "y = 2 ^ 1000000000"]), refused("exponent", "64")),
    Case(26, "java-smt #496: the square root of two crashes the wrapper", _infix(["x * x = 2", "x > 0"], {"x": "real"}), lambda r: _model(x="≈1.414213562373")(r) and r.data["verified"] is True),
    Case(27, "Z3 #7325: division by zero is any value", _infix(["x / (y - 1) = 4", "y = 1"]), lambda r: r.result == "unsat" and "not 0" in said(r)),
    Case(28, "CPMpy #610: division of negatives differs", Solve(vars=dict.fromkeys("abcdefgh", "int"), constraints=["a = -7 div 2", "b = -7 mod 2", "c = 7 div -2", "d = 7 mod -2", "e = -7 // 2", "f = -7 % 2", "g = 7 // -2", "h = 7 % -2"]), _model(a=-4, b=1, c=-3, d=1, e=-4, f=1, g=-4, h=-1)),
    Case(29, "Z3 #1063: int and real coerced in silence", _infix(["r = 1 / 2", "s = 0.1 + 0.2"], {"r": "real", "s": "real"}), lambda r: _model(r=0.5, s=0.3)(r) and "exact division" in said(r)),
    Case(30, "CPMpy #158: one name declared twice", Solve(vars=[{"name": "a", "type": "bool"}, {"name": "a", "type": "int"}], constraints=["a = 1"]), refused("twice")),
    Case(31, "Z3 #1072: long answers end in dots", Solve(vars={"g": {"type": "int", "min": 0, "max": 400, "size": [300]}}, constraints=["forall(i in 0..299: g[i] = i)"]), _model(g=list(range(300)))),
    Case(32, "Z3 #6265: optima that are not attained", _infix(["x < 1", "x > 0"], {"x": "real"}, maximize="x"), gives("sat", optimum="not_attained", objective=1)),
    Case(34, "discopt #423, xinference #4612: model text is evaluated", _infix(["And.__globals__['__builtins__']['__import__']('os').getpid() > 0", "().__class__.__base__.__subclasses__()", "x = 9**9**9"]), refused("3 faults", "exponent")),
    Case(35, "fastmcp #932: clients send arrays as text", Solve(vars='{"x": "int 1..5"}', constraints='["x > 3", "x != 5"]'), lambda r: _model(x=4)(r) and "decoded" in said(r)),
    Case(36, "mcp-solver #11: solved, yet no solution was exported", _infix(["x = y + 1", "y = 2"]), lambda r: _model(x=3, y=2)(r) and r.data["unique"] is True),
]  # fmt: skip
"""5, 6, 7, 33 and 37 are about processes; they are played in `solver_faults`."""
