"""What solve answers: model, uniqueness, options, optimum, wishes, enumeration, conflict, and the second opinion."""

import pytest

from actors.solver import solve
from actors.solver.clock import Budget
from actors.solver.search import remedy
from actors.solver.search.engine import Engine
from protocol.actions.reason import ACTIONS

from .asking import ask

ORDER = {"a": "int 1..3", "b": "int 1..3", "c": "int 1..3"}


@pytest.mark.parametrize("example", [ACTIONS[0].example, *ACTIONS[0].examples])
def test_the_worked_examples_of_the_schema_are_solved_and_verified(example):
    said = ask(**example)
    assert said["result"] == "sat"
    assert said["verified"] is True


def test_the_only_solution_is_called_so_and_another_one_is_shown_when_there_is_one():
    only = ask(vars=ORDER, constraints=["a < b", "b < c"])
    assert (only["model"], only["unique"]) == ({"a": 1, "b": 2, "c": 3}, True)
    more = ask(vars=ORDER, constraints=["all_different(a, b, c)"])
    assert more["unique"] is False
    assert more["second"] != more["model"]


def test_options_must_may_or_cannot_hold():
    said = ask(
        vars=ORDER,
        constraints=["all_different(a, b, c)", "a < b", "c != 3"],
        options={"A": "b = 3", "B": "a = 1", "C": "c = 3"},
    )
    assert {one["label"]: one["verdict"] for one in said["options"]} == {"A": "must", "B": "may", "C": "cannot"}
    assert said["answer"] == ["A"]


@pytest.mark.parametrize(
    ("constraints", "goal", "optimum", "objective"),
    [
        (["x >= 3", "x <= 1000000"], {"maximize": "2 * x"}, "proved", 2_000_000),
        (["x >= 3"], {"minimize": "x"}, "proved", 3),
        (["x > 3"], {"maximize": "x"}, "unbounded", None),
        (["r < 1"], {"maximize": "r"}, "not_attained", 1),
        (["r <= 1/3"], {"maximize": "r"}, "proved", "1/3"),
        (["x in 0..5", "x != 5"], {"maximize": "if x = 4 then 10 else x"}, "proved", 10),
    ],
)
def test_an_optimum_is_what_it_is_called(constraints, goal, optimum, objective):
    said = ask(vars={"x": "int", "r": "real"}, constraints=constraints, **goal)
    assert (said["optimum"], said.get("objective")) == (optimum, objective)
    assert said["verified"] is True


def test_wishes_are_granted_by_weight_after_the_objective():
    said = ask(
        vars={"x": "int 0..9"},
        constraints=["x != 5"],
        soft=[{"expr": "x < 3", "weight": 3}, {"expr": "x > 6", "weight": 1}, "x = 2"],
    )
    assert said["model"] == {"x": 2}
    assert [one["granted"] for one in said["soft"]] == [True, False, True]
    said = ask(vars={"x": "int 0..9"}, constraints=["x != 5"], maximize="x", soft=["x < 3"])
    assert said["model"] == {"x": 9}


def test_all_solutions_are_listed_once_and_counted():
    said = ask(vars={"x": "int 1..4", "p": "bool"}, constraints=["x < 3 or p"], solutions="all")
    assert len({tuple(one.items()) for one in said["solutions"]}) == len(said["solutions"]) == 6
    assert said["complete"] is True
    some = ask(vars={"x": "int 1..4"}, constraints=["true"], solutions=2)
    assert len(some["solutions"]) == 2
    assert some["complete"] is False


def test_a_conflict_is_the_smallest_and_tells_which_removal_helps():
    constraints = [
        {"name": "low", "expr": "x < 3", "note": "x is small"},
        {"name": "chain1", "expr": "x > y"},
        {"name": "chain2", "expr": "y > 4"},
        {"name": "high", "expr": "x > 7", "note": "x is large"},
        {"name": "free", "expr": "z = 1"},
    ]
    said = ask(vars={"x": "int 0..9", "y": "int 0..9", "z": "int 0..9"}, constraints=constraints)
    members = said["conflict"]["members"]
    assert {one["name"] for one in members} == {"low", "high"}
    assert said["conflict"]["smallest"] is True
    assert {one["name"]: one["dropping_it_helps"] for one in members} == {"low": True, "high": False}
    assert members[0]["note"] == "x is small"
    assert "low" in said.outcome.next_action


def test_ranges_that_leave_nothing_are_named_as_the_cause():
    said = ask(vars={"x": "int 1..3"}, constraints=["x > 3"])
    assert [one["name"] for one in said["conflict"]["members"]] == ["c1"]


def test_a_false_model_is_found_out(monkeypatch):
    true_values = Engine.values

    def false_values(self, model):
        values = true_values(self, model)
        return {name: dict.fromkeys(cells, 9) for name, cells in values.items()}

    monkeypatch.setattr(Engine, "values", false_values)
    said = ask(vars={"x": "int 0..9"}, constraints=["x < 5"])
    assert said["verified"] is False
    assert said.outcome.severity == "ERROR"
    assert any("c1" in note for note in said.outcome.notes)


def test_unknown_is_not_unsat():
    said = ask(
        vars={"x": "int", "y": "int", "z": "int"},
        constraints=["x*x*x + y*y*y = z*z*z", "x > 0", "y > 0", "z > 0"],
        timeout_s=0.5,
    )
    assert said["result"] == "unknown"
    assert said["reason"] == "timeout"
    assert "not unsat" in said.outcome.next_action
    assert said.outcome.partial


def test_values_are_exact():
    said = ask(
        vars={"r": "real", "s": "real", "t": "real", "b": "int"},
        constraints=["r = 0.1 + 0.2", "3 * s = 1", "t * t = 2", "t > 0", "b = 2^64 * 10"],
    )
    assert said["model"] == {"r": 0.3, "s": "1/3", "t": "≈1.414213562373", "b": "184467440737095516160"}
    assert said["verified"] is True


def test_ordered_enums_compare_move_and_measure():
    said = ask(
        types={"Day": ["mon", "tue", "wed", "thu"]},
        vars={"a": "Day", "b": "Day", "c": "Day"},
        constraints=["a < b", "b + 1 = c", "abs(a - c) = 3"],
    )
    assert said["model"] == {"a": "mon", "b": "wed", "c": "thu"}
    assert said["unique"] is True


def test_functions_over_enums_answer_as_objects():
    said = ask(
        types={"P": ["ann", "bob"]},
        vars={"age": "P -> int 1..9", "knows": "(P, P) -> bool"},
        constraints=["age(ann) = 2 * age(bob)", "age(bob) > 3", "forall(p, q in P: knows(p, q) <-> p != q)"],
    )
    assert said["model"] == {
        "age": {"ann": 8, "bob": 4},
        "knows": {"ann": {"ann": False, "bob": True}, "bob": {"ann": True, "bob": False}},
    }


def test_readings_and_repairs_are_noted():
    said = ask(vars='{"x": "int 1..9", "y": "int 0..9"}', constraints='["x / y = 2", "y < 2"]')
    notes = " ".join(said.outcome.notes)
    assert "decoded" in notes
    assert "not 0" in notes
    assert "exact division" in notes


def test_the_encoding_can_be_had():
    assert "(declare-fun x () Int)" in ask(vars={"x": "int 1..9"}, constraints=["x > 3"], show_smt2=True)["smt2"]


def test_text_of_several_lines_is_several_constraints():
    assert ask(vars="x: int 1..9\ny in 1..9", constraints="x > 7; y > 8\n# nothing\nx != 8 ::: not eight")["model"] == {
        "x": 9,
        "y": 9,
    }


@pytest.mark.parametrize(
    ("variables", "constraints", "guilty", "ranges"),
    [
        (dict.fromkeys("abcd", "int 1..3"), ["all_different(a, b, c, d)", "a < b"], "c1", {"int 1..3": [*"abcd"]}),
        ({"a": "int 1..3", "b": "int 0..9"}, ["b > a", "a = 4"], "c2", {"int 1..3": ["a"]}),
        ({"a": "int 1..3", "b": "int 7..9"}, ["a = b"], "c1", {"int 1..3": ["a"], "int 7..9": ["b"]}),
        ({"a": "int 1..3"}, ["a < a"], "c1", {}),
        ({"a": "int 1..3"}, ["a = 1", "a = 2"], None, {}),
        ({"a": ["red", "blue"], "b": "bool"}, ["a != red and a != blue or b and not b"], "c1", {"{red, blue}": ["a"]}),
    ],
)
def test_a_constraint_that_only_the_ranges_rule_out_is_told_with_them(variables, constraints, guilty, ranges):
    """A model that declared too few values reads which ones, instead of being told to drop a true rule."""
    said = ask(vars=variables, constraints=constraints)
    assert said["result"] == "unsat"
    assert said["conflict"].get("ranges", {}) == ranges
    if ranges:
        assert [one["name"] for one in said["conflict"]["members"]] == [guilty]
        assert said["conflict"]["with_domains"] is True
        assert said.outcome.next_action.startswith(("Declare int ", "Widen these ranges in vars ("))
    else:
        assert "Declare" not in said.outcome.next_action


@pytest.mark.parametrize(
    ("variables", "constraints", "ranges", "model"),
    [
        (dict.fromkeys("abcde", "int 1..3"), ["all_different(a, b, c, d, e)"], {"int 1..5": [*"abcde"]}, ...),
        (dict.fromkeys("abcd", "int 1..3"), ["a < b", "b < c", "c < d"], {"int 1..4": [*"abcd"]}, [1, 2, 3, 4]),
        ({"a": "int 1..3", "n": "int"}, ["a < 1", "n = a"], {"int 0..3": ["a"]}, [0, 0]),
        ({"a": "int 1..3", "b": "int 7..9"}, ["a = b"], {"int 1..7": ["a"], "int 7..13": ["b"]}, [7, 7]),
        ({"a": "int 3..5", "b": "int 3..5"}, ["a - b = 9"], {"int 3..12": ["a", "b"]}, [12, 3]),
        ({"a": "int 3..5"}, ["a = -1 or a = 99"], {"int -1..5": ["a"]}, ...),
        ({"a": "int 1..3"}, ["a > 500"], {"int 1..501": ["a"]}, [501]),
        ({"a": "int 1..3"}, ["a > 5000"], None, None),
    ],
)
def test_the_smallest_ranges_that_are_wide_enough_are_told_with_what_then_holds(variables, constraints, ranges, model):
    """Up or down, where fewer values are enough, else both; nothing when no width helps."""
    said = ask(vars=variables, constraints=constraints)
    assert said["result"] == "unsat"
    told = [one for one in said["conflict"].get("remedies", []) if "ranges" in one]
    assert [one["ranges"] for one in told] == ([] if ranges is None else [ranges])
    if ranges is None:
        return
    (remedy,) = told
    if model is not ...:
        assert (list(remedy["model"].values()), remedy["unique"]) == (model, True)
    wider = {**variables, **{name: kind for kind, names in ranges.items() for name in names}}
    again = ask(vars=wider, constraints=constraints)
    assert (again["result"], again["model"], again["unique"]) == ("sat", remedy["model"], remedy["unique"])
    assert all(f"{kind} for {', '.join(names)}" in said.outcome.next_action for kind, names in ranges.items())


def test_ranges_that_solve_one_of_two_conflicts_are_told_without_a_solution():
    said = ask(vars=dict.fromkeys("abcd", "int 1..3"), constraints=["all_different(a, b, c, d)", "a < b", "b < a"])
    (member, *others) = said["conflict"]["members"]
    if others:  # the other conflict is as small as this one, and may be the one that is told
        assert {"c2", "c3"} >= {name for one in said["conflict"]["remedies"] for name in one.get("without", [])}
        return
    assert member["name"] == "c1"
    assert said["conflict"]["remedies"] == [{"ranges": {"int 1..4": [*"abcd"]}}]
    assert said.outcome.next_action == "Declare int 1..4 for a, b, c, d in vars and solve again."


def test_what_holds_without_each_of_the_constraints_in_conflict_is_told():
    """The rule that a model wrote by mistake is seen by what follows without it."""
    rules = ["all_different(a, b, c)", "a < b", {"name": "second", "expr": "b < a"}, "c = a + 1"]
    said = ask(vars=dict.fromkeys("abc", "int 1..3"), constraints=rules)
    assert said["conflict"]["remedies"] == [
        {"without": ["c2"], "model": {"a": 2, "b": 1, "c": 3}, "unique": True},
        {"without": ["second"], "model": {"a": 1, "b": 3, "c": 2}, "unique": True},
    ]
    assert "Without c2 (a < b): a=2, b=1, c=3; the only solution." in said.outcome.next_action
    assert "Without second (b < a): a=1, b=3, c=2; the only solution." in said.outcome.next_action


def test_where_no_single_constraint_helps_two_are_left_out():
    """Of two conflicts each costs one; what is told holds without both, and nothing is told twice."""
    rules = ["a < b", "b < a", "c < d", "d < c", "all_different(a, b, c, d)"]
    said = ask(vars=dict.fromkeys("abcd", "int 1..4"), constraints=rules)
    pairs = [set(one["without"]) for one in said["conflict"]["remedies"]]
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == 3
    assert all(len(pair & {"c1", "c2"}) == len(pair & {"c3", "c4"}) == 1 for pair in pairs)
    for one in said["conflict"]["remedies"]:
        left = [rule for at, rule in enumerate(rules, 1) if f"c{at}" not in one["without"]]
        again = ask(vars=dict.fromkeys("abcd", "int 1..4"), constraints=left)
        assert (again["result"], again["unique"]) == ("sat", one["unique"])
    assert said.outcome.next_action.startswith("Leave out what was not meant. Without c")


def test_no_remedy_is_looked_for_once_the_time_for_explaining_is_over(monkeypatch):
    """Reading a large problem anew takes time that no solver's timeout bounds."""
    encoded = []
    monkeypatch.setattr(remedy, "encode", encoded.append)
    monkeypatch.setattr(solve, "remedies", lambda problem, conflict, _: remedy.remedies(problem, conflict, Budget(0.0)))
    said = ask(vars=dict.fromkeys("abc", "int 1..2"), constraints=["all_different(a, b, c)"])
    assert said["conflict"]["ranges"]
    assert "remedies" not in said["conflict"]
    assert not encoded
    assert said.outcome.next_action == "Widen these ranges in vars (a, b, c: int 1..2), or leave out c1."
    said = ask(vars=dict.fromkeys("abc", "int 1..2"), constraints=["a < b", "b < c"])
    assert said.outcome.next_action == "Leave out one of these and the rest is satisfiable: c1, c2."


def test_three_conflicts_are_met_one_after_the_other():
    """No two constraints help, so none are named."""
    rules = [f"{one} < {other}" for pair in ("ab", "cd", "ef") for one, other in (pair, pair[::-1])]
    said = ask(vars=dict.fromkeys("abcdef", "int 1..4"), constraints=rules)
    assert "remedies" not in said["conflict"]
    assert said.outcome.next_action.startswith("No single one of these helps")


def test_a_remedy_of_a_problem_with_a_goal_names_the_change_alone():
    """What is best then is for the next solve to find."""
    said = ask(vars=dict.fromkeys("abc", "int 1..2"), constraints=["all_different(a, b, c)"], maximize="a")
    assert said["conflict"]["remedies"] == [{"ranges": {"int 1..3": [*"abc"]}}]
    said = ask(vars={"a": "int 1..2"}, constraints=["a = 1", "a = 2"], options={"A": "a = 1"})
    assert said["conflict"]["remedies"] == [{"without": ["c1"]}, {"without": ["c2"]}]
    assert "Without c1 (a = 1): satisfiable." in said.outcome.next_action


def test_the_ranges_told_are_those_of_the_constraint_in_conflict_though_another_has_its_name():
    rules = [{"name": "r", "expr": "a < a"}, {"name": "r", "expr": "b = 9"}]
    (first, second) = (
        ask(vars={"a": "int 1..3", "b": "int 1..2"}, constraints=[*rules[1:], *rest]) for rest in ([], rules[:1])
    )
    assert first["conflict"]["ranges"] == {"int 1..2": ["b"]}
    (member,) = second["conflict"]["members"]
    assert second["conflict"].get("ranges", {}) == ({} if member["text"] == "a < a" else {"int 1..2": ["b"]})


@pytest.mark.parametrize("declared", ["2", "int 2", 2])
def test_a_value_in_place_of_a_range_is_told_to_be_a_constraint(declared):
    said = ask(vars={"ann": declared, "bob": "int 1..3"}, constraints=["ann < bob"])
    assert said.failure is not None
    assert "a value that is known is a constraint" in said.failure.next_action
