"""From records to rules: a pure function, so that a level can only be changed by measuring again.

recommended   n >= N_STRONG, Holm-adjusted lower bound > DELTA, and the held-out set has the same sign
discouraged   upper bound < 0; or upper bound < DELTA and the action is dearer
experimental  difference >= DELTA and P(difference > 0) >= CHANCE_MIN, or a strong level that a cap holds back
neutral       everything else; kept in the file, no hint
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby

import msgspec

from .inference import (
    Pairs,
    chance_of_gain,
    holm,
    holm_alphas,
    lower_bound,
    mcnemar_midp,
    p_above,
    p_below,
    upper_bound,
)
from .records import LIFETIME_DAYS, SCHEMA, Compliance, Cost, Record, record_id
from .rules import Evidence, Level, Rule

DELTA = 0.05
"""The smallest gain that is worth a call."""
ALPHA = 0.05
"""One-sided level of every bound."""
N_STRONG = 20
"""Pairs below which nothing is recommended: see the power table in docs/decisions/030."""
N_ADVICE = 10
"""Pairs below which a cell is silent."""
CHANCE_MIN = 0.8
LIKELY = "a likely gain whose bound does not clear the threshold yet"
DIGITS = 4


class Judged(msgspec.Struct, frozen=True):
    """A level and the sentence that says why."""

    level: Level
    why: str


def judge(
    pairs: Pairs, *, p_gain: float, p_loss: float, p_no_gain: float, heldout: float | None, dearer: bool
) -> Judged:
    """The level of one cell.

    Args:
        pairs: the derive split's counts.
        p_gain: Holm-adjusted p of "difference <= DELTA".
        p_loss: Holm-adjusted p of "difference >= 0".
        p_no_gain: Holm-adjusted p of "difference >= DELTA".
        heldout: the difference on held-out items; None when there are none.
        dearer: whether the action costs more tokens.
    """
    if pairs.n < N_ADVICE:
        return Judged("neutral", f"fewer than {N_ADVICE} items")
    if p_loss < ALPHA:
        return Judged("discouraged", "harmful: the upper bound is below 0")
    if dearer and p_no_gain < ALPHA:
        return Judged("discouraged", f"not worth its cost: the upper bound is below {DELTA}")
    if p_gain < ALPHA and pairs.n >= N_STRONG:
        return _confirmed(heldout)
    if pairs.difference >= DELTA and chance_of_gain(pairs) >= CHANCE_MIN:
        few = p_gain < ALPHA
        return Judged("experimental", f"a clear gain on fewer than {N_STRONG} items" if few else LIKELY)
    return Judged("neutral", "no difference shown")


def _confirmed(heldout: float | None) -> Judged:
    if heldout is None:
        return Judged("experimental", "the gain is clear, but no held-out items confirm it yet")
    if heldout <= 0:
        return Judged("neutral", "the held-out items do not confirm the gain")
    return Judged("recommended", f"the lower bound is above {DELTA} and held-out items agree")


def usable(record: Record) -> str:
    """Why no rule may rest on this record; "" when one may.

    Raises:
        ValueError: when its id does not match its content, so that counts cannot be touched up.
    """
    if record.record_id != record_id(record):
        raise ValueError(f"record {record.record_id} was changed after it was sealed")
    if record.schema != SCHEMA:
        return f"schema {record.schema} is not {SCHEMA}"
    if record.task_set.split in ("tune", "foreign"):
        return f"split {record.task_set.split}: shown, never derived from"
    return ""


def derive(records: Iterable[Record]) -> Evidence:
    """Every rule that the records support, with the records themselves."""
    ordered = tuple(sorted(records, key=lambda r: (r.action, r.release, r.record_id)))
    dropped = {r.record_id: why for r in ordered if (why := usable(r))}
    dropped |= _superseded([r for r in ordered if r.record_id not in dropped])
    kept = [r for r in ordered if r.record_id not in dropped]
    used = _split(kept, "derive")
    confirming = {_cell_key(cell[0]): cell for cell in _grouped(_split(kept, "heldout"), _cell_key)}
    rules = [rule for release in _grouped(used, lambda r: r.release) for rule in _rules_of(release, confirming)]
    return Evidence(schema=SCHEMA, records=ordered, rules=tuple(rules), dropped=dropped)


def verified(evidence: Evidence) -> Evidence:
    """The evidence, once its rules are seen to be what its records give.

    Raises:
        ValueError: when they are not: a rule was written or changed by hand.
    """
    if derive(evidence.records) != evidence:
        raise ValueError("the rules are not those that the records give; build the file anew")
    return evidence


def _grouped(records: Sequence[Record], key: Callable[[Record], str]) -> list[list[Record]]:
    return [list(group) for _, group in groupby(sorted(records, key=key), key=key)]


def _cell_key(record: Record) -> str:
    key = (record.action, record.contrast, record.arms, record.capability, record.model, record.cell)
    return msgspec.json.encode(key, order="deterministic").decode()


def _rules_of(records: Sequence[Record], confirming: Mapping[str, Sequence[Record]]) -> list[Rule]:
    """The rules of one release; its cells are tested together.

    Args:
        records: its derive split.
        confirming: the held-out records of each cell, measured in whatever release.
    """
    cells = _grouped(records, _cell_key)
    pooled = [_pool(cell) for cell in cells]
    adjusted = {
        "p_gain": holm([p_above(p, DELTA) for p in pooled]),
        "p_loss": holm([p_below(p, 0.0) for p in pooled]),
        "p_no_gain": holm([p_below(p, DELTA) for p in pooled]),
    }
    low_alpha = holm_alphas([p_above(p, DELTA) for p in pooled], ALPHA)
    high_alpha = holm_alphas([p_below(p, 0.0) for p in pooled], ALPHA)
    return [
        _rule(
            cell,
            pairs,
            {name: p[i] for name, p in adjusted.items()},
            (low_alpha[i], high_alpha[i]),
            confirming.get(_cell_key(cell[0]), ()),
        )
        for i, (cell, pairs) in enumerate(zip(cells, pooled, strict=True))
    ]


def _superseded(records: Sequence[Record]) -> dict[str, str]:
    """Why no rule may rest on some records: of two runs over the same items, in whatever release, the later counts."""
    latest: dict[tuple[str, str, str], Record] = {}
    earlier: dict[str, str] = {}
    for record in sorted(records, key=lambda r: (r.provenance.date, r.record_id)):
        if record.task_set.items_sha256:
            key = (_cell_key(record), record.task_set.split, record.task_set.items_sha256)
            if key in latest:
                earlier[latest[key].record_id] = f"its items were measured again: {record.record_id}"
            latest[key] = record
    return earlier


def _split(records: Sequence[Record], split: str) -> list[Record]:
    """The records of one split."""
    return [record for record in records if record.task_set.split == split]


def _pool(records: Sequence[Record]) -> Pairs:
    total = Pairs(0, 0, 0, 0)
    for record in records:
        total = total.plus(record.pairs)
    return total


def _rule(
    used: Sequence[Record],
    pairs: Pairs,
    p: Mapping[str, float],
    alphas: tuple[float, float],
    confirming: Sequence[Record],
) -> Rule:
    heldout = _pool(confirming).difference if confirming else None
    cost = _mean_cost(used)
    judged = judge(pairs, heldout=heldout, dearer=cost.dearer, **p)
    caps, first = _held_back(used), used[0]
    return Rule(
        action=first.action,
        contrast=first.contrast,
        model=first.model,
        cell=first.cell,
        level=capped(judged.level, harmful=p["p_loss"] < ALPHA) if caps else judged.level,
        why=judged.why,
        pairs=pairs,
        difference=round(pairs.difference, DIGITS),
        low=round(lower_bound(pairs, alphas[0]), DIGITS),
        high=round(upper_bound(pairs, alphas[1]), DIGITS),
        p=_significant(mcnemar_midp(pairs)),
        p_gain=_significant(p["p_gain"]),
        chance=round(chance_of_gain(pairs), DIGITS),
        heldout=None if heldout is None else round(heldout, DIGITS),
        release=first.release,
        records=tuple(r.record_id for r in (*used, *confirming)),
        sources=tuple(sorted({r.provenance.source for r in (*used, *confirming)})),
        capability=first.capability,
        cost=cost,
        compliance=Compliance(
            shown=sum(r.compliance.shown for r in used), followed=sum(r.compliance.followed for r in used)
        ),
        published=any(r.provenance.kind == "published" for r in used),
        caps=caps,
        measured=max(r.provenance.date for r in used),
        expires=min(_expiry(r) for r in used),
    )


def _significant(p: float) -> float:
    """A p-value to three digits that count, however small."""
    return float(f"{p:.3g}")


def capped(level: Level, *, harmful: bool) -> Level:
    """What is left of a level that something holds back: a cost alone is no reason to be wary."""
    if level == "recommended" or (level == "discouraged" and harmful):
        return "experimental"
    return "neutral" if level == "discouraged" else level


def _held_back(used: Sequence[Record]) -> tuple[str, ...]:
    """Counts that are not exact, or from an uncommitted tree, never carry more than experimental."""
    caps: list[str] = []
    if any(r.provenance.counts != "exact" for r in used):
        caps.append("the counts were reconstructed from published rates")
    if any(r.provenance.dirty for r in used):
        caps.append("measured on uncommitted code")
    return tuple(caps)


def _mean_cost(records: Sequence[Record]) -> Cost:
    n = sum(r.pairs.n for r in records) or 1

    def mean(name: str) -> float:
        return round(sum(getattr(r.cost, name) * r.pairs.n for r in records) / n, DIGITS)

    return Cost(**{name: mean(name) for name in Cost.__struct_fields__})


def _expiry(record: Record) -> str:
    if record.expires or not record.provenance.date:
        return record.expires
    return (date.fromisoformat(record.provenance.date) + timedelta(days=LIFETIME_DAYS)).isoformat()
