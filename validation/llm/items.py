"""The items of each group, made from a seed: invented names, so that no model has seen any of them."""

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from validation.benchmarks._h_words import Names, Triple, distractors, two_hops

Kind = Literal["facts", "alias", "puzzle"]
NOISE: Final = {"ha": 60, "heldout": 60, "hascale": 12, "ctx": 400, "hbe2e": 20}
"""Facts about others in the store beside those of the items, by group."""
FIRST_NAMES: Final[tuple[str, ...]] = ("Ann", "Bob", "Cid", "Dan", "Eva", "Fay", "Gus", "Hal")
ADJECTIVES: Final = ("amber", "brisk", "crooked", "distant", "early", "frozen", "gentle", "humble", "ivory", "jagged")
NOUNS: Final = ("anchor", "basket", "candle", "drum", "engine", "feather", "glove", "hammer")


class Item(Struct, frozen=True, kw_only=True):
    """One question. `params` is what a perfect caller would send to the solver; `alias`: what is taught."""

    id: str
    kind: Kind
    question: str
    gold: str
    params: dict[str, Any] = {}
    n_vars: int = 0
    n_atoms: int = 0
    alias: tuple[str, str] | None = None


class Group(Struct, frozen=True, kw_only=True):
    """Items with the facts that the store holds when they are asked."""

    name: str
    items: list[Item]
    facts: list[Triple] = []


def facts_group(name: str, n: int, seed: int, least: int = 0) -> Group:
    """Two-hop questions about invented people, among facts about others; at least `least` facts in all."""
    names = Names(seed)
    asked = two_hops(names, n)
    items = [
        Item(id=f"{name}-{seed}-{place}", kind="facts", question=one.question, gold=one.answer)
        for place, one in enumerate(asked)
    ]
    facts = [fact for one in asked for fact in (one.first, one.second)] + distractors(
        names, max(NOISE[name], least - 2 * n)
    )
    random.Random(seed).shuffle(facts)
    return Group(name=name, items=items, facts=facts)


def alias_group(name: str, n: int, seed: int) -> Group:
    """Questions in a phrase that only teaching links to its entity."""
    names, rng = Names(seed), random.Random(seed)
    phrases = [f"the {a} {noun}" for a, noun in itertools.product(ADJECTIVES, NOUNS)]
    rng.shuffle(phrases)
    items: list[Item] = []
    facts: list[Triple] = []
    for place, phrase in enumerate(phrases[:n]):
        person, town = names.one(), names.one()
        facts.append((person, "lives in", town))
        question = f"In which town does the person live whom we call {phrase}?"
        items.append(
            Item(id=f"{name}-{seed}-{place}", kind="alias", question=question, gold=town, alias=(phrase, person))
        )
    return Group(name=name, items=items, facts=facts + distractors(names, NOISE[name]))


def puzzle(rng: random.Random, size: int) -> tuple[str, str, dict[str, Any], int]:
    """An ordering puzzle with exactly one solution: question, answer, params, number of clues."""
    people: list[str] = rng.sample(FIRST_NAMES, size)
    places = dict(zip(people, rng.sample(range(1, size + 1), size), strict=True))
    clues: list[tuple[str, str]] = []
    left = [dict(zip(people, order, strict=True)) for order in itertools.permutations(range(1, size + 1))]
    while len(left) > 1:
        text, expression, holds = _clue(rng, people, places)
        kept = [one for one in left if holds(one)]
        if len(kept) < len(left):
            clues.append((text, expression))
            left = kept
    asked = rng.choice(people)
    told = " ".join(text for text, _ in clues)
    question = (
        f"{', '.join(people)} finished a race in the places 1 to {size}, one each; place 1 is the winner. {told} "
        f"In which place did {asked} finish?"
    )
    params = {
        "vars": {person.lower(): f"int 1..{size}" for person in people},
        "constraints": [f"all_different({', '.join(p.lower() for p in people)})", *(e for _, e in clues)],
    }
    return question, str(places[asked]), params, len(clues)


def _clue(
    rng: random.Random, people: Sequence[str], places: dict[str, int]
) -> tuple[str, str, Callable[[dict[str, int]], bool]]:
    one, other = rng.sample(list(people), 2)
    if places[one] > places[other]:
        one, other = other, one
    a, b = one.lower(), other.lower()
    gap = places[other] - places[one]
    match rng.randrange(3):
        case 0:
            return f"{one} finished before {other}.", f"{a} < {b}", lambda at: at[one] < at[other]
        case 1:
            text = f"{other} finished exactly {gap} place{'s' if gap > 1 else ''} after {one}."
            return text, f"{b} = {a} + {gap}", lambda at: at[other] == at[one] + gap
        case _:
            wrong = rng.choice([place for place in range(1, len(people) + 1) if place != places[one]])
            return f"{one} did not finish in place {wrong}.", f"{a} != {wrong}", lambda at: at[one] != wrong


def puzzle_group(name: str, n: int, seed: int, sizes: Sequence[int]) -> Group:
    """Ordering puzzles of the given sizes in turn."""
    rng = random.Random(seed)
    items: list[Item] = []
    for place in range(n):
        size = sizes[place % len(sizes)]
        question, gold, params, clues = puzzle(rng, size)
        items.append(
            Item(
                id=f"{name}-{seed}-{place}",
                kind="puzzle",
                question=question,
                gold=gold,
                params=params,
                n_vars=size,
                n_atoms=clues + 1,
            )
        )
    return Group(name=name, items=items)
