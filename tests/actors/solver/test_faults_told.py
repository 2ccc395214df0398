"""Bad input: every fault in one pass, with place, problem, fix, and never an internal error."""

import pytest

from .asking import ask, faults

VARS = {
    "x": "int 1..5",
    "day": ["mon", "tue", "wed"],
    "g": {"type": "int", "min": 0, "max": 3, "size": [3]},
    "f": "(0..1) -> bool",
}


def test_all_faults_are_told_at_once_with_near_matches():
    found = faults(
        vars=VARS,
        constraints=["x >", "day = tuesday", {"name": "mine", "expr": "y + z = 1"}, "x > 1", "al_different(g)"],
        maximize="q",
    )
    assert {one["path"] for one in found} >= {
        "constraints[0] (c1), column 4",
        "constraints[1] (c2), column 7",
        "constraints[2] (mine), column 1",
        "constraints[2] (mine), column 5",
        "constraints[4] (c5), column 1",
        "maximize, column 1",
    }
    by_problem = {one["problem"]: one["expected"] for one in found}
    assert "did you mean tue" in by_problem["'tuesday' is not declared"]
    assert '"y": "int 1..5"' in by_problem["'y' is not declared"]
    assert "all_different" in by_problem["the function 'al_different' does not exist"]
    assert all(one["expected"] for one in found if "declared" in one["problem"])


def test_what_is_wrong_in_the_same_way_everywhere_is_told_once_with_every_place():
    """A model with a small context reads each name, fix and kind of fault once, and what to declare in one go."""
    rules = ["all_different(ann, bob, fay)", "ann < bob", "bob < fay", "fay > ann"]
    said = ask(vars={"fay": "int 1..6"}, constraints=rules)
    found = said.failure.faults
    assert [one.problem for one in found] == ["'ann' is not declared", "'bob' is not declared"]
    assert found[0].path == "constraints[0] (c1), column 15"
    assert found[0].also == ("constraints[1] (c2), column 1", "constraints[3] (c4), column 7")
    assert said.failure.details == {"count": 6}
    assert said.failure.next_action.startswith('Add to vars: "ann": "int 1..6", "bob": "int 1..6";')


def test_names_that_are_near_to_others_are_not_told_to_be_declared():
    """Where a value of an enum or a slip is likelier, the fix says so, and no line to add stands before it."""
    said = ask(vars={"day": ["mon", "tue"], "x": "int 1..3"}, constraints=["day = tues", "day = mond"])
    assert said.failure.next_action.startswith("Did you mean tue?")


def test_sentences_are_told_to_be_sentences():
    rules = ["Dan did not finish in place 2.", "Eva finished before Ann.", "Eva finished exactly 1 place after Dan."]
    (found,) = faults(vars={"dan": "int 1..3", "eva": "int 1..3"}, constraints=rules)
    assert "sentence" in found["problem"]
    assert "ann < bob" in found["expected"]
    assert found["text"] == rules[0]
    assert len(found["also"]) == 2
    (other,) = faults(vars={"x": "int 1..3"}, constraints=["x y < 3"])
    assert "operator" in other["expected"]


def test_the_same_advice_is_given_once():
    found = faults(vars={"ann": "2", "bob": "1"}, constraints=["ann < bob"])
    assert [bool(one.get("expected")) for one in found] == [True, False]
    assert [one["example"] for one in found] == ['"ann": "int 1..5"', '"bob": "int 1..5"']


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("x", "truth value"),
        ("x => 3", "truth value"),
        ("day = 3", "compared"),
        ("day + day = x", "added"),
        ("day = g[0]", "compared"),
        ("g = 3", "list"),
        ("g < g", "no order"),
        ("g[7] = 1", "outside"),
        ("g[0, 1] = 1", "takes 1 indexes"),
        ("x[0] = 1", "cannot be indexed"),
        ("f(0, 1)", "takes 1 arguments"),
        ("x(1) = 2", "plain variable"),
        ("x / 0 = 1", "division by 0"),
        ("x ^ y = 1", "not declared"),
        ("2 ^ x = 4", "exponent"),
        ("x ^ 65 = 4", "exponent"),
        ("abs(x, x) = 1", "takes 1 arguments"),
        ("forall(i in 1..x: i > 0)", "constants"),
        ("forall(i in x + 1: i > 0)", "no set"),
        ("all_different(g[i] for i in 0..2 if x > i)", "depends on variables"),
        ("table([x, x], [[1, 2, 3]])", "row has 3 values"),
        ("no_overlap(g, [1, 2])", "stand together"),
        ("div(1.5, x) = 1", "whole numbers"),
        ("sum(i, j, k in 0..50: x) > 1", "more than 100000 terms"),
        ("x in 1..10000000", ""),
        ("forall(i in 1..10000000: x < i)", "more than"),
        ("__import__('os').system('true')", "attribute"),
        ("open('f', 'w')", "does not exist"),
        ("max() = 1", "at least one item"),
    ],
)
def test_a_fault_names_what_is_wrong(constraint, words):
    said = ask(vars=VARS, constraints=[constraint])
    if not words:
        assert said["result"] == "sat"
        return
    assert said.failure is not None
    assert said.failure.code == "invalid_params"
    assert any(words in one.problem for one in said.failure.faults), said.failure.faults
    assert said.failure.next_action


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"vars": {"x": "int"}, "constraints": [None]},
        {"vars": {"x": "int"}, "constraints": [{"note": "nothing"}]},
        {"vars": {"x": "int"}, "constraints": ["x > 1"], "soft": [{"expr": "x > 1", "weight": -1}]},
        {"vars": {"x": "int"}, "constraints": ["x > 1"], "solutions": "many"},
        {"vars": {"x": "int"}, "constraints": ["x > 1"], "maximize": "x", "minimize": "x"},
        {"vars": {"x": "int"}, "constraints": ["x > 1"], "smt2": "(check-sat)"},
        {"vars": [{"name": "x"}, {"name": "x"}], "constraints": ["x > 1"]},
        {"vars": [3], "constraints": ["true"]},
        {"vars": {"x": "int"}, "constraints": [["not", ["not"]]]},
        {"types": [], "vars": {"x": "int"}, "constraints": ["x > 1"], "data": 3},
    ],
)
def test_requests_of_the_wrong_shape_are_refused_with_a_fix(params):
    said = ask(**params)
    assert said.failure is not None
    assert said.failure.code == "invalid_params"
    assert said.failure.faults


def test_the_same_name_means_variable_first_and_member_when_quoted():
    said = ask(vars={"red": "bool", "color": ["red", "blue"]}, constraints=["red", "color = 'red'"])
    assert said["model"] == {"red": True, "color": "red"}


def test_members_of_two_enums_are_told_apart_by_what_they_are_compared_with():
    said = ask(vars={"a": ["red", "blue"], "b": ["blue", "green", "red"]}, constraints=["a = blue", "b < green"])
    assert said["model"] == {"a": "blue", "b": "blue"}
    assert (
        "different enums"
        in faults(vars={"a": ["red", "blue"], "b": ["blue", "green"]}, constraints=["a = b"])[0]["problem"]
    )
