"""Problems described in words (DCP-Bench-Open, many by Hakan Kjellerstrand and CSPLib), encoded by hand.

The instance data are read from the public file. Each answer is verified by the second evaluator; where the description
has one answer, or an optimum that is known, it is asked for too.
"""
# ruff: noqa: E501 - tables and formulas read best on one line

import ast
import json
from collections.abc import Callable
from typing import Any

from protocol.actions.reason import Solve
from validation.result import data

Data = dict[str, Any]
Test = Callable[[Data], bool]
_FACTS: dict[str, Data] = {}


def facts(name: str) -> Data:
    """The literal assignments of a problem's instance data."""
    if not _FACTS:
        text = data("puzzles/dcp_bench_open_descriptions.jsonl").read_text(encoding="utf-8")
        for line in text.splitlines():
            item = json.loads(line)
            _FACTS[item["id"]] = _literals(item["data_py"] or "")
    return _FACTS[name]


def _literals(source: str) -> Data:
    found: Data = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            try:
                value = ast.literal_eval(statement.value)
            except ValueError:
                continue
            names = statement.targets[0]
            pairs = zip(names.elts, value, strict=True) if isinstance(names, ast.Tuple) else [(names, value)]
            found |= {target.id: one for target, one in pairs if isinstance(target, ast.Name)}
    return found


def verified(answer: Data) -> bool:
    """A solution that the second evaluator confirms."""
    return answer["result"] == "sat" and answer["verified"] is True


def only(**values: Any) -> Test:
    """The one answer that the description has."""
    return lambda answer: verified(answer) and all(answer["model"][name] == value for name, value in values.items())


def proved(objective: Any = None) -> Test:
    """A proved optimum, of a known value where one is given."""
    return lambda answer: (
        verified(answer) and answer["optimum"] == "proved" and objective in (None, answer["objective"])
    )


def _case(variables: Data, constraints: list[str], right: Test = verified, **more: Any) -> tuple[Solve, Test]:
    asked: dict[str, Any] = {"vars": variables, "constraints": list(constraints), "timeout_ms": 30_000, **more}
    return Solve(**asked), right


def _names(text: str, domain: str) -> Data:
    return dict.fromkeys(text.split(), domain)


def _array(size: int, low: int, high: int) -> Data:
    return {"type": "int", "min": low, "max": high, "size": [size]}


def _table(rows: int, columns: int, low: int, high: int) -> Data:
    return {"type": "int", "min": low, "max": high, "size": [rows, columns]}


def _assignment() -> tuple[Solve, Test]:
    cost = facts("assignment_costs")["cost"]
    return _case(
        {"x": _table(4, 5, 0, 1)},
        ["forall(t in 0..3: sum(x[t]) = 1)", "forall(p in 0..4: sum(x[*,p]) <= 1)"],
        proved(),
        data={"cost": cost},
        minimize="sum(t in 0..3, p in 0..4: cost[t][p] * x[t,p])",
    )


def _aircraft() -> tuple[Solve, Test]:
    known = facts("aircraft_assignment")
    used = {
        "availability": known["availability"],
        "demand": known["demand"],
        "capacity": known["capabilities"],
        "cost": known["costs"],
    }
    return _case(
        {"x": _table(3, 2, 0, 3)},
        [
            "forall(i in 0..2: sum(x[i]) <= availability[i])",
            "forall(j in 0..1: sum(i in 0..2: capacity[i][j] * x[i,j]) >= demand[j])",
        ],
        proved(),
        data=used,
        minimize="sum(i in 0..2, j in 0..1: cost[i][j] * x[i,j])",
    )


def _appointments() -> tuple[Solve, Test]:
    return _case(
        {"x": {"type": "bool", "size": [4, 4]}},
        ["forall(i in 0..3: exactly_one(x[i]) and exactly_one(x[*,i]))", "forall(i, j in 0..3: x[i,j] -> m[i][j] = 1)"],
        data={"m": facts("appointment_scheduling")["m"]},
    )


def _hay() -> tuple[Solve, Test]:
    weights = facts("bales_of_hay")["weights"]
    pairs = "[b[i] + b[j] | i in 0..3, j in i+1..4]"
    return _case(
        {"b": _array(5, 0, 60)},
        ["increasing(b)", f"forall(k in 0..9: count({pairs}, w[k]) = 1)"],
        only(b=[39, 41, 43, 44, 47]),
        data={"w": weights},
    )


def _packing() -> tuple[Solve, Test]:
    known = facts("bin_packing")
    return _case(
        {"b": _array(len(known["weights"]), 0, known["num_bins"] - 1)},
        ["bin_packing(cap, b, w)"],
        data={"w": known["weights"], "cap": known["capacity"]},
    )


def _oranges() -> tuple[Solve, Test]:
    return _case(
        {"x": _array(9, 1, 40)},
        ["strictly_increasing(x)", "forall(i in 0..6, j in i+1..7, k in j+1..8: x[j] - x[i] != x[k] - x[j])"],
    )


def _blocks() -> tuple[Solve, Test]:
    known = facts("building_blocks")
    words = [[known["alphabet"].index(letter) for letter in word] for word in known["words_str"]]
    apart = [f"all_different({', '.join(f'd[{letter}]' for letter in word)})" for word in words]
    return _case({"d": _array(24, 0, 3)}, ["forall(b in 0..3: count(d, b) = 6)", *apart])


def _subset_sum() -> tuple[Solve, Test]:
    known = facts("session2_subset_sum")
    return _case(
        {"b": _array(6, 0, 10)},
        ["sum(i in 0..5: c[i] * b[i]) = total"],
        data={"c": known["coin_numbers"], "total": known["total_coins_lost"]},
    )


def _subsets() -> tuple[Solve, Test]:
    known = facts("session2_subsets_100")["A"]
    return _case(
        {"s": _array(10, 0, 1), "t": _array(10, 0, 1)},
        [
            "forall(i in 0..9: s[i] + t[i] <= 1)",
            "sum(s) > 0 and sum(t) > 0",
            "sum(i in 0..9: a[i] * s[i]) = sum(i in 0..9: a[i] * t[i])",
        ],
        data={"a": known},
    )


def _movies() -> tuple[Solve, Test]:
    movies = facts("session2_movie_scheduling")["movies"]
    used = {"first": [one[1] for one in movies], "last": [one[2] for one in movies]}
    return _case(
        {"s": {"type": "bool", "size": [9]}},
        ["forall(i in 0..7, j in i+1..8: (s[i] and s[j]) -> (last[i] < first[j] or last[j] < first[i]))"],
        proved(4),
        data=used,
        maximize="count(s)",
    )


def _colors() -> tuple[Solve, Test]:
    edges = facts("session2_color_simple")["graph"]
    return _case(
        {"c": "array[1..6] of int 1..6"}, [f"c[{a}] != c[{b}]" for a, b in edges], proved(4), minimize="max(c)"
    )


def _independent() -> tuple[Solve, Test]:
    lists = facts("session2_maximal_independent_sets")["adjacency_list"]
    parts = [f"s[{at}] xor ({' or '.join(f's[{other}]' for other in near)})" for at, near in enumerate(lists, start=1)]
    return _case({"s": "array[1..8] of bool"}, parts)


def _cows() -> tuple[Solve, Test]:
    known = facts("session3_farmer_and_cows")
    return _case(
        {"c": _array(25, 0, 4)},
        ["forall(s in 0..4: count(c, s) = n[s] and sum(i in 0..24: if c[i] = s then i + 1 else 0) = 65)"],
        data={"n": known["cows_per_son"]},
    )


def _kidneys() -> tuple[Solve, Test]:
    fits = facts("session3_kidney_exchange")["compatible"]
    barred = [f"x[{i},{j}] = 0" for i in range(8) for j in range(8) if j + 1 not in fits[i]]
    return _case(
        {"x": _table(8, 8, 0, 1)},
        [*barred, "forall(i in 0..7: sum(x[*,i]) <= 1 and sum(x[i]) = sum(x[*,i]))"],
        proved(),
        maximize="sum(x)",
    )


def _stairs() -> tuple[Solve, Test]:
    known = facts("session5_climbing_stairs")
    low, high = known["m1"], known["m2"]
    return _case(
        {"s": _array(20, 0, 5)},
        [
            "sum(s) = 20",
            f"forall(i in 0..19: s[i] = 0 or s[i] in {low}..{high})",
            "forall(i in 0..18: s[i] = 0 -> s[i+1] = 0)",
        ],
    )


def _sudoku() -> tuple[Solve, Test]:
    grid = facts("sudoku")["input_grid"]
    given = [f"g[{r},{c}] = {value}" for r, row in enumerate(grid) for c, value in enumerate(row) if value]
    return _case(
        {"g": _table(9, 9, 1, 9)},
        [
            "forall(i in 0..8: all_different(g[i]) and all_different(g[*,i]))",
            "forall(r, c in 0..2: all_different([g[3*r+i, 3*c+j] | i, j in 0..2]))",
            *given,
        ],
        lambda answer: verified(answer) and answer["unique"] is True,
    )


def _three_sum() -> tuple[Solve, Test]:
    known = facts("three_sum")
    return _case(
        {"s": {"type": "bool", "size": [9]}},
        ["exactly(3, s)", "sum(i in 0..8: v[i] * s[i]) = 0"],
        data={"v": known["nums"]},
    )


def _packs() -> tuple[Solve, Test]:
    known = facts("twelve_pack")
    return _case(
        {"n": _array(2, 0, 94)},
        ["sum(i in 0..1: p[i] * n[i]) >= target"],
        proved(94),
        data={"p": known["packs"], "target": known["target"]},
        minimize="sum(i in 0..1: p[i] * n[i])",
    )


def _archer() -> tuple[Solve, Test]:
    known = facts("archery_puzzle")
    return _case(
        {"h": _array(6, 0, 7)},
        ["sum(h) >= 1"],
        proved(0),
        data={"t": known["targets"], "goal": known["target_score"]},
        minimize="abs(goal - sum(i in 0..5: t[i] * h[i]))",
    )


def _among() -> tuple[Solve, Test]:
    known = facts("among")
    return _case({"x": _array(known["n"], 0, 7)}, ["among(x, v) = m"], data={"v": known["v"], "m": known["m"]})


def _autoref() -> tuple[Solve, Test]:
    return _case(
        {"s": _array(29, 0, 27)},
        [
            "s[28] = 5",
            "forall(i in 0..27: s[i] = count(s, i))",
            "sum(i in 0..27: s[i]) = 29",
            "sum(i in 0..27: i * s[i]) = sum(s)",
        ],
        timeout_ms=60_000,
    )


_ZEBRA = [
    "painter = horse", "diplomat = coffee", "milk = white", "spain = painter", "england = red", "snails = sculptor", "directly_left_of(green, red)",
    "directly_right_of(norway, blue)", "doctor = milk", "diplomat = japan", "norway = zebra", "next_to(green, white)", "next_to(horse, diplomat)", "italy in {red, white, green}",
]  # fmt: skip
_ZEBRA_GROUPS = [
    "yellow green red white blue",
    "italy spain japan england norway",
    "cat zebra bear snails horse",
    "milk water tea coffee juice",
    "painter sculptor diplomat pianist doctor",
]


def _zebra() -> tuple[Solve, Test]:
    variables = _names(" ".join(_ZEBRA_GROUPS), "int 1..5")
    return _case(variables, [f"all_different({', '.join(group.split())})" for group in _ZEBRA_GROUPS] + _ZEBRA)


def _river() -> tuple[Solve, Test]:
    variables = {name: _array(8, 0, 1) for name in ("wolf", "goat", "cabbage", "boat")}
    movers = "[abs(wolf[t+1]-wolf[t]), abs(goat[t+1]-goat[t]), abs(cabbage[t+1]-cabbage[t])]"
    stay = [
        f"forall(t in 0..6: {one}[t] = {one}[t+1] or ({one}[t] = boat[t] and {one}[t+1] = boat[t+1]))"
        for one in ("wolf", "goat", "cabbage")
    ]
    ends = [f"{one}[0] = 0 and {one}[7] = 1" for one in variables]
    safe = [
        f"forall(t in 0..7: {one} = {other} -> {one} = boat[t])".replace("wolf", "wolf[t]")
        .replace("goat", "goat[t]")
        .replace("cabbage", "cabbage[t]")
        for one, other in (("wolf", "goat"), ("goat", "cabbage"))
    ]
    return _case(variables, [*ends, f"forall(t in 0..6: boat[t] != boat[t+1] and sum({movers}) <= 1)", *stay, *safe])


def _coins() -> tuple[Solve, Test]:
    return _case(
        {"c": _table(4, 3, 0, 1)},
        ["c[0] = [1, 0, 1]", "forall(m in 0..2: sum(i in 0..2: abs(c[m,i] - c[m+1,i])) = 1)", "sum(c[3]) in {0, 3}"],
    )


def _agatha() -> tuple[Solve, Test]:
    types = {"P": ["agatha", "butler", "charles"]}
    variables = {"killer": "P", "hates": "(P, P) -> bool", "richer": "(P, P) -> bool"}
    constraints = [
        "hates(killer, agatha) and not richer(killer, agatha)",
        "forall(p in P: not richer(p, p))",
        "forall(p, q in P: p != q -> (richer(p, q) xor richer(q, p)))",
        "forall(p in P: hates(agatha, p) -> not hates(charles, p))",
        "hates(agatha, agatha) and hates(agatha, charles) and not hates(agatha, butler)",
        "forall(p in P: not richer(p, agatha) -> hates(butler, p))",
        "forall(p in P: hates(agatha, p) -> hates(butler, p))",
        "forall(p in P: exists(q in P: not hates(p, q)))",
    ]
    return _case(
        variables,
        constraints,
        lambda answer: verified(answer) and answer["options"][0]["verdict"] == "must",
        types=types,
        options={"agatha": "killer = agatha"},
    )


_EXODUS = [
    "bernice carl debby sammy ted",
    "ethiopia kazakhstan lithuania morocco yemen",
    "bush captivity youth passover commandments",
]


def _exodus() -> tuple[Solve, Test]:
    constraints = [f"all_different({', '.join(group.split())})" for group in _EXODUS]
    constraints += [
        "debby = lithuania",
        "passover = bernice + 2",
        "yemen < ethiopia",
        "morocco = ted + 3",
        "sammy = youth + 3",
    ]
    return _case(_names(" ".join(_EXODUS), "int {3, 5, 7, 8, 10}"), constraints)


_THIEVES = "artie bill crackitt dodgy edgy fingers"


def _thieves() -> tuple[Solve, Test]:
    guilty = ", ".join(_THIEVES.split())
    said = [
        "not artie <-> not artie",
        "not bill <-> crackitt",
        "not crackitt <-> not crackitt",
        "not dodgy <-> (crackitt -> bill)",
        f"not edgy <-> count({guilty}) != 1",
        "not fingers <-> (artie and dodgy)",
    ]
    return _case(_names(_THIEVES, "bool"), [f"count({guilty}) in 1..2", *said], verified)


def _host() -> tuple[Solve, Test]:
    friends = {0: (3, 5), 1: (2, 4), 2: (1, 5), 3: (0, 4), 4: (1, 3), 5: (0, 2)}
    pairs = [[a, b] for a, near in friends.items() for b in near]
    return _case(
        {"seat": _array(6, 0, 5)},
        ["all_different(seat)", f"forall(i in 0..5: table([seat[i], seat[(i + 1) % 6]], {pairs}))", "seat[0] = 0"],
    )


def cases() -> dict[str, tuple[Solve, Test]]:
    """Every problem by its id."""
    return {
        "abbots_puzzle": _case(
            _names("m w c", "int 0..100"), ["m + w + c = 100", "6*m + 4*w + c = 200", "w = 5*m"], only(m=5, w=25, c=70)
        ),
        "added_corners": _case(
            _names("a b c d e f g h", "int 1..8"),
            ["all_different(a, b, c, d, e, f, g, h)", "b = a + c", "d = a + f", "e = c + h", "g = f + h"],
        ),
        "ages_of_the_sons": _case(
            {"a": _array(3, 0, 36), "b": _array(3, 0, 36)},
            [
                "decreasing(a)",
                "decreasing(b)",
                "product(a) = 36",
                "product(b) = 36",
                "sum(a) = sum(b)",
                "a != b",
                "a[0] > a[1]",
                "b[0] = b[1]",
            ],
            only(a=[9, 2, 2]),
        ),
        "aircraft_assignment": _aircraft(),
        "allergy": _case(
            _names("eggs mold nuts ragweed baxter lemon malone fleet", "int 0..3"),
            [
                "all_different(eggs, mold, nuts, ragweed)",
                "all_different(baxter, lemon, malone, fleet)",
                "mold != 3",
                "eggs = baxter",
                "lemon != 2 and fleet != 2",
                "ragweed = 0",
                "lemon != 1",
                "eggs != 1 and mold != 1",
            ],
            lambda answer: verified(answer) and answer["unique"] is True,
        ),
        "among": _among(),
        "appointment_scheduling": _appointments(),
        "arch_friends": _case(
            _names("espadrilles flats pumps sandals farm heels palace tootsies", "int 1..4"),
            [
                "all_different(espadrilles, flats, pumps, sandals)",
                "all_different(farm, heels, palace, tootsies)",
                "flats = heels",
                "pumps + 1 != tootsies",
                "farm = 2",
                "palace + 2 = sandals",
            ],
            lambda answer: verified(answer) and answer["unique"] is True,
        ),
        "archery_puzzle": _archer(),
        "assignment_costs": _assignment(),
        "autoref": _autoref(),
        "bales_of_hay": _hay(),
        "bananas": _case(
            _names("b o m a", "int 1..100"),
            ["b + o + m + a = 100", "b/5*3 + o/7*5 + m/9*7 + a/3*9 = 100"],
            proved(),
            minimize="b + a",
        ),
        "best_host": _host(),
        "bin_packing": _packing(),
        "birthday_coins": _case(_names("h s p", "int 0..15"), ["h + s + p = 15", "30*h + 12*s + 6*p = 306"]),
        "bowls_and_oranges": _oranges(),
        "broken_weights": _case(
            {"w": _array(4, 1, 40), "x": {"type": "int", "min": -1, "max": 1, "size": [40, 4]}},
            ["sum(w) = 40", "increasing(w)", "forall(k in 0..39: sum(i in 0..3: w[i] * x[k,i]) = k + 1)"],
            only(w=[1, 3, 9, 27]),
            timeout_ms=60_000,
        ),
        "building_blocks": _blocks(),
        "session1_thick_as_thieves": _thieves(),
        "session2_color_simple": _colors(),
        "session2_maximal_independent_sets": _independent(),
        "session2_movie_scheduling": _movies(),
        "session2_subset_sum": _subset_sum(),
        "session2_subsets_100": _subsets(),
        "session3_exodus": _exodus(),
        "session3_farmer_and_cows": _cows(),
        "session3_kidney_exchange": _kidneys(),
        "session3_people_in_a_room": _case(
            {"s": _array(13, 0, 1)},
            ["sum(s) = 9", "forall(t in 0..12: 3 * sum(i in 0..t: s[i]) <= 7 * sum(i in 0..t: 1 - s[i]))"],
        ),
        "session5_climbing_stairs": _stairs(),
        "session5_grocery": _case(
            {"p": _array(4, 1, 711)},
            ["increasing(p)", "sum(p) = 711", "product(p) = 711000000"],
            only(p=[120, 125, 150, 316]),
            timeout_ms=60_000,
        ),
        "session5_hardy_1729_square": _case(
            _names("a b c d", "int 1..100"), ["all_different(a, b, c, d)", "a^2 + b^2 = c^2 + d^2"]
        ),
        "sudoku": _sudoku(),
        "three_coins": _coins(),
        "three_sum": _three_sum(),
        "twelve_pack": _packs(),
        "who_killed_agatha": _agatha(),
        "wolf_goat_cabbage": _river(),
        "zebra": _zebra(),
        "age_changing": _case(
            {
                "m": "int 1..120",
                "h": "int 1..120",
                "o": _array(4, 0, 3),
                "q": _array(4, 0, 3),
                "v": _array(5, 0, 1000),
                "u": _array(5, 0, 1000),
            },
            [
                "all_different(o)",
                "all_different(q)",
                "v[0] = m and v[4] = h and u[0] = h and u[4] = m",
                *(
                    f"forall(i in 0..3: if {order}[i] = 0 then {value}[i+1] = {value}[i] + 2 else if {order}[i] = 1 then {value}[i] = 8 * {value}[i+1] else if {order}[i] = 2 then {value}[i+1] = {value}[i] - 3 else {value}[i+1] = 7 * {value}[i])"
                    for order, value in (("o", "v"), ("q", "u"))
                ),
                "m != h",
            ],
        ),
    }
