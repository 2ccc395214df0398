"""From rules to advice for one model and one task: nearest scope first, silence when nothing fits.

model+quantisation+thinking → family and size → class → silence. Evidence of a wider scope than the model's
own, or past its expiry, or of another version of the action, is capped at experimental and says so.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date

from msgspec import Struct

from .derive import N_ADVICE, capped
from .features import Features
from .profiles import Profile
from .records import Cell, Model
from .rules import Level, Rule

SIZE_RATIO = 1.5
"""Sizes this close count as the same band."""


class Advice(Struct, frozen=True, kw_only=True):
    """A rule as it applies here: its level after the caps, and each cap as a phrase."""

    rule: Rule
    level: Level
    caps: tuple[str, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether the figures speak for the action."""
        return self.rule.difference > 0


Fit = tuple[int, str]
"""How far the rule's model is from the one that asks (0 = the same), and the phrase that says it."""


def _same_name(rule: Model, asked: Model) -> bool:
    return bool(rule.name) and _plain(rule.name) == _plain(asked.name)


def _plain(name: str) -> str:
    """A model's name without path, file ending and separators, so that spellings of one model agree."""
    base = name.lower().rsplit("/", 1)[-1].removesuffix(".gguf")
    for ending in ("-instruct", "-it", "-chat"):
        base = base.removesuffix(ending)
    return base.replace("_", "-").replace(" ", "-").replace(":", "-")


def _same_size(rule: Model, asked: Model) -> bool:
    mine, theirs = rule.active_params_b or rule.params_b, asked.active_params_b or asked.params_b
    return mine > 0 and theirs > 0 and max(mine, theirs) <= SIZE_RATIO * min(mine, theirs)


def fit(rule: Model, asked: Model) -> Fit | None:
    """How near the measured model is to the one that asks; None when it says nothing about it."""
    about = f"measured on {rule.name or rule.kind}"
    if rule.thinking is not None and asked.thinking is not None and rule.thinking != asked.thinking:
        return None  # thinking turns effects round; its direction is never assumed
    unsure = rule.thinking is not None and asked.thinking is None
    if _same_name(rule, asked):
        if unsure or (rule.quantisation and asked.quantisation and rule.quantisation != asked.quantisation):
            return 1, f"{about} in another mode or quantisation"
        return 0, ""
    if rule.family and rule.family == asked.family and _same_size(rule, asked):
        return 2, f"{about}, a similar model"
    if rule.kind != "unknown" and rule.kind == asked.kind:
        return 3, f"{about}, another model of the class {rule.kind}"
    return None


def matches(cell: Cell, features: Features) -> bool:
    """Whether the task lies in the cell; what is not known lies in no range."""
    if cell.features_version != features.version or (cell.goal and cell.goal != features.goal):
        return False
    if cell.facts_exceed_ctx is not None and cell.facts_exceed_ctx != features.facts_exceed_ctx:
        return False
    return _within(cell.n_vars, features.n_vars) and _within(cell.n_atoms, features.n_atoms)


def _within(band: tuple[int, int] | None, value: int) -> bool:
    return band is None or (value > 0 and band[0] <= value <= band[1])


def _detail(cell: Cell) -> int:
    return sum((bool(cell.goal), cell.n_vars is not None, cell.n_atoms is not None, cell.facts_exceed_ctx is not None))


def about_model(
    rules: Iterable[Rule], profile: Profile, today: date, capabilities: Mapping[str, str]
) -> list[tuple[int, Advice]]:
    """Every rule that says something about this model, with its distance, nearest first.

    Args:
        rules: all there are.
        profile: who asks.
        today: for expiry.
        capabilities: current fingerprint by action; a rule of another one is capped.
    """
    found = [
        (near[0], _apply(rule, near, today, capabilities))
        for rule in rules
        if rule.contrast == "use" and (near := fit(rule.model, profile.model)) is not None
    ]
    return sorted(found, key=lambda pair: (pair[0], -_detail(pair[1].rule.cell), -pair[1].rule.pairs.n))


def _apply(rule: Rule, near: Fit, today: date, capabilities: Mapping[str, str]) -> Advice:
    caps = list(rule.caps)
    if near[1]:
        caps.append(near[1])
    if rule.expires and today > date.fromisoformat(rule.expires):
        caps.append(f"expired on {rule.expires}")
    if rule.capability and rule.capability != capabilities.get(rule.action, rule.capability):
        caps.append("measured on another version of the action")
    return Advice(rule=rule, level=capped(rule.level, harmful=rule.harmful) if caps else rule.level, caps=tuple(caps))


def choose(near: Iterable[tuple[int, Advice]], action: str, applies: Callable[[Cell], bool]) -> Advice | None:
    """The advice for one action and task out of `about_model`: nearest scope, then the most detailed cell.

    A cell with too few items is silent, and lets a wider one speak. At one distance, rules of equal detail that
    point different ways (two thinking modes, two models) cancel out.
    """
    fitting = [(d, a) for d, a in near if a.rule.action == action and applies(a.rule.cell)]
    if not fitting:
        return None
    distance, first = next((pair for pair in fitting if pair[1].rule.pairs.n >= N_ADVICE), fitting[0])
    rivals = [a for d, a in fitting if d == distance and _detail(a.rule.cell) == _detail(first.rule.cell)]
    if len({_direction(a) for a in rivals}) > 1:
        return Advice(rule=first.rule, level="neutral", caps=(*first.caps, "measurements disagree"))
    return first


def _direction(advice: Advice) -> int:
    return 0 if advice.level == "neutral" else 1 if advice.helps else -1


def as_task(features: Features) -> Callable[[Cell], bool]:
    """The test "does this cell hold the task" for `choose`."""
    return lambda cell: matches(cell, features)
