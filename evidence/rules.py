"""Rules: what the records say about an action, for a model and a kind of task. Built, never written by hand."""

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from .inference import Pairs
from .records import Cell, Compliance, Cost, Model, Record

Level = Literal["recommended", "experimental", "discouraged", "neutral"]
EVIDENCE = Path(__file__).parent / "data" / "evidence.json"


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One verdict with the figures that it rests on.

    `low` and `high` are one-sided 95 % bounds of the difference, Holm-adjusted over the release; `p_gain` is the
    Holm-adjusted p of "the gain is at most DELTA"; `p` is McNemar's mid-p; `chance` is P(difference > 0).
    `caps` says why a level is lower than the bounds alone would give.
    """

    action: str
    contrast: str
    model: Model
    cell: Cell
    level: Level
    why: str
    pairs: Pairs
    difference: float
    low: float
    high: float
    p: float
    p_gain: float
    chance: float
    release: str
    records: tuple[str, ...]
    sources: tuple[str, ...]
    heldout: float | None = None
    capability: str = ""
    cost: Cost = Cost()
    compliance: Compliance = Compliance()
    published: bool = False
    caps: tuple[str, ...] = ()
    measured: str = ""
    expires: str = ""

    @property
    def harmful(self) -> bool:
        """Whether the bounds say that the action does harm, and not only that it costs more than it gains."""
        return self.high < 0


class Evidence(Struct, frozen=True, kw_only=True):
    """`evidence/data/evidence.json`: every record and every rule that follows from them."""

    schema: int
    records: tuple[Record, ...] = ()
    rules: tuple[Rule, ...] = ()
    dropped: dict[str, str] = {}
    """Record id → why no rule may rest on it."""


@cache
def shipped() -> Evidence:
    """The evidence that comes with this version.

    Raises:
        msgspec.DecodeError, OSError: when the file is damaged or missing.
    """
    return load(EVIDENCE)


def load(path: Path) -> Evidence:
    """One evidence file, strictly decoded."""
    return msgspec.json.decode(path.read_bytes(), type=Evidence)
