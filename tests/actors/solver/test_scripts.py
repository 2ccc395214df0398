"""SMT-LIB: what the allowlist lets through, what it names and refuses, and what scripts answer."""

import pytest

from actors.solver.dsl.faults import ProblemError
from actors.solver.smtlib.allowlist import admit
from actors.solver.smtlib.reader import read

from .asking import ask, faults


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("(declare-const x Int)\n (assrt (> x 1))", ("smt2 line 2", 2), "assrt"),
        ('(set-option :regular-output-channel "/tmp/x")', ("smt2 line 1", 1), "files"),
        ('(set-option :diagnostic-output-channel "stdout")', ("smt2 line 1", 1), "files"),
        ('(set-option :sat.drat.file "x")', ("smt2 line 1", 1), "files"),
        ("(set-option :smt.lemmas2console.log true)", ("smt2 line 1", 1), "files"),
        ("(set-option :timeout 1)", ("smt2 line 1", 1), "set by us"),
        ("(set-option :produce-modles true)", ("smt2 line 1", 1), "not known"),
        ('(include "f")', ("smt2 line 1", 1), "include"),
        ("(check-sat", ("smt2 line 1", 1), "not closed"),
        ("(check-sat))", ("smt2 line 1", 12), "closes nothing"),
        ('(echo "x)', ("smt2 line 1", 7), "not closed"),
        ("check-sat", ("smt2 line 1", 1), "outside"),
        ("((check-sat))", ("smt2 line 1", 1), "begins with a word"),
        ("(assert " + "(not " * 3000 + "true" + ")" * 3001, ("smt2 line 1", 9 + 5 * 1999), "deeper"),
    ],
)
def test_what_is_not_admitted_is_named_with_line_and_column(text, place, words):
    with pytest.raises(ProblemError) as error:
        admit(text)
    first = error.value.defects[0]
    assert (first.where, first.column) == place
    assert words in first.problem


def test_all_objections_are_told_at_once_and_nothing_is_run():
    assert len(faults(smt2='(assrt true)(display x)(set-option :trace_file_name "f")(check-sat)')) == 3


def test_harmless_options_are_left_out_with_a_note():
    said = ask(
        smt2="(set-option :smt.arith.solver 2)(set-option :produce-models true)(set-info :status sat)(check-sat)"
    )
    assert said["result"] == "sat"
    assert any("smt.arith.solver" in note for note in said.outcome.notes)


def test_comments_strings_and_quoted_symbols_hide_brackets():
    commands = read('; (a\n(echo "(") (assert |(|) ("a""b")')
    assert len(commands) == 3


def test_every_check_and_question_is_answered_in_order():
    said = ask(
        smt2='(declare-const x Int)(assert (= x 3))(check-sat)(get-value (x (+ x 1)))(push)(assert (> x 5))(check-sat)(pop)(echo "done")(check-sat)'  # noqa: E501
    )
    assert [one["result"] for one in said["checks"]] == ["sat", "((x 3) ((+ x 1) 4))", "unsat", "done", "sat"]
    assert said["checks"][1]["model"] == {"x": 3, "(+ x 1)": 4}
    assert said["model"] == {"x": 3}


def test_models_are_typed():
    said = ask(
        smt2="(declare-const r Real)(declare-const b Bool)(declare-const |a b| Int)(declare-const v (_ BitVec 8))(declare-fun f (Int) Int)(assert (= r (/ 1 3)))(assert b)(assert (= |a b| (- 4)))(assert (= v #x0f))(assert (= (f 1) 2))"  # noqa: E501
    )
    assert {name: said["model"][name] for name in ("r", "b", "a b", "v")} == {
        "r": "1/3",
        "b": True,
        "a b": -4,
        "v": "#x0f",
    }
    assert said["model"]["f"].startswith("(define-fun f")


def test_a_conflict_names_assertions_by_name_or_line():
    said = ask(
        smt2="(declare-const x Int)\n(assert (! (> x 5) :named big))\n(assert (> x 0))\n(assert (< x 3))\n(check-sat)"
    )
    assert {one["name"] for one in said["conflict"]["members"]} == {"big", "line 4"}
    assert said["conflict"]["smallest"] is True


@pytest.mark.parametrize(
    ("text", "optimum", "objective"),
    [
        ("(declare-const x Int)(assert (< x 9))(maximize x)", "proved", 8),
        ("(declare-const x Int)(assert (> x 9))(maximize x)", "unbounded", None),
        ("(declare-const x Real)(assert (< x 9))(maximize x)", "not_attained", None),
    ],
)
def test_objectives_say_what_they_are(text, optimum, objective):
    said = ask(smt2=text)
    assert said["optimum"] == optimum
    if objective is not None:
        assert said["objective"] == objective


def test_what_z3_refuses_is_told_with_our_line():
    assert faults(smt2="(declare-const x Int)\n\n(assert (> y 1))")[0]["path"] == "smt2 line 3, column 1"


def test_a_script_without_check_gets_one_and_a_note():
    said = ask(smt2="(declare-const x Int)(assert (> x 1))")
    assert said["result"] == "sat"
    assert any("check-sat" in note for note in said.outcome.notes)
