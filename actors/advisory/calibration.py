"""Which item to ask next and when to stop: pure policy, the same for the same answers.

For the class, the optimal plan: by backward induction over all outcomes of up to `ITEMS_MAX` items, the next
family, or the end, that minimises P(wrong class) + `ITEM_COST` * items. For the other questions, Wald's
sequential test. Both may end unsure.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import log, prod
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from evidence import profiles
from evidence.inference import wilson
from evidence.profiles import CLASSES
from evidence.records import ModelClass
from protocol.actions.advisory import CalibrationResult

from .probes import RECALL_TOKENS

ITEMS_MAX = 8
ITEM_COST = 0.02
SURE = 0.6
"""A class less likely than this is called unsure."""
EXPIRES_S = 600
VALID_DAYS = 30
FIRST_ITEMS = 2
SPRT_ERROR = 0.1

Focus = Literal["class", "puzzles", "hints", "recall"]
Answered = tuple[str, bool | None]
"""Family, and right, wrong or unreadable."""
RATES: Mapping[str, tuple[str, float, float]] = {"puzzles": ("puzzle", 0.4, 0.8), "hints": ("conditional", 0.5, 0.9)}
"""Focus → family, and the shares right of a model that cannot and of one that can."""
_TABLE = Path(profiles.__file__).parent / "data" / "probes.json"


class ProbeTable(Struct, frozen=True):
    """`evidence/data/probes.json`: the share right by family, in the order of `CLASSES`, and its source."""

    source: str
    shares: dict[str, tuple[float, float, float]]
    items: dict[str, int]


@cache
def shipped() -> ProbeTable:
    """The table that ships: fitted on half of the measured items, the other half tests it."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=ProbeTable)


def posterior(table: ProbeTable, answered: Sequence[Answered]) -> tuple[float, ...]:
    """P(class | answers), each class equally likely before; unreadable counts as wrong."""
    weights = [prod(_likelihood(table, family, right, i) for family, right in answered) for i in range(len(CLASSES))]
    return tuple(w / sum(weights) for w in weights)


def _likelihood(table: ProbeTable, family: str, right: bool | None, index: int) -> float:
    share = table.shares[family][index]
    return share if right else 1 - share


class Plan:
    """The optimal plan for one table; states are the numbers right and wrong by family."""

    def __init__(self, table: ProbeTable) -> None:
        self._table = table
        self._families = tuple(table.shares)
        self._value = cache(self._solve)

    def next(self, answered: Sequence[Answered]) -> str | None:
        """The family to ask next; None = enough is known."""
        state = tuple(
            sum(1 for f, right in answered if f == family and bool(right) is wanted)
            for family in self._families
            for wanted in (True, False)
        )
        return self._value(state)[1]

    def _solve(self, state: tuple[int, ...]) -> tuple[float, str | None]:
        chances = posterior(self._table, self._answers(state))
        best: tuple[float, str | None] = (1 - max(chances), None)
        if sum(state) >= ITEMS_MAX:
            return best
        for i, family in enumerate(self._families):
            share = sum(c * s for c, s in zip(chances, self._table.shares[family], strict=True))
            right, wrong = self._value(_plus(state, 2 * i))[0], self._value(_plus(state, 2 * i + 1))[0]
            best = min(best, (ITEM_COST + share * right + (1 - share) * wrong, family), key=lambda v: v[0])
        return best

    def _answers(self, state: tuple[int, ...]) -> list[Answered]:
        return [
            (family, wanted)
            for i, family in enumerate(self._families)
            for wanted, count in ((True, state[2 * i]), (False, state[2 * i + 1]))
            for _ in range(count)
        ]


def _plus(state: tuple[int, ...], index: int) -> tuple[int, ...]:
    return (*state[:index], state[index] + 1, *state[index + 1 :])


@cache
def plan() -> Plan:
    """The plan for the table that ships."""
    return Plan(shipped())


def next_families(focus: Focus, answered: Sequence[Answered]) -> tuple[str, ...]:
    """What to ask next; () = done. The first step asks several at once, to save a round."""
    if focus == "class":
        family = plan().next(answered)
        return () if family is None else (family,) * (FIRST_ITEMS if not answered else 1)
    if focus == "recall":
        lost = bool(answered) and not answered[-1][1]
        return () if lost or len(answered) == len(RECALL_TOKENS) else (f"recall_{RECALL_TOKENS[len(answered)]}",)
    if sprt(focus, answered) or len(answered) >= ITEMS_MAX:
        return ()
    return (RATES[focus][0],) * (FIRST_ITEMS if not answered else 1)


def sprt(focus: str, answered: Sequence[Answered]) -> Literal["yes", "no", ""]:
    """Wald's sequential test between "cannot" and "can" at 10 % error each; "" = not decided."""
    _, low, high = RATES[focus]
    ratio = sum(log(high / low) if right else log((1 - high) / (1 - low)) for _, right in answered)
    bound = log((1 - SPRT_ERROR) / SPRT_ERROR)
    return "yes" if ratio >= bound else "no" if ratio <= -bound else ""


def class_found(answered: Sequence[Answered]) -> tuple[ModelClass, float]:
    """The most likely class and its posterior; unknown when that is below `SURE`."""
    chances = posterior(shipped(), answered)
    index = max(range(len(chances)), key=lambda i: chances[i])
    return (CLASSES[index] if chances[index] >= SURE else "unknown"), chances[index]


def context_found(answered: Sequence[Answered]) -> int:
    """Tokens of the largest text that was recalled when a larger one was not; 0 = no bound was met."""
    held = [size for size, (_, right) in zip(RECALL_TOKENS, answered, strict=False) if right]
    lost = len(held) < len(answered)
    return max(held, default=RECALL_TOKENS[0] // 2) if lost else 0


def result(focus: Focus, answered: Sequence[Answered]) -> CalibrationResult:
    """What the answers show, with its interval."""
    right, asked = sum(1 for _, r in answered if r), len(answered)
    low, high = wilson(right, asked)
    verdict, confidence = _verdict(focus, answered)
    return CalibrationResult(
        focus=focus,
        verdict=verdict,
        confidence=round(confidence, 3),
        asked=asked,
        right=right,
        unreadable=sum(1 for _, r in answered if r is None),
        share=round(right / asked, 3),
        low=round(low, 3),
        high=round(high, 3),
        by_family={f: _told(f, answered) for f in dict.fromkeys(f for f, _ in answered)},
        note="Whether a tool was used cannot be seen from here; it would only spoil this model's own advice.",
    )


def _verdict(focus: Focus, answered: Sequence[Answered]) -> tuple[str, float]:
    if focus == "class":
        kind, confidence = class_found(answered)
        return ("unsure" if kind == "unknown" else kind), confidence
    if focus == "recall":
        held = sum(1 for _, r in answered if r)
        return (f"up to {RECALL_TOKENS[held - 1]} tokens" if held else "no"), 1.0
    verdict = sprt(focus, answered)
    return (verdict or "unsure"), (1 - SPRT_ERROR if verdict else 0.5)


def _told(family: str, answered: Sequence[Answered]) -> str:
    of_family = [r for f, r in answered if f == family]
    return f"{sum(1 for r in of_family if r)} of {len(of_family)}"
