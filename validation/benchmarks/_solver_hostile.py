"""Hostile requests: grammar-aware noise, random bytes, deep nesting, huge numbers, injections, broken SMT-LIB."""
# ruff: noqa: E501 - tables and formulas read best on one line

import random
from collections.abc import Callable
from typing import Any

_TOKENS = [
    "x", "y", "g", "d", "mon", "and", "or", "not", "=>", "<->", "=", "!=", "<", ">=", "+", "-", "*", "/", "div", "mod", "^", "(", ")", "[", "]",
    "{", "}", ",", ":", "..", "in", "forall", "exists", "sum", "count", "all_different", "if", "then", "else", "for", "where", "|", "?", "1", "0",
    "-1", "2.5", "1e400", "99999999999999999999", "true", "g[0]", "g[9]", "g[*]", "'", '"', "`", "#", ":::", "é", "∀", "π", "\u202e", "\x00", ".",
    "element", "regular", "circuit", "inverse", "table", "cumulative", "ite", "abs", "max", "position", "//", "%", "**", "@", "$", "\\", "~", ";",
]  # fmt: skip
_OPTIONS = [
    "regular-output-channel", "diagnostic-output-channel", "sat.drat.file", "trace_file_name", "dot_proof_file", "smtlib2_log", "solver.smtlib2_log",
    "solver.proof.log", "opt.dump_benchmarks", "rlimit", "timeout", "memory_max_size", "proof", "trace", "smt.lemma_gc_strategy", "parallel.enable",
]  # fmt: skip
_COMMANDS = [
    "include",
    "eval",
    "display",
    "help",
    "apply",
    "query",
    "rule",
    "declare-rel",
    "get-proof-graph",
    "simplify",
    "labels",
    "set-simplifier",
]
_INJECTIONS = [
    "__import__('os').system('touch {canary}')", "open('{canary}','w').write('x')", "().__class__.__bases__[0].__subclasses__()",
    "And.__globals__['__builtins__']['open']('{canary}','w')", "[c for c in ().__class__.__mro__]", "exec('1')", "lambda: 1", "x if x else y",
    "`touch {canary}`", "$(touch {canary})", "; touch {canary}", "x := 1", "import socket; socket.create_connection(('127.0.0.1', {port}))",
    "{{7*7}}", "%s%s%n", "../../../../etc/passwd", 'x\n(include "{canary}")', '|x| (echo "y")',
]  # fmt: skip


class Hostile:
    """Makes requests from a seed; `canary` is a path that must stay absent, `port` one that must stay silent."""

    def __init__(self, seed: int, canary: str, port: int, scripts: list[str]) -> None:
        self._random = random.Random(seed)
        self._canary = canary
        self._port = port
        self._scripts = scripts
        self._kinds: list[Callable[[], dict[str, Any]]] = [
            self._soup, self._soup, self._expression, self._bytes, self._deep, self._huge, self._names, self._injected, self._confused,
            self._broken_script, self._broken_script, self._options, self._prefix, self._program, self._wide_script,
        ]  # fmt: skip

    def request(self) -> tuple[str, str, dict[str, Any]]:
        """A kind, an action and its params."""
        make = self._random.choice(self._kinds)
        params = make()
        action = "reason.check" if self._random.random() < 0.15 else "reason.solve"
        if action == "reason.check":
            params["assignment"] = self._random.choice(
                [{"x": 1}, {"x": "1/0"}, {"g": [1, 2]}, {"é": []}, "x=1", {}, {"x": 10**40}]
            )
        return make.__name__.strip("_"), action, params

    def _vars(self) -> dict[str, Any]:
        return {"x": "int 0..9", "y": "int", "g": {"type": "int", "min": 0, "max": 3, "size": [3]}, "d": ["mon", "tue"]}

    def _words(self, most: int) -> str:
        return " ".join(self._random.choices(_TOKENS, k=self._random.randint(1, most)))

    def _soup(self) -> dict[str, Any]:
        return {"vars": self._vars(), "constraints": [self._words(40) for _ in range(self._random.randint(1, 4))]}

    def _expression(self, depth: int = 6) -> dict[str, Any]:
        return {
            "vars": self._vars(),
            "constraints": [self._term(depth)],
            "maximize": self._term(3),
            "options": {"A": self._term(3)},
        }

    def _term(self, depth: int) -> str:
        pick = self._random.choice
        if depth == 0:
            return pick(["x", "y", "g[0]", "d", "mon", "3", "-1", "0", "true", "g", "0.5", "g[y]"])
        left, right = self._term(depth - 1), self._term(depth - 1)
        form = pick(
            [
                "({0} {op} {1})",
                "({0} {op} {1})",
                "not ({0})",
                "forall(i in 0..2: {0} {op} i)",
                "{f}({0}, {1})",
                "{f}([{0}, {1}])",
                "(if {0} then {1} else {0})",
                "abs({0}) ^ 2",
            ]
        )
        op = pick(["and", "or", "=>", "=", "<", "+", "*", "-", "/", "div", "mod", "%", "^", "in"])
        return str(
            form.format(
                left,
                right,
                op=op,
                f=pick(["max", "count", "all_different", "sum", "element", "circuit", "inverse", "lex_less", "nvalue"]),
            )
        )

    def _bytes(self) -> dict[str, Any]:
        text = bytes(self._random.randrange(256) for _ in range(self._random.randint(1, 400))).decode("latin-1")
        return self._random.choice(
            [
                {"smt2": text},
                {"vars": self._vars(), "constraints": text},
                {"program": text},
                {"vars": text, "constraints": [text]},
            ]
        )

    def _deep(self) -> dict[str, Any]:
        depth = self._random.choice([150, 250, 1000, 3000, 20_000])
        opening, closing = self._random.choice(
            [
                ("(", ")"),
                ("[", "]"),
                ("not ", ""),
                ("-", ""),
                ("abs(", ")"),
                ("{", "}"),
                ("if x then ", ""),
                ("g[", "]"),
            ]
        )
        if self._random.random() < 0.4:
            word = self._random.choice(["(not ", "(forall ((z Int)) ", "(let ((z 1)) ", "(+ 1 ", "((", "(! "])
            return {"smt2": "(declare-const x Int)(assert " + word * depth + "true" + ")" * (depth + 1)}
        return {"vars": self._vars(), "constraints": [opening * depth + "x" + closing * depth + " > 1"]}

    def _huge(self) -> dict[str, Any]:
        digits = "9" * self._random.choice([30, 500, 3000, 6000])
        texts = [
            f"y = {digits}",
            f"y * y > {digits}",
            "y = 2^64^64^64",
            f"x = 1e{digits[:6]}",
            f"y div {digits[:100]} = 1",
            "forall(i in 0..99999999: x > i)",
            "sum(i, j, k, l in 0..99: x) > 1",
            f"g[{digits[:50]}] = 1",
            "y = ((((2^60)^60)^60)^60)^60",
        ]
        return {
            "vars": {
                **self._vars(),
                "w": self._random.choice(
                    [
                        "int 0.." + digits[:3000],
                        {"type": "int", "size": [10**6, 10**6]},
                        {"type": "bool", "size": [200, 200]},
                    ]
                ),
            },
            "constraints": [self._random.choice(texts)],
        }

    def _names(self) -> dict[str, Any]:
        name = self._random.choice(
            [
                "x" * 5000,
                "\x00",
                "",
                " ",
                "true",
                "and",
                "é" * 300,
                "\u202e",
                "'; drop",
                "__class__",
                "|",
                "🦊",
                "a.b",
                "if",
                "switch!0",
            ]
        )
        return {"vars": {name: "int 0..3", "x": "int 0..3"}, "constraints": [f"`{name}` > 1", f"{name} = x"]}

    def _injected(self) -> dict[str, Any]:
        text = self._random.choice(_INJECTIONS).replace("{canary}", self._canary).replace("{port}", str(self._port))
        places: list[dict[str, Any]] = [
            {"vars": self._vars(), "constraints": [text]}, {"vars": {text: "int"}, "constraints": ["x > 1"]}, {"vars": {"x": text}, "constraints": ["x > 1"]},
            {"vars": self._vars(), "constraints": ["x > 1"], "maximize": text}, {"smt2": f"(assert {text})"}, {"smt2": text}, {"program": text},
            {"vars": self._vars(), "constraints": [{"name": text, "expr": text, "note": text}], "options": {text: text}}, {"data": {"k": text}, "vars": self._vars(), "constraints": ["x = k"]},
        ]  # fmt: skip
        return self._random.choice(places)

    def _confused(self) -> dict[str, Any]:
        """Values of wrong types in every place."""
        values: list[Any] = [
            None,
            True,
            -1,
            3.5,
            float("nan"),
            "",
            [],
            {},
            [[]],
            {"op": 1},
            {"op": "and", "args": 3},
            ["and"],
            [None],
            {"a": {"b": {}}},
            10**30,
            "x",
            ["=", "x"],
            {"type": []},
            {"size": -1},
        ]
        keys = [
            "vars",
            "constraints",
            "types",
            "data",
            "soft",
            "maximize",
            "minimize",
            "options",
            "solutions",
            "smt2",
            "program",
        ]
        params = {key: self._random.choice(values) for key in self._random.sample(keys, k=self._random.randint(1, 6))}
        return {"vars": self._vars(), "constraints": ["x > 1"], **params}

    def _broken_script(self) -> dict[str, Any]:
        text = list(self._random.choice(self._scripts))
        for _ in range(self._random.randint(1, 8)):
            at = self._random.randrange(len(text)) if text else 0
            change = self._random.randrange(4)
            if change == 0:
                text[at : at + self._random.randint(1, 9)] = []
            elif change == 1:
                text.insert(at, self._random.choice('()|";x 0\n'))
            elif change == 2:
                text[at : at + 1] = text[at : at + 30] * 2
            else:
                text.insert(at, f'(set-option :{self._random.choice(_OPTIONS)} "{self._canary}")')
        return {"smt2": "".join(text)}

    def _options(self) -> dict[str, Any]:
        option = f"(set-option :{self._random.choice(_OPTIONS)} {self._random.choice([chr(34) + self._canary + chr(34), 'true', '1'])})"
        command = f'({self._random.choice(_COMMANDS)} "{self._canary}")'
        parts = [
            option,
            command,
            "(declare-const x Int)",
            "(assert (> x 1))",
            "(check-sat)",
            '(echo "hello")',
            "(reset)",
            "(exit)",
        ]
        self._random.shuffle(parts)
        return {"smt2": "".join(parts[: self._random.randint(2, len(parts))])}

    def _prefix(self, depth: int = 5) -> dict[str, Any]:
        return {"vars": self._vars(), "constraints": [self._tree(depth)]}

    def _tree(self, depth: int) -> Any:
        pick = self._random.choice
        if depth == 0:
            return pick(["x", 1, True, None, "mon", 1.5, [], {}, "x >", "g[0]", -(10**20)])
        head = pick(["and", "not", "=", "<", "+", "*", "forall", "count", "nope", 3, None, "all_different", "^", "=>"])
        items = [self._tree(depth - 1) for _ in range(self._random.randint(0, 3))]
        return [head, *items] if self._random.random() < 0.7 else {"op": head, "args": items}

    def _program(self) -> dict[str, Any]:
        lines = [
            "# Declarations",
            "s = EnumSort([a, b])",
            "f = Function([s] -> [s])",
            "# Constraints",
            f"f(a) == {self._words(4)}",
            "# Options",
            f"is_valid({self._words(6)}) ::: (A)",
            "Domain:",
            "Variables:",
            f"x [IN] [{self._words(4)}]",
            "Constraints:",
            self._words(8),
            "Query:",
            f"A) {self._words(5)}",
        ]
        self._random.shuffle(lines)
        return {"program": "\n".join(lines)}

    def _wide_script(self) -> dict[str, Any]:
        bits = self._random.choice([64, 4096, 100_000, 10**8, 10**12])
        return {
            "smt2": f"(declare-const a (_ BitVec {bits}))(declare-const s String)(assert (= a (bvmul a a)))(assert (> (str.len s) {bits}))(check-sat)"
        }
