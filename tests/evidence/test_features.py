"""Features are read off any params, cheaply, and never raise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.features import Features, extract, tokens_in

DSL = {
    "vars": {"x": "int 1..5", "b": "bool", "day": ["mon", "tue"], "g": {"type": "int", "size": [3, 3]}},
    "constraints": [
        "x + 2*g[0,1] <= 7",
        {"name": "c2", "expr": "all_different(g)"},
        ["=>", ["=", "day", "mon"], ["<", "x", 3]],
        "b",
    ],
}


def test_variables_and_atoms_of_the_dsl_are_counted_elements_of_arrays_each():
    assert extract("reason.solve", DSL) == Features(goal="solve", n_vars=12, n_atoms=5)


def test_an_implication_is_no_atom_of_its_own():
    assert extract("reason.solve", {"constraints": ["x > 1 => y < 2"]}).n_atoms == 2
    assert extract("reason.solve", {"constraints": ["x > 1 -> y != 2"]}).n_atoms == 2


def test_smt_lib_is_counted_by_declarations_and_relations():
    text = "(declare-const x Int)(declare-fun y () Int)(declare-fun f (Int) Int)(assert (and (< x y) (= (f x) 3)))"
    assert extract("reason.solve", {"smt2": text}) == Features(goal="solve", n_vars=2, n_atoms=2)
    assert extract("reason.solve", {"smt2": text + "(maximize x)"}).goal == "optimize"


def test_a_logic_program_is_counted_by_its_domains_and_conditions():
    head = "Domain:\n1: first\nVariables:\na [IN] [1, 2]\nb [IN] [1, 2]\n"
    program = head + "Constraints:\na < b ::: a before b\nQuery:\nA) a == 1"
    assert extract("reason.solve", {"program": program}) == Features(goal="options", n_vars=2, n_atoms=2)


@pytest.mark.parametrize(
    ("action", "params", "goal"),
    [
        ("reason.solve", {"maximize": "x"}, "optimize"),
        ("reason.solve", {"soft": ["x"]}, "optimize"),
        ("reason.solve", {"options": {"A": "x"}}, "options"),
        ("reason.solve", {"solutions": "all"}, "enumerate"),
        ("reason.check", {}, "check"),
        ("memory.recall", {}, "recall"),
        ("memory.update", {}, "learn"),
        ("memory.restore", {}, ""),
    ],
)
def test_the_goal_follows_from_the_action_and_what_is_asked_of_it(action, params, goal):
    assert extract(action, params).goal == goal


def test_facts_exceed_the_context_when_three_quarters_of_it_do_not_hold_them():
    assert extract("memory.recall", {}, context=8_000, facts_tokens=6_001).facts_exceed_ctx is True
    assert extract("memory.recall", {}, context=8_000, facts_tokens=6_000).facts_exceed_ctx is False


def test_without_a_context_or_facts_nothing_is_claimed():
    assert extract("memory.recall", {}, facts_tokens=10**6).facts_exceed_ctx is None
    assert extract("memory.recall", {}, context=8_000).facts_exceed_ctx is None


def test_features_told_by_the_client_win_over_those_extracted():
    told = {**DSL, "n_vars": 4, "n_atoms": 2, "goal": "options", "facts_exceed_ctx": True}
    assert extract("reason.solve", told) == Features(goal="options", n_vars=4, n_atoms=2, facts_exceed_ctx=True)


def test_long_lists_are_told_from_their_first_items():
    facts = [["subject", "relation", "object"]] * 10_000
    assert tokens_in(facts) == 10_000 * 6


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_names = st.sampled_from(
    ["vars", "constraints", "smt2", "program", "goal", "n_vars", "n_atoms", "facts_exceed_ctx", "context", "solutions"]
)


@settings(deadline=None)
@given(st.dictionaries(_names, _json), st.sampled_from(["reason.solve", "reason.check", "memory.recall", "x.y"]))
def test_no_params_make_the_extractor_raise(params, action):
    found = extract(action, params)
    assert found.n_vars >= 0
    assert found.n_atoms >= 0
    assert tokens_in(params) >= 0


def test_hostile_nesting_ends():
    nested: list = ["<", "x", 1]
    for _ in range(100_000):
        nested = ["and", nested]
    assert extract("reason.solve", {"constraints": [nested]}).n_atoms >= 0
