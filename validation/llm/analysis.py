"""From trials to figures and evidence records: shares, paired differences, how calls were made, what they cost."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from evidence.records import Cell, Compliance, Cost, Model, Record, TaskSet, capability, items_sha256, to_json
from protocol.contract import BY_NAME
from validation import paired

from .conversation import Trial
from .items import Item
from .plan import GroupPlan

Arms = Mapping[str, Mapping[str, Trial]]
"""Arm → item → trial."""
ACTION = {"facts": "memory.recall", "alias": "memory.recall", "puzzle": "reason.solve"}
WITH = ("memory", "solver")
WITHOUT = ("alone", "context", "never", "untaught")


def arms(trials: Iterable[Trial], *, thinking: bool) -> dict[str, dict[str, Trial]]:
    """The trials of one way of thinking, by arm and item."""
    found: dict[str, dict[str, Trial]] = {}
    for trial in trials:
        if trial.thinking == thinking:
            found.setdefault(trial.arm, {})[trial.item] = trial
    return found


def in_both(by_arm: Arms, first: str, second: str) -> list[str]:
    """The items that were asked in both arms."""
    return sorted(by_arm.get(first, {}).keys() & by_arm.get(second, {}).keys())


def compared(by_arm: Arms, first: str, second: str) -> dict[str, Any] | None:
    """First arm minus second on the items of both; None when there are none."""
    items = in_both(by_arm, first, second)
    if not items:
        return None
    right = [[by_arm[arm][item].right for item in items] for arm in (first, second)]
    return {"arms": [first, second], **paired.difference(*right)}


def summary(trials: Sequence[Trial]) -> dict[str, Any]:
    """One arm: share right, how it called, what it cost."""
    n = len(trials)
    return {
        **paired.share(sum(t.right for t in trials), n),
        "unreadable": sum(not t.readable for t in trials),
        "timeouts": sum(t.timeouts for t in trials),
        "calls": {kind: sum(getattr(t, kind) for t in trials) for kind in ("native", "printed", "served", "refused")},
        "called": sum(t.served + t.refused > 0 for t in trials),
        "tokens_mean": round(sum(t.prompt_tokens + t.reply_tokens for t in trials) / n, 1),
        "s_mean": round(sum(t.ms for t in trials) / n / 1000, 2),
    }


def oracle(by_arm: Arms) -> dict[str, Any] | None:
    """The best that choosing could give: right when either never or always is."""
    items = in_both(by_arm, "never", "always")
    right = sum(by_arm["never"][item].right or by_arm["always"][item].right for item in items)
    return paired.share(right, len(items)) if items else None


def group_figures(plan: GroupPlan, by_arm: Arms) -> dict[str, Any]:
    """One group and way of thinking."""
    figures: dict[str, Any] = {arm: summary(list(found.values())) for arm, found in by_arm.items()}
    figures["compared"] = {
        name: found for name, (one, other) in plan.compare.items() if (found := compared(by_arm, one, other))
    }
    best = oracle(by_arm)
    return figures | ({"oracle": best} if best else {})


class Source(Struct, frozen=True, kw_only=True):
    """What the records of one group have in common."""

    group: str
    plan: GroupPlan
    by_arm: Arms
    model: Model
    seed: int


def records(source: Source, items: Sequence[Item]) -> list[dict[str, Any]]:
    """The records of one group: one for each comparison and kind of item."""
    found: list[dict[str, Any]] = []
    for first, second in source.plan.compare.values():
        both = set(in_both(source.by_arm, first, second))
        for kind in sorted({item.kind for item in items}):
            mine = [item for item in items if item.kind == kind and item.id in both]
            if mine:
                found.append(to_json(_record(source, mine, first, second)))
    return found


def _record(source: Source, items: Sequence[Item], first: str, second: str) -> Record:
    withs = [source.by_arm[first][item.id] for item in items]
    withouts = [source.by_arm[second][item.id] for item in items]
    action = ACTION[items[0].kind]
    hints = [trial for trial in withs if trial.hint]
    return Record(
        action=action,
        model=source.model,
        cell=_cell(source.group, items),
        task_set=TaskSet(
            name=source.group,
            split=source.plan.split,
            items_sha256=items_sha256([item.id for item in items]),
            seed=source.seed,
        ),
        pairs=paired.pairs([t.right for t in withs], [t.right for t in withouts]),
        contrast="use" if second in WITHOUT and first in WITH else "advice",
        arms=(first, second),
        capability=capability(BY_NAME[action]),
        invalid_with=sum(not t.readable for t in withs),
        invalid_without=sum(not t.readable for t in withouts),
        cost=Cost(
            calls=_mean([t.served + t.refused for t in withs]),
            tokens_with=_mean([t.prompt_tokens + t.reply_tokens for t in withs]),
            tokens_without=_mean([t.prompt_tokens + t.reply_tokens for t in withouts]),
            ms_with=_mean([t.ms for t in withs]),
            ms_without=_mean([t.ms for t in withouts]),
        ),
        compliance=Compliance(shown=len(hints), followed=sum(_followed(t) for t in hints)),
    )


def _cell(group: str, items: Sequence[Item]) -> Cell:
    if items[0].kind != "puzzle":
        return Cell(goal="recall", facts_exceed_ctx={"ctx": True, "hascale": False}.get(group))
    sizes = [item.n_vars for item in items]
    return Cell(goal="solve", n_vars=(min(sizes), max(sizes)))


def _followed(trial: Trial) -> bool:
    """Whether the model did what the hint says: called when it speaks for the call, else not."""
    called = trial.served + trial.refused > 0
    return called != trial.hint.casefold().startswith(("do without", "reason.solve may not", "memory.recall may not"))


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 1)
