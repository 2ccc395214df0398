"""reasoning-gym's constraint puzzles (14 kinds): each item as a request, and the test of its answer."""
# ruff: noqa: E501, RUF001 - tables and formulas read best on one line

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

from protocol.actions.reason import Solve
from validation.result import data

Item = dict[str, Any]
Data = dict[str, Any]
Puzzle = tuple[Solve, Callable[[Data], bool]]


def load(kind: str) -> list[Item]:
    """All items of one kind."""
    text = data(f"puzzles/reasoning_gym/{kind}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _grid(model: Data, name: str = "g") -> list[list[int]]:
    return model["model"][name]


def _infix(term: Any) -> str:
    match term:
        case ["telling-truth", int() as at]:
            return f"k[{at}]"
        case ["lying", int() as at]:
            return f"not k[{at}]"
        case ["not", one]:
            return f"not ({_infix(one)})"
        case [op, *rest]:
            return f" {op} ".join(f"({_infix(one)})" for one in rest)
        case _:
            raise ValueError(term)


def knights_knaves(item: Item) -> Puzzle:
    """Who tells the truth says what is so."""
    facts = item["metadata"]
    size = len(facts["names"])
    constraints = [f"k[{at}] <-> ({_infix(said)})" for at, said in enumerate(facts["statements"])]
    request = Solve(vars={"k": {"type": "bool", "size": [size]}}, constraints=list(constraints))
    return request, lambda answer: answer["model"]["k"] == list(facts["solution"]) and answer["unique"] is True


_LATIN = ["forall(i in 0..{n}: all_different(g[i]))", "forall(j in 0..{n}: all_different(g[*, j]))"]


def _square(size: int, puzzle: list[list[int]], more: list[str]) -> Solve:
    given = [f"g[{r},{c}] = {value}" for r, row in enumerate(puzzle) for c, value in enumerate(row) if value]
    latin = [text.format(n=size - 1) for text in _LATIN]
    return Solve(
        vars={"g": {"type": "int", "min": 1, "max": size, "size": [size, size]}}, constraints=[*latin, *more, *given]
    )


def _boxes(size: int, side: int) -> str:
    return f"forall(r in 0..{size // side - 1}, c in 0..{size // side - 1}: all_different([g[{side}*r + i, {side}*c + j] | i, j in 0..{side - 1}]))"


def sudoku(item: Item, side: int = 3) -> Puzzle:
    """Rows, columns and boxes all different."""
    facts = item["metadata"]
    request = _square(side * side, facts["puzzle"], [_boxes(side * side, side)])
    unique = side == 3
    return (
        request,
        lambda answer: (
            (_grid(answer) == facts["solution"] and answer["unique"] is True)
            if unique
            else _solves(answer, facts["puzzle"], side)
        ),
    )


def _solves(answer: Data, puzzle: list[list[int]], side: int) -> bool:
    """A 4x4 grid is right by the rules (some published ones have several solutions)."""
    grid, full = _grid(answer), set(range(1, side * side + 1))
    lines = [*grid, *map(list, zip(*grid, strict=True))]
    boxes = [
        [grid[side * r + i][side * c + j] for i in range(side) for j in range(side)]
        for r in range(side)
        for c in range(side)
    ]
    kept = all(value in (0, grid[r][c]) for r, row in enumerate(puzzle) for c, value in enumerate(row))
    return kept and all(set(line) == full for line in [*lines, *boxes])


def mini_sudoku(item: Item) -> Puzzle:
    """4x4."""
    return sudoku(item, side=2)


def futoshiki(item: Item) -> Puzzle:
    """A latin square with inequalities."""
    facts = item["metadata"]
    signs = [f"g[{r},{c}] {sign} g[{s},{d}]" for r, c, s, d, sign in facts["constraints"]]
    return _square(
        facts["board_size"], facts["puzzle"], signs
    ), lambda answer: _grid(answer) == facts["solution"] and answer["unique"] is True


def kakurasu(item: Item) -> Puzzle:
    """Weighted sums of marked cells."""
    facts = item["metadata"]
    rows, cols = facts["n_rows"], facts["n_cols"]
    constraints = [
        f"sum(c in 0..{cols - 1}: (c + 1) * g[{r}, c]) = {total}" for r, total in enumerate(facts["row_sums"])
    ]
    constraints += [
        f"sum(r in 0..{rows - 1}: (r + 1) * g[r, {c}]) = {total}" for c, total in enumerate(facts["col_sums"])
    ]

    def right(answer: Data) -> bool:
        grid = _grid(answer)
        by_row = [sum((c + 1) * cell for c, cell in enumerate(row)) for row in grid]
        by_col = [sum((r + 1) * grid[r][c] for r in range(rows)) for c in range(cols)]
        return by_row == facts["row_sums"] and by_col == facts["col_sums"]

    return Solve(
        vars={"g": {"type": "int", "min": 0, "max": 1, "size": [rows, cols]}}, constraints=list(constraints)
    ), right


def survo(item: Item) -> Puzzle:
    """The last of each row and column is the sum of the others; each candidate is used once."""
    facts = item["metadata"]
    puzzle, size = facts["puzzle"], len(facts["puzzle"])
    empty = [(r, c) for r in range(size) for c in range(size) if puzzle[r][c] == 0]
    last, numbers = size - 1, facts["candidate_numbers"]
    constraints = [f"g[{r},{c}] = {value}" for r, row in enumerate(puzzle) for c, value in enumerate(row) if value]
    constraints += [f"sum(c in 0..{last - 1}: g[r, c]) = g[r, {last}]".replace("r,", f"{r},") for r in range(size)]
    constraints += [f"sum(r in 0..{last - 1}: g[r, {c}]) = g[{last}, {c}]" for c in range(size)]
    cells = ", ".join(f"g[{r},{c}]" for r, c in empty)
    counts = sorted(set(numbers))
    constraints.append(f"global_cardinality([{cells}], {counts}, {[numbers.count(value) for value in counts]})")
    request = Solve(
        vars={"g": {"type": "int", "min": 0, "max": 10_000, "size": [size, size]}}, constraints=list(constraints)
    )

    def right(answer: Data) -> bool:
        grid = _grid(answer)
        used = sorted(grid[r][c] for r, c in empty)
        sums = all(sum(row[:-1]) == row[-1] for row in grid) and all(
            sum(grid[r][c] for r in range(last)) == grid[last][c] for c in range(size)
        )
        return sums and used == sorted(numbers)

    return request, right


def n_queens(item: Item) -> Puzzle:
    """One queen a row; columns and both diagonals all different; the given queens stay."""
    facts = item["metadata"]
    board = facts["puzzle"]
    size = len(board)
    constraints = [
        "all_different(q)",
        f"all_different(i in 0..{size - 1}: q[i] + i)",
        f"all_different(i in 0..{size - 1}: q[i] - i)",
    ]
    constraints += [f"q[{r}] = {row.index('Q')}" for r, row in enumerate(board) if "Q" in row]

    def right(answer: Data) -> bool:
        drawn = "\n".join(
            " ".join("Q" if c == answer["model"]["q"][r] else "_" for c in range(size)) for r in range(size)
        )
        return drawn in facts["valid_answers"]

    return Solve(
        vars={"q": {"type": "int", "min": 0, "max": size - 1, "size": [size]}}, constraints=list(constraints)
    ), right


def cryptarithm(item: Item) -> Puzzle:
    """Words as sums of digits times powers of ten."""
    facts = item["metadata"]

    def word(letters: str) -> str:
        return " + ".join(f"{10 ** (len(letters) - 1 - at)}*{letter}" for at, letter in enumerate(letters))

    words, result = facts["words_letters"], facts["result_letters"]
    constraints = [
        f"all_different({', '.join(facts['letters'])})",
        " + ".join(f"({word(one)})" for one in words) + f" = {word(result)}",
    ]
    if not facts["allow_leading_zero"]:
        constraints += [f"{letter} != 0" for letter in sorted({one[0] for one in [*words, result]})]

    def right(answer: Data) -> bool:
        digits = answer["model"]
        values = [int("".join(str(digits[letter]) for letter in one)) for one in [*words, result]]
        return sum(values[:-1]) == values[-1] and len(set(digits.values())) == len(digits)

    return Solve(vars=dict.fromkeys(facts["letters"], "int 0..9"), constraints=list(constraints)), right


def graph_color(item: Item) -> Puzzle:
    """Neighbours differ."""
    puzzle = item["metadata"]["puzzle"]
    size, colors = len(puzzle["vertices"]), puzzle["num_colors"]
    constraints = [f"color[{a}] != color[{b}]" for a, b in puzzle["edges"]]
    request = Solve(
        vars={"color": {"type": "int", "min": 1, "max": colors, "size": [size]}},
        constraints=list(constraints) or ["true"],
    )
    return request, lambda answer: all(
        answer["model"]["color"][a] != answer["model"]["color"][b] for a, b in puzzle["edges"]
    )


_PRIMES, _COMPOSITES = "2, 3, 5, 7", "4, 6"


def self_reference(item: Item) -> Puzzle:
    """Seven statements about each other; the answer is how many ways there are."""
    said = re.findall(r"Statement \d+: '(.*?)'", item["question"])
    size = len(said)
    forms: list[tuple[str, str]] = [
        (r"At least (\d+) of these \d+ statements are true\.", "count(s) >= {0}"),
        (r"At most (\d+) of these \d+ statements are false\.", f"{size} - count(s) <= {{0}}"),
        (r"Exactly (\d+) of these \d+ statements are true\.", "exactly({0}, s)"),
        (r"Exactly (\d+) of these \d+ statements are false\.", f"count(s) = {size} - {{0}}"),
        (r"Either Statement (\d+) or Statement (\d+) is true, but not both\.", "s[{0} - 1] xor s[{1} - 1]"),
        (r"The number of true statements is a prime number\.", f"count(s) in {{{{{_PRIMES}}}}}"),
        (r"The number of false statements is a composite number\.", f"({size} - count(s)) in {{{{{_COMPOSITES}}}}}"),
    ]
    constraints: list[Any] = []
    for at, text in enumerate(said):
        meaning = next(
            form.format(*found.groups()) for pattern, form in forms if (found := re.fullmatch(pattern, text))
        )
        constraints.append({"expr": f"s[{at}] <-> ({meaning})", "note": text})
    request = Solve(vars={"s": {"type": "bool", "size": [size]}}, constraints=constraints, solutions="all")

    def right(answer: Data) -> bool:
        found = len(answer.get("solutions") or []) if answer["result"] == "sat" else 0
        return found == int(item["answer"]) and (answer["result"] == "unsat" or answer["complete"] is True)

    return request, right


def simple_equations(item: Item) -> Puzzle:
    """One linear equation."""
    facts = item["metadata"]
    request = Solve(vars={facts["variable"]: "int"}, constraints=[facts["equation"]])
    return (
        request,
        lambda answer: answer["model"][facts["variable"]] == int(item["answer"]) and answer["unique"] is True,
    )


def circuit_logic(item: Item) -> Puzzle:
    """The published formula; A' is not A, + is or, & is and, ⊕ xor, ↑ nand and ↓ nor of a whole group."""
    facts = item["metadata"]
    inputs = {name: f"{name} = {'true' if value else 'false'}" for name, value in facts["assignments"].items()}

    def literal(text: str) -> str:
        return f"(not {text[:-1]})" if text.endswith("'") else text

    def joined(parts: list[str], sign: str) -> str:
        words = {"&": " and ", "+": " or ", "⊕": " xor ", "↑": " and ", "↓": " or "}
        text = "(" + words[sign].join(parts) + ")"
        return f"(not {text})" if sign in "↑↓" else text

    def term(text: str) -> str:
        sign = next((one for one in "&+⊕↑↓" if one in text), "&")
        return joined([literal(part) for part in text.split(sign)], sign)

    outer = {"OR": "+", "AND": "&", "XOR": "⊕", "NOR": "↓", "NAND": "↑"}[facts["final_gate"]]
    formula = joined([term(one) for one in facts["term_strings"]], outer)
    request = Solve(
        vars={**dict.fromkeys(inputs, "bool"), "out": "bool"}, constraints=[*inputs.values(), f"out <-> {formula}"]
    )
    return request, lambda answer: answer["model"]["out"] == (item["answer"] == "1") and answer["unique"] is True


def propositional_logic(item: Item) -> Puzzle:
    """The published conclusion must hold in every case that the premises allow."""
    facts = item["metadata"]
    request = Solve(
        vars=dict.fromkeys(facts["variables"], "bool"),
        constraints=list(facts["premises"]),
        options={"conclusion": facts["example_answer"]},
    )

    def right(answer: Data) -> bool:
        if answer["result"] == "unsat":
            return not _satisfiable(facts)
        return answer["options"][0]["verdict"] == (
            "must" if _follows(facts) else "may" if _possible(facts) else "cannot"
        )

    return request, right


def _worlds(facts: Data) -> list[tuple[bool, bool]]:
    """By brute force over the published text: whether premises and conclusion hold in each case."""
    found: list[tuple[bool, bool]] = []
    for values in itertools.product([False, True], repeat=len(facts["variables"])):
        world = dict(zip(facts["variables"], values, strict=True))
        found.append((all(_holds(text, world) for text in facts["premises"]), _holds(facts["example_answer"], world)))
    return found


def _satisfiable(facts: Data) -> bool:
    return any(premises for premises, _ in _worlds(facts))


def _follows(facts: Data) -> bool:
    return all(conclusion for premises, conclusion in _worlds(facts) if premises)


def _possible(facts: Data) -> bool:
    return any(premises and conclusion for premises, conclusion in _worlds(facts))


def _holds(text: str, world: dict[str, bool]) -> bool:
    """A fully bracketed formula of one-letter variables."""
    text = text.strip()
    if text in world:
        return world[text]
    if text.startswith("¬"):
        return not _holds(text[1:], world)
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 1 and char in "∧∨→↔":
            left, right = _holds(text[1:at], world), _holds(text[at + 1 : -1], world)
            return {"∧": left and right, "∨": left or right, "→": not left or right, "↔": left == right}[char]
    raise ValueError(text)


_ORDINALS = {word: at for at, word in enumerate(["first", "second", "third", "fourth", "fifth", "sixth"], start=1)}
_NATIONS = {"british": "brit", "brit": "brit", "chinese": "chinese", "dane": "dane", "german": "german"}


def zebra_puzzles(item: Item) -> Puzzle:
    """Houses and their owners, read from the published sentences."""
    question = item["question"]
    groups = re.findall(r"^ - (.*?): (.*)$", question, re.MULTILINE)
    houses = int(re.search(r"There are (\d+) houses", question)[1])  # type: ignore[index]
    names = {
        (heading, value): f"v{at}_{to}"
        for at, (heading, values) in enumerate(groups)
        for to, value in enumerate(values.split(", "))
    }
    constraints: list[Any] = [
        f"all_different({', '.join(name for (one, _), name in names.items() if one == heading)})"
        for heading, _ in groups
    ]
    for clue in re.findall(r"^\d+\. (.*)$", question, re.MULTILINE):
        constraints.append({"expr": _clue(clue.rstrip("."), names), "note": clue})  # noqa: PERF401
    request = Solve(vars=dict.fromkeys(names.values(), f"int 1..{houses}"), constraints=constraints)
    people = {name: value for (heading, value), name in names.items() if "name" in heading.split()[-1]}

    def right(answer: Data) -> bool:
        first = next(value for name, value in people.items() if answer["model"][name] == 1)
        return first == item["answer"]

    return request, right


def _clue(text: str, names: dict[tuple[str, str], str]) -> str:
    forms = [
        (r"(.+) is in the (\w+) house", lambda one, place: f"{one} = {_ORDINALS[place]}"),
        (r"(.+) is directly left of (.+)", lambda one, other: f"directly_left_of({one}, {other})"),
        (r"(.+) is directly right of (.+)", lambda one, other: f"directly_right_of({one}, {other})"),
        (r"(.+) is somewhere to the left of (.+)", lambda one, other: f"left_of({one}, {other})"),
        (r"(.+) and (.+) are next to each other", lambda one, other: f"next_to({one}, {other})"),
    ]
    for pattern, form in forms:
        if found := re.fullmatch(pattern, text):
            other = found[2] if found[2] in _ORDINALS else _named(found[2], names)
            return str(form(_named(found[1], names), other))
    # "the person who is the mother of Billy is Arnold": cut at the " is " that leaves a description on both sides
    for at in [found.start() for found in re.finditer(r" is ", text)]:
        one, other = _find(text[:at], names), _find(text[at + 4 :], names)
        if one and other and one != other:
            return f"{one} = {other}"
    raise ValueError(text)


def _named(text: str, names: dict[tuple[str, str], str]) -> str:
    found = _find(text, names)
    if found is None:
        raise ValueError(text)
    return found


def _find(text: str, names: dict[tuple[str, str], str]) -> str | None:
    """The entity that a description names; children and owners may share a name."""
    lowered = text.lower()
    child = "child is named" in lowered or "mother of" in lowered
    for (heading, value), name in names.items():
        words = (
            [spelled for spelled, nation in _NATIONS.items() if nation == value] if "nationalit" in heading else [value]
        )
        if ("child" in heading) == child and any(re.search(rf"\b{re.escape(word)}\b", lowered) for word in words):
            return name
    return None


KINDS: dict[str, Callable[[Item], Puzzle]] = {
    "knights_knaves": knights_knaves,
    "zebra_puzzles": zebra_puzzles,
    "mini_sudoku": mini_sudoku,
    "sudoku": sudoku,
    "futoshiki": futoshiki,
    "kakurasu": kakurasu,
    "survo": survo,
    "n_queens": n_queens,
    "cryptarithm": cryptarithm,
    "graph_color": graph_color,
    "self_reference": self_reference,
    "simple_equations": simple_equations,
    "circuit_logic": circuit_logic,
    "propositional_logic": propositional_logic,
}
