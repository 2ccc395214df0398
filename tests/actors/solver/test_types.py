"""Declarations in every spelling, and the ones that are asked back about."""

import pytest

from actors.solver.dsl.declarations import declare
from actors.solver.dsl.faults import ProblemError
from actors.solver.dsl.types import spell

TYPES = {"Day": ["mon", "tue"], "N": "1..3"}


@pytest.mark.parametrize(
    ("written", "kind", "shape"),
    [
        ("int 1..5", "int 1..5", ()),
        ("1..5", "int 1..5", ()),
        ("integer", "int", ()),
        ("int >= 0", "int 0..", ()),
        ("int > 0, < 9", "int 1..8", ()),
        ("int from 2 to 4", "int 2..4", ()),
        ("int [2, 7]", "int 2..7", ()),
        ("int {1, 3, 7}", "int {1, 3, 7}", ()),
        ("var 1..4", "int 1..4", ()),
        ("Bool", "bool", ()),
        ("real", "real", ()),
        ("float 0.5..1.5", "real", ()),
        (["mon", "tue"], "{mon, tue}", ()),
        ([1, 2, 3], "int 1..3", ()),
        ("{red, blue}", "{red, blue}", ()),
        ("Day", "{mon, tue}", ()),
        ("N", "int 1..3", ()),
        ({"type": "int", "min": 0, "max": 9, "size": [3, 3]}, "int 0..9", (3, 3)),
        ({"type": "bool", "size": 4}, "bool", (4,)),
        ({"values": ["a", "b"]}, "{a, b}", ()),
        ({"domain": [1, 5]}, "int {1, 5}", ()),
        ("array[3,2] of int 0..9", "int 0..9", (3, 2)),
        ("array[Day] of bool", "bool", (2,)),
        ("int 0..9 [4]", "int 0..9", (4,)),
        ("(Day, N) -> bool", "bool", (2, 3)),
        ("Day -> int 0..3", "int 0..3", (2,)),
    ],
)
def test_a_type_is_read(written, kind, shape):
    symbol = declare({"x": written}, TYPES).symbols["x"]
    assert spell(symbol.type) == kind
    assert tuple(len(index.values) for index in symbol.indexes) == shape


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ([1, 5], "range or two values"),
        (["a", "a"], "twice"),
        ([], "empty"),
        ("int 5..1", "empty"),
        ("int 0.5..2", "not whole"),
        ("strng", "not understood"),
        ("array[Dya] of int", "names no set"),
        ("array[1,2,3,4,5] of bool", "dimensions"),
        ({"type": "bool", "min": 1}, "min and max"),
        (None, "not understood"),
        ({"type": "int", "size": -1}, "size"),
    ],
)
def test_a_doubtful_type_is_asked_back_with_a_fix(written, words):
    with pytest.raises(ProblemError) as error:
        declare({"x": written}, TYPES)
    assert words in error.value.defects[0].problem
    assert error.value.defects[0].fix


def test_all_faulty_declarations_are_told_at_once():
    with pytest.raises(ProblemError) as error:
        declare({"x": "nope", "": "int", "y": [1, 9], "ok": "bool"}, {"S": "int"}, {"d": None})
    assert [one.where for one in error.value.defects] == ["types.S", "data.d", "vars.x", "vars.", "vars.y"]


def test_too_many_values_are_refused():
    with pytest.raises(ProblemError, match="more than 20000"):
        declare({"x": {"type": "bool", "size": [200, 200]}})
