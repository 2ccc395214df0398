"""Every function with operands of every shape: a result on which both readings agree, or a named fault."""

import pytest

from actors.solver.encoding.complaints import ARITY
from actors.solver.encoding.functions import FUNCTIONS
from tests.actors.solver.asking import ask, faults

TYPES = {"day": ["mon", "tue", "wed"]}
VARS = {
    "x": "int 0..4",
    "y": "int",
    "g": {"type": "int", "min": 0, "max": 3, "size": [3]},
    "m": {"type": "int", "min": 0, "max": 2, "size": [2, 2]},
    "d": "day",
    "e": {"type": "day", "size": [3]},
    "b": "bool",
    "h": {"type": "bool", "size": [3]},
    "r": "real",
}
SINGLES = ["x", "y", "d", "b", "r", "mon", "0", "1", "-1", "0.5", "true", "g[0]", "e[x]", "m[1,0]", "x > 1", "d = mon"]
LISTS = [
    "g", "m", "e", "h", "[]", "[1, 2]", "[x, y]", "[mon, tue]", "[b, x > 1]", "[[1, 2], [x, 4]]", "[[], []]", "m[0]",
    "[i * 2 | i in 0..2]", "0..2", "{1, 2}", "[g, g]",
]  # fmt: skip
EVERY = sorted(name for name in FUNCTIONS if name.isidentifier())
MOST = 4


def operand(rng, depth=1):
    if depth and rng.random() < 0.25:
        return call(rng, rng.choice(EVERY), depth - 1)
    return rng.choice(LISTS if rng.random() < 0.5 else SINGLES)


def call(rng, name, depth=1):
    fewest, most = ARITY.get(name, (1, MOST))
    count = rng.randint(min(fewest, MOST), min(most, MOST))
    return f"{name}({', '.join(operand(rng, depth) for _ in range(count))})"


@pytest.mark.parametrize("name", EVERY)
def test_a_call_with_any_operands_is_answered_or_refused(rng, name):
    for _ in range(6):
        text = call(rng, name)
        wanted = rng.choice(["{}", "{} = x", "{} >= 1", "not ({})", "{} = g"]).format(text)
        said = ask(types=TYPES, vars=VARS, constraints=[wanted], timeout_s=0.2)
        assert said.failure is None or said.failure.code in {"invalid_params", "too_large"}, wanted
        assert said.get("verified") is not False, wanted


def test_a_value_that_is_first_and_second_at_once_is_not_preceded():
    assert ask(vars={"x": "int 1..2"}, constraints=["value_precede(1, x, [1, 2])"])["model"]["x"] == 2


def test_items_of_a_comprehension_are_counted_by_value_as_those_of_a_list_are():
    for items in ("[i * 2 | i in 0..2]", "[0, 2, 4]"):
        said = ask(vars={"n": "int 0..9"}, constraints=[f"exactly(n, {items}, 2)"])
        assert said["model"]["n"] == 1 and said["verified"]


def test_a_difference_of_one_is_its_negative():
    assert ask(vars={"x": "int 1..4", "y": "int"}, constraints=["x = 3", "y = sub(x)"])["model"]["y"] == -3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("count([g, g], [x, y], h) = 1", "3 lists"),
        ("count([x, y], 1, 2, 3)", "single values"),
        ("-[] = 1", "a list is subtracted"),
        ("[1, 2] - [1, 2] = x", "a list is subtracted"),
        ("value_precede(mon, 0, m[1,0])", "one list and two values"),
        ("regular(g, [[0, 1], [1, 1]], y, [1])", "the start state must be a whole number that is known"),
        ("regular(g, [[x, 1], [1, 1]], 0, [1])", "a next state must be a whole number that is known"),
        ("regular(g, [[0, 1], [1, 1]], 0, [x])", "an accepting state must be a whole number that is known"),
        ("inverse(g, g, 0.5)", "the first index must be a whole number that is known"),
        ("subcircuit(g, r)", "the first index must be a whole number that is known"),
        ("among(g, x) = 1", "where a list is needed"),
        ("value_precede(e, g, mon)", "one list and two values"),
        ("(if x > 1 then 0 else [1, 2]) = 1", "a list and a single value"),
        ("sum(if x > 1 then [] else [1, 2]) = 1", "lists of 0 and 2 items"),
        ("sum([[1], [1, 2]][x]) = 1", "lists of 1 and 2 items"),
    ],
)
def test_operands_that_do_not_go_together_are_named(text, problem):
    assert problem in str(faults(types=TYPES, vars=VARS, constraints=[text]))


@pytest.mark.parametrize("items", ["d, mon", "[d, mon]", "mon, d, Mon", "e[0], d, mon"])
def test_a_member_named_by_itself_is_the_value_that_a_variable_has(items):
    """Both readings count it once."""
    said = ask(types=TYPES, vars=VARS, constraints=[f"nvalue({items}) = 1", "d = mon"])
    assert (said["result"], said["verified"]) == ("sat", True)
