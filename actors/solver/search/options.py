"""What the constraints say about each option: it must hold, it may, it cannot."""

from typing import Literal

import z3

from protocol.actions.reason import Verdict

from ..clock import Budget
from ..dsl.problem import Item
from .engine import Engine

Word = Literal["must", "may", "cannot", "unknown"]


def judge(engine: Engine, item: Item, part: z3.BoolRef, budget: Budget) -> Verdict:
    """The verdict on one option; two questions to Z3, and one more for each statement of a list."""
    word = _verdict(engine, part, budget)
    holds = asked(item, word)
    if holds and item.also:
        holds = all(engine.check(engine.encoder.constraint(node), budget=budget) == "sat" for node in item.also)
    return Verdict(label=item.name, verdict=word, text=item.note or item.text, holds=holds)


def _verdict(engine: Engine, part: z3.BoolRef, budget: Budget) -> Word:
    with_it = engine.check(part, budget=budget)
    if with_it == "unsat":
        return "cannot"
    without_it = engine.check(z3.Not(part), budget=budget)
    if without_it == "unsat":
        return "must"
    return "may" if with_it == without_it == "sat" else "unknown"


def asked(item: Item, word: Word) -> bool | None:
    """Whether the verdict is what a Logic-LM option asks for; None when nothing is asked or known."""
    if item.ask is None or word == "unknown":
        return None
    match item.ask:
        case "must" | "accurate":
            return word == "must"
        case "may":
            return word in {"must", "may"}
        case "cannot":
            return word == "cannot"
        case _:
            return word != "must"


def answer(verdicts: list[Verdict], pick: str) -> list[str]:
    """The options that answer: those that hold what they ask, or the one that differs, or else those that must."""
    if any(verdict.holds is not None for verdict in verdicts):
        held = [verdict.label for verdict in verdicts if verdict.holds]
        others = [verdict.label for verdict in verdicts if verdict.holds is False]
        return others if pick == "differs" and len(others) == 1 else held
    return [verdict.label for verdict in verdicts if verdict.verdict == "must"]
