"""From result files to verdicts, by rule and without judgement.

A hypothesis is *supported* when its 95 % interval lies above zero, *not supported* when it lies below the effect
that was claimed, else *undecided*. A promise is met or missed as its benchmark wrote it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from validation.claims import Claim

from .files import Result

Verdict = Literal["supported", "not supported", "undecided", "not measured"]


class Row(Struct, frozen=True, kw_only=True):
    """A hypothesis with what was measured; `low` and `high` are the ends of its 95 % interval."""

    id: str
    says: str
    short: str = ""
    verdict: Verdict
    measured: float = 0.0
    low: float = 0.0
    high: float = 0.0
    claimed: float = 0.0
    claimed_by: str = ""
    unit: str = ""
    n: int = 0
    source: str = ""


class Promise(Struct, frozen=True, kw_only=True):
    """One goal of one result file."""

    name: str
    wanted: str
    measured: Any
    met: bool
    source: str


def judge(low: float, high: float, claimed: float) -> Verdict:
    """The rule.

    Args:
        low: lower end of the 95 % interval of the effect; high: its upper end.
        claimed: the effect that was claimed, above zero.
    """
    if low > 0:
        return "supported"
    return "not supported" if high < claimed else "undecided"


def row(claim: Claim, results: Mapping[str, Result]) -> Row:
    """A hypothesis judged.

    Raises:
        KeyError: when the result is there and lacks the figure.
    """
    found = results.get(claim.result)
    if found is None or found.at(claim.effect.rpartition("/")[0]) is None:
        return Row(id=claim.id, says=claim.says, verdict="not measured", claimed=claim.claimed, unit=claim.unit)
    low, high = (claim.scale * float(end) for end in found.at(claim.interval))
    return Row(
        id=claim.id,
        says=claim.says,
        short=claim.short or claim.says,
        verdict=judge(low, high, claim.claimed),
        measured=claim.scale * float(found.at(claim.effect)),
        low=low,
        high=high,
        claimed=claim.claimed,
        claimed_by=claim.claimed_by,
        unit=claim.unit,
        n=int(found.at(claim.count)),
        source=found.source,
    )


def rows(claims: Sequence[Claim], results: Mapping[str, Result]) -> list[Row]:
    """Every hypothesis of the manifest."""
    return [row(claim, results) for claim in claims if claim.hypothesis]


def promises(results: Mapping[str, Result]) -> list[Promise]:
    """Every goal of every result."""
    return [
        Promise(
            name=goal["name"], wanted=goal["wanted"], measured=goal["measured"], met=goal["met"], source=found.source
        )
        for found in results.values()
        for goal in found.body["goals"]
    ]


def goal(claim: Claim, results: Mapping[str, Result]) -> Promise | None:
    """The goal that a claim rests on; None when it was not measured."""
    found = results.get(claim.result)
    mine = promises({claim.result: found}) if found else []
    return next((promise for promise in mine if promise.name.startswith(claim.goal)), None)
