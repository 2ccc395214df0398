"""Nested operations: each part is encoded once, so that work grows with the length of what was written."""

import pytest

from actors.solver.dsl.problem import read
from actors.solver.encoding.encoder import Encoder

NUMBERS = [
    "1 - {}",
    "{} - 1",
    "1 + {}",
    "2 * {}",
    "min(3, {})",
    "max({}, 0)",
    "abs({})",
    "-({})",
    "if(b, 1, {})",
    "{} mod 7",
]
TRUTHS = ["b and ({})", "b or ({})", "not ({})", "b xor ({})", "b => ({})", "({}) <=> b", "if(b, b, ({}))"]


def encoded(form: str, seed: str, depth: int, monkeypatch) -> int:
    """How often anything was encoded."""
    text = seed
    for _ in range(depth):
        text = form.format(f"({text})")
    truth = text if seed == "b" else f"{text} = 1"
    problem = read({"vars": {"x": "int 0..3", "b": "bool"}, "constraints": [truth]})
    calls = 0

    def counting(real):
        def counted(self, *args):
            nonlocal calls
            calls += 1
            return real(self, *args)

        return counted

    with monkeypatch.context() as patch:
        for name in ("value", "truth"):
            patch.setattr(Encoder, name, counting(getattr(Encoder, name)))
        Encoder(problem.declarations).constraint(problem.constraints[0].node)
    return calls


@pytest.mark.parametrize(("form", "seed"), [*((form, "x") for form in NUMBERS), *((form, "b") for form in TRUTHS)])
def test_twice_as_deep_is_about_twice_the_work(form, seed, monkeypatch):
    shallow, deep = (encoded(form, seed, depth, monkeypatch) for depth in (8, 16))
    assert shallow >= 8 and deep <= 3 * shallow
