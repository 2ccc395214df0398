"""What check answers: holds, violated, incomplete; and what it does with bad assignments."""

from .asking import ask, faults

PROBLEM = {
    "vars": {
        "x": "int 1..9",
        "y": "int 1..9",
        "day": ["mon", "tue"],
        "g": {"type": "int", "min": 0, "max": 1, "size": [2]},
    },
    "constraints": [
        {"name": "total", "expr": "x + y = 9", "note": "together nine"},
        "x < y",
        "g[0] != g[1] or day = tue",
    ],
}
WHOLE = {"x": 4, "y": 5, "day": "mon", "g": [0, 1]}


def check(assignment, **more):
    return ask("reason.check", **{**PROBLEM, **more}, assignment=assignment)


def test_a_whole_assignment_holds_or_names_what_it_violates():
    assert check(WHOLE)["result"] == "holds"
    said = check({**WHOLE, "x": 6})
    assert said["result"] == "violated"
    assert [(one["name"], one.get("note", "")) for one in said["violated"]] == [("total", "together nine"), ("c2", "")]


def test_a_value_outside_of_its_range_is_a_violation_of_the_range():
    said = check({**WHOLE, "x": 0, "y": 9})
    assert said["violated"][0]["text"] == "x: int 1..9"


def test_a_partial_assignment_is_completed_when_it_can_be():
    said = check({"x": 4})
    assert said["result"] == "incomplete"
    assert said["completable"] is True
    assert said["completion"]["y"] == 5
    assert said["unassigned"] == ["y", "day", "g"]
    said = check({"x": 6})
    assert (said["result"], said["completable"]) == ("violated", False)
    assert {one["name"] for one in said["violated"]} == {"total", "c2"}


def test_single_cells_and_text_are_accepted():
    assert check({"x": "4", "y": 5.0, "day": "MON", "g[0]": 1, "g[1]": 0})["result"] == "holds"
    assert check("x = 4, y = 5, day = mon, g[0] = 0, g[1] = 1")["result"] == "holds"
    assert check('{"x": 4, "y": 5, "day": "mon", "g": [0, 1]}')["result"] == "holds"
    assert check({"x": 4, "y": 5, "day": "mon", "g": [0, None]})["unassigned"] == ["g[1]"]


def test_faulty_values_are_told_all_at_once():
    found = faults(action="reason.check", **PROBLEM, assignment={"x": "red", "yy": 1, "day": "mont", "g": [1]})
    assert [one["path"] for one in found] == ["assignment.x", "assignment.yy", "assignment.day", "assignment.g"]
    assert "did you mean" in found[2]["expected"]


def test_values_are_checked_against_assertions_of_a_script():
    script = "(declare-const x Int)(declare-const y Int)(assert (! (> x 3) :named big))(assert (< y x))"
    said = ask("reason.check", smt2=script, assignment={"x": 2, "y": 1})
    assert [one["name"] for one in said["violated"]] == ["big"]
    assert ask("reason.check", smt2=script, assignment={"x": 5, "y": 1})["result"] == "holds"
    assert ask("reason.check", smt2=script, assignment={"x": 5})["result"] == "incomplete"
