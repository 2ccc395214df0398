"""Advice against own judgement: replayed on measured outcomes of four models, with shams, no model needed."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from statistics import fmean
from typing import Any

from evidence.derive import N_ADVICE, derive
from evidence.features import Features
from evidence.inference import Pairs
from evidence.lookup import Advice, about_model, as_task, choose
from evidence.profiles import Profile
from evidence.records import Cell, Cost, Model, Record, TaskSet, sealed
from evidence.rules import Rule
from validation.benchmarks import _advisory_data as measured
from validation.benchmarks._advisory_data import Item
from validation.result import Goal, Measured
from validation.run import Context

SEED = 20_261_130
SPLITS = 20
TRAINING = (100, 400, 2_000)
TEST_ITEMS = 2_000
TOOL_RIGHT = 0.98
"""The calculator's share right, calling mistakes included: assumed, since the data has no forced arm."""
WEAK = "Llama-3.2-3B-Instruct"
WANTED_GAIN, WORST_LOSS, SHAM_SLACK = 0.15, -0.01, 0.01
TODAY = date(2026, 11, 30)
NOTES = [
    f"Assumes that advice is followed and that {TOOL_RIGHT:.0%} of called sums come out right.",
    "The models' own calls were recorded under a prompt that discouraged tools.",
    "Levels shuffled over the cells keep how often the evidence says 'call', and any call of so good a tool helps:",
    "that sham beats own where a model calls far too seldom. It stays below the advised arm everywhere.",
    "Two other shams, tried for the same reason: outcomes swapped at random within each pair (some cells look like a",
    "gain by chance and get an experimental 'call'), and calls dealt at random as often as own makes them.",
]
Direction = str
"""call | refrain | own"""
Policy = Callable[[Features], Direction]


def run(context: Context) -> Measured:
    """Derive rules from n items by the product's own function, apply them to others, compare with no advice."""
    by_model: dict[str, list[Item]] = defaultdict(list)
    for item in measured.items():
        by_model[item.model].append(item)
    splits = 3 if context.quick else SPLITS
    figures: dict[str, Any] = {}
    for model, items in by_model.items():
        context.progress(f"{model}: {splits} splits, n = {', '.join(map(str, TRAINING))}")
        figures[model] = {str(n): _summary(_replay(items, n, splits)) for n in TRAINING}
    goals = _goals(figures)
    weak, worst = figures[WEAK]["400"], min(_each(figures, "gain"))
    told = f"advised {weak['advised']['accuracy']:.3f}, own {weak['own']['accuracy']:.3f}"
    return Measured(
        headline=f"3B model, 400 items: {told}; worst mean change of any model {worst:+.3f}",
        figures={"models": figures, "tool_right_assumed": TOOL_RIGHT, "splits": splits, "test_items": TEST_ITEMS},
        goals=goals,
        n=TEST_ITEMS * splits,
        seed=SEED,
        notes=NOTES,
    )


def _goals(figures: dict[str, Any]) -> list[Goal]:
    gain = figures[WEAK]["400"]["gain"]
    worst = min(_each(figures, "gain"))
    early = max(_each(figures, "advised_below_min_items"))
    shuffled = max(_each(figures, "sham_levels_shuffled_gain"))
    behind = max(
        s - a for s, a in zip(_each(figures, "sham_levels_shuffled_gain"), _each(figures, "gain"), strict=True)
    )
    return [
        Goal("3B model, 400 items: advised - own", f">= +{WANTED_GAIN}", gain, gain >= WANTED_GAIN),
        Goal("worst change of any model", f">= {WORST_LOSS}", worst, worst >= WORST_LOSS),
        Goal(f"advice from cells under {N_ADVICE} items", "0", early, early == 0),
        Goal("sham, levels shuffled: best lead over advised", "<= 0", round(behind, 4), behind <= 0),
        Goal("sham, levels shuffled: best gain over own", f"<= {SHAM_SLACK}", shuffled, shuffled <= SHAM_SLACK),
    ]


def _each(figures: dict[str, Any], name: str) -> list[float]:
    return [by_n[name] for by_model in figures.values() for by_n in by_model.values()]


def features(question: str) -> Features:
    """What can be seen of a question: kind of sum, number of terms, digits (100 x most + fewest)."""
    numbers = re.findall(r"\d+", question)
    digits = [len(n) for n in numbers]
    kind = "product" if "*" in question else "remainder" if "%" in question else "sum"
    length = "two" if len(numbers) == 2 else "few" if len(numbers) <= 5 else "many"
    return Features(goal=f"{kind} of {length}", n_vars=len(numbers), n_atoms=100 * max(digits) + min(digits))


def _cells(seen: Features) -> tuple[Cell, Cell]:
    """The narrow cell and the wide one that a question belongs to."""
    most = seen.n_atoms // 100 * 100
    terms = (seen.n_vars, seen.n_vars) if seen.n_vars <= 5 else (seen.n_vars // 10 * 10, seen.n_vars // 10 * 10 + 9)
    fewest = (seen.n_atoms, seen.n_atoms) if seen.n_vars == 2 else (most, most + 99)
    return Cell(goal=seen.goal, n_vars=terms, n_atoms=fewest), Cell(goal=seen.goal, n_atoms=(most, most + 99))


def _learn(items: Sequence[Item], rng: random.Random, *, swapped: bool = False) -> tuple[Rule, ...]:
    """Rules from paired outcomes of the training items; `swapped` exchanges the arms of each pair at random."""
    counts: dict[Cell, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for item in items:
        with_, without = rng.random() < TOOL_RIGHT, rng.random() < item.right_alone
        if swapped and rng.random() < 0.5:
            with_, without = without, with_
        for cell in _cells(features(item.question)):
            counts[cell][(0 if without else 1) if with_ else (2 if without else 3)] += 1
    return derive(_record(cell, Pairs(*pairs)) for cell, pairs in counts.items()).rules


def _record(cell: Cell, pairs: Pairs) -> Record:
    record = Record(
        action="calculator",
        model=Model(name="replayed"),
        cell=cell,
        task_set=TaskSet(name="arithmetic"),
        pairs=pairs,
        cost=Cost(calls=1, tokens_with=60, tokens_without=30),
    )
    return sealed(record)


def _advised(rules: Sequence[Rule]) -> tuple[Policy, Callable[[Features], Advice | None]]:
    near = about_model(rules, Profile(model=Model(name="replayed"), source="declared"), TODAY, {})
    found: dict[Features, Advice | None] = {}

    def look(seen: Features) -> Advice | None:
        if seen not in found:
            found[seen] = choose(near, "calculator", as_task(seen))
        return found[seen]

    return (lambda seen: _direction(look(seen))), look


def _direction(advice: Advice | None) -> Direction:
    if advice is None or advice.level == "neutral":
        return "own"
    return "call" if advice.helps and advice.level != "discouraged" else "refrain"


def _shuffled(items: Sequence[Item], policy: Policy, rng: random.Random) -> Policy:
    """The same directions, dealt out to other kinds of question."""
    kinds = list(dict.fromkeys(_cells(features(i.question))[0] for i in items))
    seen = {_cells(f)[0]: policy(f) for f in (features(i.question) for i in items)}
    dealt = [seen[kind] for kind in kinds]
    rng.shuffle(dealt)
    table = dict(zip(kinds, dealt, strict=True))
    return lambda f: table[_cells(f)[0]]


def _score(items: Sequence[Item], policy: Policy) -> dict[str, float]:
    """Expected share right and share called."""
    called = [{"call": True, "refrain": False, "own": i.called}[policy(features(i.question))] for i in items]
    right = [TOOL_RIGHT if call else item.right_alone for item, call in zip(items, called, strict=True)]
    return {"accuracy": fmean(right), "calls": fmean(called)}


def _at_random(items: Sequence[Item]) -> dict[str, float]:
    """As many calls as the model makes by itself, on questions drawn at random."""
    calls = fmean(i.called for i in items)
    return {"accuracy": calls * TOOL_RIGHT + (1 - calls) * fmean(i.right_alone for i in items), "calls": calls}


def _replay(items: Sequence[Item], n: int, splits: int) -> list[dict[str, Any]]:
    return [_split(items, n, random.Random(f"{SEED} {n} {split}")) for split in range(splits)]


def _split(items: Sequence[Item], n: int, rng: random.Random) -> dict[str, Any]:
    mixed = rng.sample(list(items), len(items))
    test, training = mixed[:TEST_ITEMS], mixed[TEST_ITEMS : TEST_ITEMS + n]
    policy, look = _advised(_learn(training, rng))
    swapped, _ = _advised(_learn(training, rng, swapped=True))
    early = sum(
        1 for i in test if (a := look(features(i.question))) and a.level != "neutral" and a.rule.pairs.n < N_ADVICE
    )
    return {
        "own": _score(test, lambda _: "own"),
        "never": _score(test, lambda _: "refrain"),
        "always": _score(test, lambda _: "call"),
        "advised": _score(test, policy),
        "sham_levels_shuffled": _score(test, _shuffled(test, policy, rng)),
        "sham_outcomes_swapped": _score(test, swapped),
        "sham_calls_of_own_at_random": _at_random(test),
        "early": early,
        "spoken": fmean(policy(features(i.question)) != "own" for i in test),
    }


def _summary(splits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the splits; the gain with its least, greatest and 95 % interval of the mean."""
    shams = ("sham_levels_shuffled", "sham_outcomes_swapped", "sham_calls_of_own_at_random")
    arms = ("own", "never", "always", "advised", *shams)
    gains = [s["advised"]["accuracy"] - s["own"]["accuracy"] for s in splits]
    spread = (sum((g - fmean(gains)) ** 2 for g in gains) / max(1, len(gains) - 1)) ** 0.5
    half = 1.96 * spread / len(gains) ** 0.5
    means = {arm: {k: round(fmean(s[arm][k] for s in splits), 4) for k in ("accuracy", "calls")} for arm in arms}
    return {
        **means,
        "gain": round(fmean(gains), 4),
        "gain_interval": [round(fmean(gains) - half, 4), round(fmean(gains) + half, 4)],
        "gain_range": [round(min(gains), 4), round(max(gains), 4)],
        "share_advised": round(fmean(s["spoken"] for s in splits), 4),
        "advised_below_min_items": sum(s["early"] for s in splits),
        **{
            f"{a}_gain": round(means[a]["accuracy"] - means["own"]["accuracy"], 4) for a in arms if a.startswith("sham")
        },
    }
