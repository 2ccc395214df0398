"""Logic-LM's two program forms, written here anew."""

from .asking import ask, faults

ORDERING = """Domain:
1: first
3: last
Variables:
ann [IN] [1, 2, 3]
bob [IN] [1, 2, 3]
cid [IN] [1, 2, 3]
Constraints:
ann < bob ::: Ann is before Bob.
cid == 3 ::: Cid is last.
AllDifferentConstraint([ann, bob, cid]) ::: All differ.
Query:
A) ann == 2 ::: Ann is second.
B) bob == 2 ::: Bob is second.
"""
SORTS = """# Declarations
people = EnumSort([ann, bob, cid])
rooms = EnumSort([1, 2])
in_room = Function([people] -> [rooms])
likes = Function([people, people] -> [bool])

# Constraints
Count([p:people], in_room(p) == 1) == 2 ::: two are in room one
ForAll([p:people], in_room(p) != None)
ForAll([p:people, q:people], Implies(likes(p, q), in_room(p) == in_room(q))) ::: who likes shares
likes(ann, bob)

# Options
Question ::: What must be so?
is_valid(in_room(ann) == 1) ::: (A)
is_valid(in_room(cid) == 1) ::: (B)
"""


def test_the_ordering_form_answers_with_its_letter():
    said = ask(program=ORDERING)
    assert said["answer"] == ["B"]
    assert said["options"][1]["text"] == "Bob is second."


def test_the_sorts_form_answers_what_its_options_ask():
    said = ask(program=SORTS)
    assert said["answer"] == ["A"]
    assert any("nothing equals None" in note for note in said.outcome.notes)


def test_is_sat_is_unsat_and_is_exception_ask_differently():
    swapped = SORTS.replace("is_valid(in_room(ann) == 1)", "is_exception(is_sat(in_room(ann) == 2))").replace(
        "is_valid(in_room(cid) == 1)", "is_unsat(in_room(cid) == 2)"
    )
    said = ask(program=swapped)
    assert [one["holds"] for one in said["options"]] == [True, False]


def test_lists_are_accurate_when_one_must_and_each_can_be():
    program = SORTS.replace(
        "is_valid(in_room(ann) == 1)", "is_accurate_list([in_room(ann) == 1, in_room(ann) == 2])"
    ).replace("is_valid(in_room(cid)", "is_sat(in_room(cid)")
    assert [one["holds"] for one in ask(program=program)["options"]] == [False, False]


def test_every_faulty_line_is_named():
    found = faults(
        program=SORTS.replace("likes(ann, bob)", "hates(ann, bob)").replace(
            "EnumSort([1, 2])", "EnumSort([1, 2])\nthing = Sort(3)"
        )
    )
    assert [one["path"].partition(",")[0] for one in found] == ["program line 4"]
    found = faults(
        program=SORTS.replace("likes(ann, bob)\n", "hates(ann, bob)\n").replace("in_room(cid)", "in_rom(cid)")
    )
    assert [one["path"] for one in found] == ["program line 11, column 1", "program line 16 (B), column 10"]
    assert faults(program="hello")[0]["problem"]
