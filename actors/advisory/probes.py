"""Calibration items, made from a secret so that nobody can know them before, and tolerant grading of answers.

Every item is asked once. Answers never leave the server; what a client sends back is only compared.
"""

import hmac
import random
import re
from collections.abc import Callable
from itertools import permutations
from typing import Final, Literal

from msgspec import Struct

Kind = Literal["number", "order", "code", "pair"]
LIGHT_MIN: Final = 14
LIGHT_MAX: Final = 27
"""Digit sums between which a product of two 3-digit numbers, one of them a multiple of five, is light work."""
HEAVY_MIN: Final = 34
"""Digit sum from which a product without a factor of five is heavy."""
PUZZLE_PEOPLE: Final = 5
RECALL_TOKENS: Final = (500, 2_000, 8_000)
TOKENS_PER_FACT: Final = 11
"""Measured with Qwen's tokenizer: about three characters a token, as no tokenizer knows invented words."""
_NAMES: Final = ("Ada", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jana")
_SYLLABLES: Final = ("ba", "do", "fe", "gu", "ka", "li", "mo", "nu", "po", "ra", "su", "ti", "vo", "ze")
_NUMBER: Final = re.compile(r"-?\d{1,3}(?:[,._'\u00a0\u202f ]\d{3})+(?!\d)|-?\d+")
_CODE_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"


class Item(Struct, frozen=True, kw_only=True):
    """One question with what is needed to grade it. `choices`: the words that an answer may consist of."""

    id: str
    family: str
    text: str
    answer: str
    kind: Kind
    choices: tuple[str, ...] = ()
    size: int = 0


def product_family(a: int, b: int) -> str:
    """How hard a product of two 3-digit numbers is for a model without tools; "" when between the families."""
    digits = sum(int(d) for d in f"{a}{b}")
    five = a % 5 == 0 or b % 5 == 0
    if five and LIGHT_MIN <= digits <= LIGHT_MAX and a % 100 and b % 100:
        return "light"
    return "heavy" if not five and digits >= HEAVY_MIN else ""


def make_item(secret: bytes, nonce: str, index: int, family: str) -> Item:
    """The `index`-th item of the calibration `nonce`: the same for the same secret, unlike any other."""
    digest = hmac.digest(secret, f"{nonce}|{index}|{family}".encode(), "sha256")
    rng = random.Random(digest)  # noqa: S311 - seeded by an HMAC of the server's secret
    return _MAKERS[family](f"q{index + 1}", family, rng)


def _product(name: str, family: str, rng: random.Random) -> Item:
    while True:
        a, b = rng.randint(101, 999), rng.randint(101, 999)
        if product_family(a, b) == family:
            return Item(id=name, family=family, text=f"What is {a} * {b}?", answer=str(a * b), kind="number")


def _puzzle(name: str, family: str, rng: random.Random) -> Item:
    order: list[str] = rng.sample(_NAMES, PUZZLE_PEOPLE)
    clues = _clues(order, rng)
    text = (
        f"{', '.join(sorted(order))} stand in a row, place 1 to {PUZZLE_PEOPLE} from left to right. "
        f"{' '.join(text for text, _ in clues)} Name them from left to right."
    )
    return Item(id=name, family=family, text=text, answer=" ".join(order), kind="order", choices=tuple(order))


Clue = tuple[str, Callable[[tuple[str, ...]], bool]]


def _clues(order: list[str], rng: random.Random) -> list[Clue]:
    """True clues that leave exactly one order, proved by trying all; none of them can be left out."""
    possible = list(permutations(sorted(order)))
    kept: list[Clue] = []
    while sum(all(holds(p) for _, holds in kept) for p in possible) > 1:
        kept.append(_clue(order, rng))
    for clue in list(kept):
        without = [c for c in kept if c is not clue]
        if sum(all(holds(p) for _, holds in without) for p in possible) == 1:
            kept = without
    return kept


def _clue(order: list[str], rng: random.Random) -> Clue:
    left, right = sorted(rng.sample(range(len(order)), 2))
    a, b = order[left], order[right]
    kind = rng.choice(("before", "gap", "not_end"))
    if kind == "gap":
        between = right - left - 1
        text = f"{a} is left of {b} with {between} between them." if between else f"{a} is directly left of {b}."
        return text, lambda p: p.index(b) - p.index(a) == right - left
    if kind == "not_end" and 0 < left < len(order) - 1:
        return f"{a} is not at an end.", lambda p: 0 < p.index(a) < len(p) - 1
    return f"{a} is somewhere left of {b}.", lambda p: p.index(a) < p.index(b)


def _conditional(name: str, family: str, rng: random.Random) -> Item:
    number, (even, odd) = rng.randint(1000, 9999), rng.sample([_code(rng) for _ in range(4)], 2)
    text = f"If the number {number} is even, answer {even}, else answer {odd}."
    answer = odd if number % 2 else even
    return Item(id=name, family=family, text=text, answer=answer, kind="code", choices=(even, odd))


def _code(rng: random.Random) -> str:
    return "".join(rng.choice(_CODE_LETTERS) for _ in range(3)) + str(rng.randint(100, 999))


def _recall(name: str, family: str, rng: random.Random) -> Item:
    """Invented facts behind a first line with a code: a code that is lost tells of silent truncation."""
    size = int(family.removeprefix("recall_"))
    code, facts = _code(rng), _facts(size // TOKENS_PER_FACT, rng)
    who, what = facts[rng.randrange(len(facts) // 2, len(facts))]
    lines = [f"The code of the day is {code}.", *(f"{a} keeps the {b}." for a, b in facts)]
    text = "\n".join([*lines, f"Question: what is the code of the day, and what does {who} keep?"])
    return Item(
        id=name, family=family, text=text, answer=f"{code} {what}", kind="pair", choices=(code, what), size=size
    )


def _facts(count: int, rng: random.Random) -> list[tuple[str, str]]:
    people: dict[str, str] = {}
    while len(people) < count:
        people[_word(rng).capitalize()] = f"{_word(rng)} stone"
    return list(people.items())


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(3, 4)))


_MAKERS: Final[dict[str, Callable[[str, str, random.Random], Item]]] = {
    "light": _product,
    "heavy": _product,
    "puzzle": _puzzle,
    "conditional": _conditional,
    **{f"recall_{size}": _recall for size in RECALL_TOKENS},
}


def grade(item: Item, answer: object) -> bool | None:
    """Whether an answer is right; None when no answer can be read out of it."""
    text = _text(answer)
    match item.kind:
        case "number":
            found = _NUMBER.findall(text)
            return re.sub(r"[^\d-]", "", found[-1]) == item.answer if found else None
        case "order":
            named = _named(text, item.choices)[-len(item.choices) :]
            return " ".join(named) == item.answer if len(named) == len(item.choices) else None
        case "code":
            named = set(_named(text, item.choices))
            return item.answer in named if len(named) == 1 else None
        case "pair":
            return all(choice.lower() in text.lower() for choice in item.choices) if text.strip() else None


def _text(answer: object) -> str:
    """An answer as text: a list as its words, a whole float as the integer that was meant."""
    if isinstance(answer, list):
        return " ".join(map(_text, answer))
    return str(int(answer)) if isinstance(answer, float) and answer.is_integer() else str(answer)


def _named(text: str, choices: tuple[str, ...]) -> list[str]:
    """The choices as they occur in a text, in order, whatever their case."""
    pattern = re.compile("|".join(rf"\b{re.escape(c)}\b" for c in choices), re.IGNORECASE)
    by_lower = {c.lower(): c for c in choices}
    return [by_lower[found.lower()] for found in pattern.findall(text)]
