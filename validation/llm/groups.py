"""Which items each group asks, in which arms, in which order."""

import random
from collections.abc import Sequence

from .conversation import CHARS_PER_TOKEN
from .items import Group, Item, alias_group, facts_group, puzzle_group
from .plan import GroupPlan

ORDER = ("ha", "hascale", "ctx", "hbe2e", "hc", "hard", "heldout", "cal", "adv")
"""The groups that evidence is derived from come before the one that is advised by it."""
CHARS_PER_FACT = 40
_SEEDS = {name: place for place, name in enumerate(ORDER)}


def make(name: str, plan: GroupPlan, seed: int, window: int) -> Group:
    """A group's items and facts.

    Args:
        window: the model's context in tokens; `ctx` stores twice what it holds.
    """
    own = 100 * seed + _SEEDS[name]
    match name:
        case "ha" | "hascale":
            return facts_group(name, plan.n, own)
        case "ctx":
            return facts_group(name, plan.n, own, least=int(2 * window * CHARS_PER_TOKEN / CHARS_PER_FACT))
        case "hbe2e":
            return alias_group(name, plan.n, own)
        case "cal":
            return Group(name=name, items=[])
        case "heldout":
            facts = facts_group(name, plan.n, own)
            puzzles = puzzle_group("heldout-p", plan.n, own, plan.sizes)
            return Group(name=name, items=[*facts.items, *puzzles.items], facts=facts.facts)
        case _:
            return puzzle_group(name, plan.n, own, plan.sizes)


def first(group: Group, n: int) -> Group:
    """The first n items of each kind, among the facts of all: asking more later goes on with the same store."""
    chosen = [item for kind in sorted({item.kind for item in group.items}) for item in _of_kind(group, kind)[:n]]
    return Group(name=group.name, items=chosen, facts=group.facts)


def _of_kind(group: Group, kind: str) -> list[Item]:
    return [item for item in group.items if item.kind == kind]


def arms_of(item: Item, plan: GroupPlan) -> list[str]:
    """The arms that make sense for an item: the solver is no rival on facts, nor the memory on puzzles."""
    other = "memory" if item.kind == "puzzle" else "solver"
    return [arm for arm in plan.arms if arm != other]


def order(items: Sequence[Item], plan: GroupPlan, thinkings: Sequence[bool], seed: int) -> list[tuple[Item, str, bool]]:
    """Every trial: items in turn, so that a stopped run has whole pairs; the arms of each in random order."""
    rng = random.Random(seed)
    found: list[tuple[Item, str, bool]] = []
    for item in items:
        trials = [(item, arm, thinking) for arm in arms_of(item, plan) for thinking in thinkings]
        rng.shuffle(trials)
        found += trials
    return found
