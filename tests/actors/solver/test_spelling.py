"""Names in another case than they are declared in: read as meant where only one can be meant, and told."""

from .asking import ask, faults


def test_a_name_in_another_case_is_read_as_declared_and_told():
    said = ask(vars={"gus": "int 1..3", "bob": "int 1..3"}, constraints=["Bob = Gus + 2"], maximize="GUS")
    assert said["model"] == {"gus": 1, "bob": 3} and said["verified"]
    assert "constraints[0]: Gus was read as gus, which is declared" in said.outcome.notes
    assert "maximize: GUS was read as gus, which is declared" in said.outcome.notes


def test_functions_arrays_and_checks_are_read_so_too():
    said = ask(
        vars={"age": "(Person) -> int 1..9", "seat": {"type": "int", "min": 1, "max": 2, "size": [2]}},
        types={"Person": ["ann", "bob"]},
        constraints=["Age(ann) = 3", "forall(p in person: Age(p) >= 3)", "Seat[0] = 2", "seat[1] != Seat[0]"],
    )
    assert said["model"]["seat"] == [2, 1] and said["verified"]
    judged = ask("reason.check", vars={"x": "int 1..3"}, constraints=["X > 1"], assignment={"x": 2})
    assert judged["result"] == "holds"


def test_what_is_declared_in_that_very_spelling_keeps_its_meaning():
    """`x` and `X` are two variables, and so is one name bound by a quantifier."""
    said = ask(vars={"x": "int 1..3", "X": "int 1..3"}, constraints=["x = 1", "X = 3"])
    assert said["model"] == {"x": 1, "X": 3} and not said.outcome.notes
    said = ask(vars={"i": "int 0..9"}, constraints=["forall(I in 1..3: I < i)", "i = 4"])
    assert said["model"] == {"i": 4} and not said.outcome.notes


def test_a_name_that_could_be_two_is_refused_with_both():
    (found,) = faults(vars={"gus": "int 1..3", "GUS": "int 1..3"}, constraints=["Gus > 1"])
    assert "'Gus' is not declared" in found["problem"] and "gus" in found["expected"] and "GUS" in found["expected"]


def test_an_enum_value_in_another_case_is_a_value_and_no_variable():
    said = ask(vars={"day": ["Mon", "Tue"], "tue": "bool"}, constraints=["day = TUE"])
    assert said.failure is not None or said["model"]["day"] == "Tue"
