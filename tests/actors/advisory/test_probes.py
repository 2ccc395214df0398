"""Items: new each time, provably solvable, graded tolerantly, worthless to guess or to copy."""

import random
import re
from itertools import permutations

import pytest

from actors.advisory.calibration import ITEMS_MAX, RATES, next_families, plan, posterior, shipped, sprt
from actors.advisory.probes import RECALL_TOKENS, Item, grade, make_item, product_family

SECRET = b"for tests"


def test_the_same_secret_and_place_give_the_same_item_any_other_another():
    item = make_item(SECRET, "n", 0, "light")
    assert make_item(SECRET, "n", 0, "light") == item
    others = {make_item(*other, "light").text for other in [(b"other", "n", 0), (SECRET, "m", 0), (SECRET, "n", 1)]}
    assert item.text not in others
    assert len(others) == 3


def test_products_are_of_the_family_that_was_asked_for():
    for index in range(50):
        for family in ("light", "heavy"):
            item = make_item(SECRET, "n", index, family)
            a, b = map(int, re.findall(r"\d+", item.text))
            assert product_family(a, b) == family
            assert item.answer == str(a * b)


def _holds(clue, order):
    names = re.findall(r"[A-Z][a-z]+", clue)
    place = [order.index(n) for n in names]
    if "not at an end" in clue:
        return 0 < place[0] < len(order) - 1
    if between := re.search(r"with (\d) between", clue):
        return place[1] - place[0] == int(between[1]) + 1
    if "directly" in clue:
        return place[1] - place[0] == 1
    return place[0] < place[1]


def test_every_puzzle_has_exactly_the_one_solution_and_no_clue_too_many():
    """Read back from the text alone, by code that shares nothing with the generator."""
    for index in range(40):
        item = make_item(SECRET, "n", index, "puzzle")
        people = sorted(re.split(r", ", item.text.split(" stand in a row")[0]))
        clues = re.findall(r"[A-Z][a-z]+ is [^.]*\.", item.text)
        solutions = [p for p in permutations(people) if all(_holds(c, p) for c in clues)]
        assert [" ".join(s) for s in solutions] == [item.answer], item.text
        for left_out in clues:
            others = [c for c in clues if c != left_out]
            assert sum(all(_holds(c, p) for c in others) for p in permutations(people)) > 1, item.text


@pytest.mark.parametrize("size", RECALL_TOKENS)
def test_recall_items_have_their_size_and_hide_the_code_in_the_first_line(size):
    item = make_item(SECRET, "n", 0, f"recall_{size}")
    assert 0.6 * size <= len(item.text) / 4 <= 1.1 * size
    code, what = item.choices
    assert code in item.text.splitlines()[0]
    assert item.text.count(what) == 1


NUMBER = Item(id="q", family="light", text="", answer="1234567", kind="number")
ORDER = Item(id="q", family="puzzle", text="", answer="Ada Ben Eva", kind="order", choices=("Ada", "Ben", "Eva"))
CODE = Item(id="q", family="conditional", text="", answer="KQX123", kind="code", choices=("KQX123", "BTR456"))
PAIR = Item(id="q", family="recall_500", text="", answer="", kind="pair", choices=("KQX123", "bado stone"))


@pytest.mark.parametrize(
    ("item", "answer", "expected"),
    [
        (NUMBER, "1234567", True),
        (NUMBER, 1234567, True),
        (NUMBER, 1234567.0, True),
        (NUMBER, "1,234,567", True),
        (NUMBER, "1 234 567", True),
        (NUMBER, "127 * 9721 = **1,234,567**.", True),
        (NUMBER, r"\boxed{1234567}", True),
        (NUMBER, "1234568", False),
        (NUMBER, "-1234567", False),
        (NUMBER, "I cannot say", None),
        (ORDER, "Ada, Ben, Eva", True),
        (ORDER, ["ada", "ben", "eva"], True),
        (ORDER, "Since Ben is not first, it is: Ada, Ben, Eva", True),
        (ORDER, "Ben, Ada, Eva", False),
        (ORDER, "Ada", None),
        (CODE, "The answer is kqx123.", True),
        (CODE, "BTR456", False),
        (CODE, "KQX123 or BTR456", None),
        (PAIR, "The code is KQX123 and the bado stone.", True),
        (PAIR, "KQX123", False),
        (PAIR, "", None),
    ],
)
def test_grading_reads_what_was_meant(item, answer, expected):
    assert grade(item, answer) is expected


def test_the_posterior_follows_bayes():
    table = shipped()
    right = posterior(table, [("light", True)])
    weights = table.shares["light"]
    assert right == pytest.approx([w / sum(weights) for w in weights])
    assert posterior(table, []) == pytest.approx([1 / 3] * 3)


def test_every_course_of_a_class_sitting_ends_within_the_cap():
    def walk(answered):
        families = next_families("class", answered)
        assert len(answered) <= ITEMS_MAX
        if families:
            for right in (True, False):
                walk((*answered, *((f, right) for f in families)))

    walk(())


def test_the_plan_asks_on_while_it_pays_and_stops_when_it_is_sure():
    assert plan().next([]) is not None
    assert plan().next([("light", True), ("heavy", True), ("heavy", True)]) is None


@pytest.mark.parametrize("focus", ["puzzles", "hints"])
def test_the_sequential_test_decides_with_about_the_error_it_promises(focus):
    seed = 20_261_130
    rng = random.Random(seed)
    family, low, high = RATES[focus]
    wrong = 0
    for share, truth in [(low, "no"), (high, "yes")]:
        for _ in range(500):
            answered = []
            while len(answered) < 60 and not sprt(focus, answered):
                answered.append((family, rng.random() < share))
            wrong += sprt(focus, answered) not in ("", truth)
    assert wrong / 1000 <= 0.13, f"seed {seed}"


def test_recall_stops_at_the_first_text_that_did_not_hold():
    assert next_families("recall", ()) == ("recall_500",)
    assert next_families("recall", (("recall_500", True),)) == ("recall_2000",)
    assert next_families("recall", (("recall_500", False),)) == ()
