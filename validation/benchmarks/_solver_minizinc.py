"""MiniZinc's own tests of global constraints and small examples, written in our language, held against their results."""
# ruff: noqa: E501 - tables and formulas read best on one line

import json
import re
from collections.abc import Callable
from typing import Any

from protocol.actions.reason import Solve
from validation.result import data

Data = dict[str, Any]
Test = Callable[[Data], bool]
_LISTED: dict[str, list[Data]] = {}


def listed(name: str) -> list[Data]:
    """The solutions that a test file lists, by the end of its path; each as name to value."""
    if not _LISTED:
        text = data("puzzles/libminizinc_spec_globals.jsonl").read_text(encoding="utf-8")
        for line in text.splitlines():
            item = json.loads(line)
            key = item["name"].rsplit("/", 1)[-1].removesuffix(".mzn")
            _LISTED[key] = [
                _values(part) for part in re.split(r"!Solution\n", item["expected_yaml"].replace("\r", ""))[1:]
            ]
    return _LISTED[name]


def _values(block: str) -> Data:
    """The little of YAML that these files use: scalars, flow lists, nested dashes."""
    found: Data = {}
    name = ""
    for line in block.splitlines():
        if "!Result" in line or line.strip() in {"-", "solution: !SolutionSet"}:
            break
        if key := re.match(r"\s*(?:- )?(\w+):\s*(.*)$", line):
            name = key[1]
            found[name] = _scalar(key[2]) if key[2] else []
        elif (dashes := re.match(r"\s*((?:- )+)(.+)$", line)) and name and isinstance(found[name], list):
            target = found[name]
            if dashes[1].count("-") == 2:
                target.append([])
            inner = (
                target[-1] if target and isinstance(target[-1], list) and re.match(r"\s{6,}|\s*- -", line) else target
            )
            inner.append(_scalar(dashes[2]))
        elif line.strip() and not line.strip().startswith("-"):
            break
    return found


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def _plain(value: Any) -> Any:
    """Our arrays with named indexes as lists."""
    return (
        [_plain(item) for item in value.values()]
        if isinstance(value, dict)
        else [_plain(item) for item in value]
        if isinstance(value, list)
        else value
    )


def one_of(name: str, **names: str) -> Test:
    """The solution is among those listed; `names` maps theirs to ours."""
    return lambda answer: (
        answer["result"] == "sat"
        and any(
            all(_plain(answer["model"][ours]) == one.get(theirs) for theirs, ours in names.items())
            for one in listed(name)
        )
    )


def all_of(name: str, **names: str) -> Test:
    """All our solutions are exactly those listed."""

    def right(answer: Data) -> bool:
        ours = {json.dumps([_plain(one[our]) for our in names.values()]) for one in answer["solutions"]}
        theirs = {json.dumps([one.get(their) for their in names]) for one in listed(name)}
        return answer["complete"] is True and ours == theirs

    return right


def covers(name: str, **names: str) -> Test:
    """Every solution that is listed is among ours; the file lists what some solver may find first."""

    def right(answer: Data) -> bool:
        ours = {json.dumps([_plain(one[our]) for our in names.values()]) for one in answer["solutions"]}
        theirs = {json.dumps([one.get(their) for their in names]) for one in listed(name)}
        return answer["complete"] is True and theirs <= ours

    return right


def best(name: str, objective: str = "objective") -> Test:
    """The optimum is the one listed, and proved."""
    return lambda answer: answer["optimum"] == "proved" and answer["objective"] == listed(name)[0][objective]


def unsat(answer: Data) -> bool:
    """There is no solution."""
    return answer["result"] == "unsat"


def sat(answer: Data) -> bool:
    """There is one, and the second evaluator agrees."""
    return answer["result"] == "sat" and answer["verified"] is True


def accepts(name: str, variable: str, constraint: str, declared: str, **more: Any) -> tuple[Solve, Test]:
    """The first solution that is listed satisfies the constraint (of a file with too many solutions to list)."""
    values = listed(name)[0][variable]
    pins = [f"x = {json.dumps(values)}"]
    return Solve(vars={"x": declared}, constraints=[constraint, *pins], **more), sat


def _case(variables: Data, constraints: list[str], right: Test, **more: Any) -> tuple[Solve, Test]:
    return Solve(vars=variables, constraints=list(constraints), **more), right


def _fixed(constraint: str, right: Test = sat) -> tuple[Solve, Test]:
    return _case({"unused": "bool"}, [constraint, "unused"], right)


def _array(low: int, high: int, domain: str) -> str:
    return f"array[{low}..{high}] of {domain}"


_WIDE = "int -100..100"
_TRANSITIONS = "[[2,0,0],[0,3,0],[0,4,3],[5,0,0],[0,0,0]]"
_TABLE = "[[1,1,1],[1,2,3],[2,1,3],[4,1,3],[2,3,4],[6,5,1],[1,3,3],[2,5,2],[1,2,1],[3,4,4]]"


def _grid_text(text: str) -> list[str]:
    cells = [row.split() for row in text.strip().splitlines()]
    return [f"g[{r},{c}] = {cell}" for r, row in enumerate(cells) for c, cell in enumerate(row) if cell != "_"]


_SUDOKU = """
_ _ _ _ _ _ _ _ _
_ 6 8 4 _ 1 _ 7 _
_ _ _ _ 8 5 _ 3 _
_ 2 6 8 _ 9 _ 4 _
_ _ 7 _ _ _ 9 _ _
_ 5 _ 1 _ 6 3 2 _
_ 4 _ 6 1 _ _ _ _
_ 3 _ 2 _ 7 6 9 _
_ _ _ _ _ _ _ _ _
"""


def _magic(size: int) -> tuple[Solve, Test]:
    total = size * (size * size + 1) // 2
    last = size - 1
    constraints = [
        "all_different(g)",
        f"forall(i in 0..{last}: sum(g[i]) = {total} and sum(g[*,i]) = {total})",
        f"sum(i in 0..{last}: g[i,i]) = {total}",
        f"sum(i in 0..{last}: g[i,{last}-i]) = {total}",
    ]

    def right(answer: Data) -> bool:
        grid = answer["model"]["g"]
        lines = [
            *grid,
            *zip(*grid, strict=True),
            [grid[i][i] for i in range(size)],
            [grid[i][last - i] for i in range(size)],
        ]
        return sorted(cell for row in grid for cell in row) == list(range(1, size * size + 1)) and {
            sum(line) for line in lines
        } == {total}

    return _case(
        {"g": {"type": "int", "min": 1, "max": size * size, "size": [size, size]}},
        constraints,
        right,
        timeout_ms=30_000,
    )


def cases() -> dict[str, tuple[Solve, Test]]:
    """Every case by file and part."""
    ten = _array(1, 10, _WIDE)
    return {
        "all_equal: propagates": _case(
            {"x": _array(1, 10, "int 1..5")}, ["x[1] = 5", "all_equal(x)"], one_of("globals_all_equal_int", x="x")
        ),
        "all_equal: constants": _fixed("all_equal([5, 5, 5, 5]) and not all_equal([1, 2, 3])"),
        "alldifferent: completes": _case(
            {"x": _array(5, 9, "int 1..5")},
            ["x[5] = 1", "x[7] = 3", "x[9] = 5", "all_different(x)", "x[6] < x[8]"],
            one_of("globals_all_different_int", alldiff_avi1="x"),
        ),
        "alldifferent_except_0: constants": _fixed(
            "all_different_except([0, 0], 0) and all_different_except([1, 2, 3], 0) and all_different_except([-2, -1, 0, 1, 2], 0)"
        ),
        "alldifferent_except_0: all solutions": _case(
            {"x": _array(1, 4, "int -1..2")},
            ["all_different_except(x, 0)"],
            all_of("test_alldiff_except0b", vs="x"),
            solutions="all",
        ),
        "among: counts": _case(
            {"n": _WIDE, "x": ten},
            [f"x[{at}] = {value}" for at, value in enumerate([4, 5, 5, 6, 6, 6, 7, 7, 7, 7], 1)]
            + ["among(x, {6, 7}) = n"],
            one_of("globals_among", among_vi="n", among_avi1="x"),
        ),
        "among: propagates": _case(
            {"x": ten},
            [f"x[{at}] = {value}" for at, value in {1: 4, 2: 5, 3: 5, 4: 6, 5: 6, 6: 6, 9: 8, 10: 8}.items()]
            + ["among(x, {6, 7}) = 5", "forall(i in 7..10: x[i] != 6)"],
            one_of("globals_among", among_avi2="x"),
        ),
        "arg_max: all solutions": _case(
            {"x": _array(4, 5, "int 1..2"), "y": "int"},
            ["y = arg_max(x)", "all_different(x)"],
            all_of("globals_arg_max", x="x", y="y"),
            solutions="all",
        ),
        "arg_min: all solutions": _case(
            {"x": _array(4, 5, "int 1..2"), "y": "int"},
            ["y = arg_min(x)", "all_different(x)"],
            all_of("globals_arg_min", x="x", y="y"),
            solutions="all",
        ),
        "at_least and at_most": _case(
            {"x": ten},
            [f"x[{at}] = {value}" for at, value in {1: 4, 2: 5, 3: 5, 4: 6, 5: 6, 6: 6, 9: 8, 10: 8}.items()]
            + ["at_least(5, x, 6)", "at_most(5, x, 6)"],
            one_of("globals_at_least", atlm_avi="x"),
        ),
        "exactly": _case(
            {"x": ten},
            [f"x[{at}] = {value}" for at, value in {1: 4, 2: 5, 3: 5, 4: 6, 5: 6, 6: 6, 9: 8, 10: 8}.items()]
            + ["exactly(5, x, 6)"],
            one_of("globals_at_least", exact_avi="x"),
        ),
        "bin packing by load": _case(
            {"b": _array(1, 3, "int 1..2")},
            ["bin_packing([9, 3, 4], b, [3, 4, 3])"],
            lambda answer: answer["result"] == "unsat",
        ),
        "circuit: from 1": _case(
            {"c": _array(1, 4, "int 1..4")}, ["circuit(c)"], all_of("test_circuit", c1="c"), solutions="all"
        ),
        "circuit: from 2": _case(
            {"c": _array(2, 5, _WIDE)}, ["circuit(c)"], all_of("test_circuit", c2="c"), solutions="all"
        ),
        "count: list unfixed": _case(
            {"x": _array(1, 8, _WIDE)},
            [f"x[{at}] = {value}" for at, value in enumerate([7, 8, 8, 9, 9, 9], 1)] + ["count(x, 8, 4)"],
            one_of("globals_count", count_avi1="x"),
        ),
        "count: value unfixed": _case(
            {"v": _WIDE}, ["count([7, 8, 9, 3, 0, 0, 9, 9], v, 3)"], one_of("globals_count", count_vi1="v")
        ),
        "count: number unfixed": _case(
            {"n": _WIDE}, ["count([7, 8, 8, 9, 9, 9, 0, 8], 8, n)"], one_of("globals_count", count_vi2="n")
        ),
        "count: list and number unfixed": _case(
            {"x": _array(1, 8, _WIDE), "n": "int 8..20"},
            ["count(x, 0, n)"],
            one_of("globals_count", count_avi4="x", count_vi3="n"),
        ),
        "count: truth values": _fixed("count([true, false, true], true) = 2"),
        "count: decimals": _fixed("count([1.5, 2.0, 1.5], 1.5) = 2"),
        "cumulative: durations, all solutions": _case(
            {"d": _array(1, 3, "int 0..10000")},
            ["d[1] = 10000", "d[2] in 0..1", "d[3] in 0..1", "cumulative([0, 0, 0], d, [1, 1, 1], 2)"],
            all_of("github_589", d="d"),
            solutions="all",
        ),
        "cumulative: bound": _case(
            {"b": "int 1..6"},
            ["cumulative([0, 3, 4, 6, 8, 8], [3, 2, 5, 2, 1, 4], [2, 3, 1, 4, 3, 2], b)"],
            one_of("globals_cumulative", cum_bound="b"),
        ),
        "cumulative: too much": _case({"s": "int 0..10"}, ["cumulative([s], [5], [5], 1)"], unsat),
        "decreasing: ints": _case(
            {"x": _array(1, 5, _WIDE)},
            ["x[1] = 5", "x[3] = 3", "x[5] = 1", "decreasing(x)"],
            covers("globals_decreasing", inc_avi="x"),
            solutions="all",
        ),
        "decreasing: truth values": _case(
            {"x": _array(1, 5, "bool")},
            ["x[1]", "not x[2]", "decreasing(x)"],
            one_of("globals_decreasing", inc_avb="x"),
        ),
        "increasing: truth values": _case(
            {"x": _array(1, 5, "bool")},
            ["not x[1]", "x[2]", "increasing(x)"],
            one_of("globals_increasing", inc_avb="x"),
        ),
        "increasing: ints": _case(
            {"x": _array(1, 5, _WIDE)},
            ["x[1] = 1", "x[3] = 3", "x[5] = 5", "increasing(x)"],
            covers("globals_increasing", inc_avi="x"),
            solutions="all",
        ),
        "global_cardinality: constants": _fixed("global_cardinality([3, 3, 8, 6], [3, 5, 6], [2, 0, 1])"),
        "global_cardinality: both unfixed": _case(
            {"x": _array(1, 9, _WIDE), "c": _array(1, 4, _WIDE)},
            [f"x[{at}] = {value}" for at, value in {1: 6, 2: 7, 4: 8, 6: 9, 8: 8, 9: 6}.items()]
            + ["c[1] = 5", "c[2] = 1", "c[3] = 2", "global_cardinality(x, [6, 7, 8, 9], c)"],
            one_of("globals_global_cardinality", gcc_x="x", gcc_c="c"),
        ),
        "global_cardinality: bounds": _case(
            {"x": _array(1, 4, "int 0..8"), "n": _array(1, 3, "int 0..4")},
            ["x[3] = 8", "global_cardinality(x, [3, 5, 6], n)", "n[1] in 2..3", "n[2] in 0..2", "n[3] in 1..1"],
            one_of("globals_global_cardinality_low_up", x="x"),
        ),
        "global_cardinality_closed": _case(
            {"x": _array(1, 4, "int {3, 5, 6}"), "n": _array(1, 3, "int 0..4")},
            ["global_cardinality(x, [3, 5, 6], n)", "n[1] in 2..3", "n[2] in 1..2", "n[3] = 1"],
            all_of("globals_global_cardinality_low_up_closed", x="x"),
            solutions="all",
        ),
        "inverse": _case(
            {"f": _array(1, 4, _WIDE), "g": _array(5, 8, _WIDE)},
            ["f[1] = 5", "f[2] = 7", "g[5] = 1", "g[7] = 2", "inverse(f, g)"],
            all_of("globals_inverse", inv_f1="f", inv_f2="g"),
            solutions="all",
        ),
        "lex2": _case(
            {"y": {"type": "int", "min": 1, "max": 2, "size": [2, 2]}},
            ["lex_lesseq(y[0], y[1])", "lex_lesseq(y[*,0], y[*,1])"],
            all_of("globals_lex2", y="y"),
            solutions="all",
        ),
        "strict_lex2": _case(
            {"y": {"type": "int", "min": 1, "max": 2, "size": [2, 2]}},
            ["lex_less(y[0], y[1])", "lex_less(y[*,0], y[*,1])"],
            all_of("globals_strict_lex2", y="y"),
            solutions="all",
        ),
        "lex_greater: all solutions": _case(
            {"x": _array(4, 8, "int 1..10")},
            ["x[4] = 1", "x[5] = 3", "x[6] = 5", "x[8] = 9", "lex_greater([1, 3, 5, 7, 9], x)"],
            all_of("globals_lex_greater", lex_avi2="x"),
            solutions="all",
        ),
        "lex_greater: constants": _fixed("lex_greater([5, 2, 8, 9], [5, 2, 6, 8])"),
        "lex_greatereq: all solutions": _case(
            {"x": _array(4, 8, "int 1..10")},
            ["x[4] = 1", "x[5] = 3", "x[6] = 5", "x[8] = 9", "lex_greatereq([1, 3, 5, 7, 9], x)"],
            all_of("globals_lex_greatereq", lex_avi2="x"),
            solutions="all",
        ),
        "lex_greatereq: constants": _fixed(
            "lex_greatereq([5, 2, 8, 9], [5, 2, 6, 8]) and lex_greatereq([5, 2, 3, 9], [5, 2, 3, 9])"
        ),
        "lex_less: listed": accepts(
            "globals_lex_less", "lex_avi2", "lex_less([1, 3, 5, 7, 9], x)", "array[5] of int -100..100"
        ),
        "lex_less: truth values": _case(
            {"x": _array(1, 2, "bool"), "y": _array(1, 2, "bool")},
            ["lex_less(x, y)"],
            all_of("test_bool_lex_less", x="x", y="y"),
            solutions="all",
        ),
        "lex_lesseq: constants": _fixed("lex_lesseq([1, 3, 5, 7, 9], [1, 3, 5, 7, 9])"),
        "lex_lesseq: truth values": _case(
            {"x": _array(1, 2, "bool"), "y": _array(1, 2, "bool")},
            ["lex_lesseq(x, y)"],
            all_of("test_bool_lex_lesseq", x="x", y="y"),
            solutions="all",
        ),
        "maximum": _case(
            {"m": "int 0..20", "n": "int 0..20"},
            ["m = max([5, 3, 8, 9, 4])", "9 = max([5, 3, 8, n, 4])"],
            one_of("globals_maximum_int", max_vi1="m", max_vi2="n"),
        ),
        "minimum": _case(
            {"m": "int 0..20", "n": "int 0..20"},
            ["m = min([5, 3, 8, 0, 4])", "0 = min([5, 3, 8, n, 4])"],
            one_of("globals_minimum_int", min_vi1="m", min_vi2="n"),
        ),
        "nvalue: at least one": _case(
            {"x": _array(1, 10, "int 0..10")},
            ["nvalue(x) >= 1"],
            lambda answer: sat(answer) and answer["objective"] == listed("nvalue_total")[0]["l1"],
            minimize="nvalue(x)",
        ),
        "regular: fixed ends": _case(
            {"x": _array(-2, 4, "int 1..3")},
            ["x[-2] = 1", "x[-1] = 2", "x[3] = 2", "x[4] = 1", f"regular(x, 5, 3, {_TRANSITIONS}, 1, {{5}})"],
            one_of("globals_regular", reg_input="x"),
        ),
        "regular: free": _case(
            {"x": _array(44, 54, "int 1..3")},
            [f"regular(x, 5, 3, {_TRANSITIONS}, 1, {{5}})"],
            one_of("globals_regular", reg_input2="x"),
        ),
        "sliding_sum": _case(
            {"x": _array(1, 7, _WIDE)},
            ["x[2] = 0", "x[3] = 99", "forall(i in 1..5: sum(j in i..i+2: x[j]) = 0)"],
            one_of("globals_sliding_sum", seq_avi="x"),
        ),
        "sort": _case(
            {"x": _array(1, 7, _WIDE)},
            [
                "increasing(x)",
                "forall(v in [1, 2, 3, 5, 8]: count(x, v) = count([3, 5, 1, 3, 5, 2, 8], v))",
                "forall(i in 1..7: x[i] in {1, 2, 3, 5, 8})",
            ],
            one_of("globals_sort", sort_avi="x"),
        ),
        "subcircuit: all solutions": _case(
            {"x": _array(1, 4, "int 1..4")}, ["subcircuit(x)"], all_of("test_subcircuit", x="x"), solutions="all"
        ),
        "table": _case(
            {"x": "int 1..10", "y": "int 1..10", "z": "int 1..10"},
            [f"table([x, y, z], {_TABLE})", "x != y and z < 3"],
            all_of("globals_table", x="x", y="y", z="z"),
            solutions="all",
        ),
        "value_precede: constants": _fixed(
            "value_precede(19, 10, [1, 3, 5, 19, 3, 10]) and value_precede(4, 3, [1, 2, 1, 2, 5])"
        ),
        "value_precede: all solutions": _case(
            {"x": _array(1, 3, "int 1..4")},
            ["value_precede(4, 2, x)", "x[3] = 3"],
            all_of("globals_value_precede_int", x="x"),
            solutions="all",
        ),
        "value_precede_chain": _case(
            {"x": _array(1, 3, "int 1..4")},
            ["value_precede(4, 3, x)", "value_precede(3, 2, x)"],
            all_of("globals_value_precede_chain_int", x="x"),
            solutions="all",
        ),
        "example golomb": _case(
            {"m": _array(1, 4, "int 0..16")},
            [
                "m[1] = 0",
                "strictly_increasing(m)",
                "all_different([m[j] - m[i] | i in 1..3, j in i+1..4])",
                "m[2] - m[1] < m[4] - m[3]",
            ],
            best("golomb"),
            minimize="m[4]",
        ),
        "example halfreif": _case(
            {"x": "int 0..10", "y": "int 0..11", "b1": "bool", "b2": "bool"},
            ["b1 -> x <= 4", "b2 -> y >= 7", "b1 or b2"],
            one_of("halfreif", x="x", y="y", b1="b1", b2="b2"),
            minimize="x + b1 - y",
        ),
        "example jobshop 2x2": _case(
            {"s": {"type": "int", "min": 0, "max": 14, "size": [2, 2]}, "end": "int 0..14"},
            [
                "s[0,0] + 2 <= s[0,1]",
                "s[1,0] + 3 <= s[1,1]",
                "s[0,1] + 5 <= end",
                "s[1,1] + 4 <= end",
                "no_overlap([s[0,0], s[1,0]], [2, 3])",
                "no_overlap([s[0,1], s[1,1]], [5, 4])",
            ],
            best("jobshop2x2"),
            minimize="end",
        ),
        "example langford": _case(
            {"a": _array(1, 14, "int 1..7"), "f": _array(1, 7, "int 1..14")},
            [
                "a[1] <= a[14]",
                "forall(i in 1..7: f[i] <= 14 - (i + 1))",
                "forall(i in 1..7, j in 0..1: a[f[i] + j * (i + 1)] = i)",
            ],
            one_of("langford2", a="a"),
            timeout_ms=30_000,
        ),
        "example magic square 3": _magic(3),
        "example magic square 4": _magic(4),
        "example knapsack": _case(
            {"x": _array(1, 5, "int 0..1")},
            [
                "sum(j in 0..4: w0[j] * x[j+1]) <= 5",
                "sum(j in 0..4: w1[j] * x[j+1]) <= 10",
                "sum(j in 0..4: w2[j] * x[j+1]) <= 15",
            ],
            best("multidimknapsack_simple"),
            data={"p": [5, 6, 3, 7, 4], "w0": [2, 1, 1, 3, 1], "w1": [3, 4, 2, 2, 3], "w2": [2, 4, 5, 3, 5]},
            maximize="sum(j in 0..4: p[j] * x[j+1])",
        ),
        "example photo": _case(
            {"pos": _array(1, 9, "int 0..8")},
            ["all_different(pos)", "pos[1] < pos[2]", "count(i in 0..16: next_to(pos[a[i]], pos[b[i]])) <= 8"],
            best("photo"),
            data={
                "a": [1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8],
                "b": [3, 5, 8, 5, 9, 4, 5, 1, 5, 6, 1, 1, 9, 3, 8, 9, 7],
            },
            maximize="count(i in 0..16: next_to(pos[a[i]], pos[b[i]]))",
            timeout_ms=60_000,
        ),
        "example production": _case(
            {"inside": _array(1, 3, "int 0..400"), "outside": _array(1, 3, "int 0..300")},
            [
                "5*inside[1] + 4*inside[2] + 3*inside[3] <= 200",
                "2*inside[1] + 4*inside[2] + 6*inside[3] <= 400",
                "inside[1] + outside[1] >= 100",
                "inside[2] + outside[2] >= 200",
                "inside[3] + outside[3] >= 300",
            ],
            best("product_fd"),
            minimize="60*inside[1] + 80*inside[2] + 30*inside[3] + 80*outside[1] + 90*outside[2] + 40*outside[3]",
            timeout_ms=30_000,
        ),
        "example quasigroup": _case(
            {"q": "array[1..5, 1..5] of int 1..5"},
            [
                "forall(x in 1..5: q[x,x] = x and all_different(q[x]) and all_different(q[*,x]) and q[x,1] < x + 2)",
                "forall(x, y in 1..5: q[q[q[y,x],y],y] = x)",
            ],
            one_of("quasigroup_qg5", q="q"),
            timeout_ms=30_000,
        ),
        "example queens": _case(
            {"q": _array(1, 8, "int 1..8")},
            [
                "all_different(q)",
                "all_different(i in 1..8: q[i] + i)",
                "all_different(i in 1..8: q[i] - i)",
                "q[1] = 2",
            ],
            one_of("queen_cp2", q="q"),
        ),
        "example simple sat": _case(
            {"a": _array(1, 3, "bool")},
            [
                "a[1] or a[2] or a[3]",
                "a[1] or a[2] or not a[3]",
                "a[1] or not a[2] or a[3]",
                "a[1] or not a[2] or not a[3]",
                "not a[1] or a[2] or a[3]",
                "not a[1] or a[2] or not a[3]",
                "not a[1] or not a[2] or a[3]",
            ],
            one_of("simple_sat", assignment="a"),
        ),
        "example sudoku": _case(
            {"g": {"type": "int", "min": 1, "max": 9, "size": [9, 9]}},
            [
                "forall(i in 0..8: all_different(g[i]) and all_different(g[*,i]))",
                "forall(r, c in 0..2: all_different([g[3*r+i, 3*c+j] | i, j in 0..2]))",
                *_grid_text(_SUDOKU),
            ],
            one_of("sudoku", puzzle="g"),
        ),
        "example trucking": _case(
            {"x": "array[1..4, 1..6] of int 0..1"},
            [
                "forall(t in 1..6: 20*x[1,t] + 18*x[2,t] + 15*x[3,t] + 13*x[4,t] >= demand[t-1])",
                "forall(s in 1..4: x[3,s] + x[3,s+1] + x[3,s+2] <= 1)",
                "forall(s in 1..5: x[4,s] + x[4,s+1] <= 1)",
            ],
            best("trucking"),
            data={"demand": [27, 11, 14, 19, 25, 22]},
            minimize="sum(t in 1..6: 30*x[1,t] + 27*x[2,t] + 23*x[3,t] + 20*x[4,t])",
            timeout_ms=30_000,
        ),
        "example open shop": _case(
            {"s": {"type": "int", "min": 0, "max": 1509, "size": [3, 3]}, "end": "int 0..1509"},
            [
                "forall(m in 0..2: no_overlap(s[m], d[m]))",
                "forall(j in 0..2: no_overlap(s[*,j], col(d, j)))",
                "forall(m, j in 0..2: s[m,j] + d[m,j] <= end)",
            ],
            best("oss"),
            data={"d": [[661, 6, 333], [168, 489, 343], [171, 505, 324]]},
            minimize="end",
            timeout_ms=60_000,
        ),
    }
