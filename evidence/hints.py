"""What advice says: sentences made from a rule's figures, never written for one rule, never about formats.

A reminder of an output format suppresses tool calls in small models (docs/decisions/032), so no template has one.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from .inference import wilson
from .lookup import Advice
from .profiles import Profile
from .records import Cell
from .rules import Rule

HINT_MAX_TOKENS = 120
SLOT_MAX_TOKENS = 36
"""The general sentence has 28, and the whole tool definition with it 388 of 400 (Qwen tokenizer)."""
_GOALS = {
    "optimize": "the best of many is wanted",
    "options": "options are to be judged",
    "enumerate": "all solutions are wanted",
}
"""The goals that an action's name does not tell."""
_PIECES = re.compile(r"[^\W\d_]+|\s(?=\d)|\d|[^\w\s]|_")
DEARER = "it costs more and gains too little, "
COMPLIANCE_MIN = 0.2
"""A hint that is surely followed less often than this is not worth its tokens in a prompt."""
HANDSHAKE = "Call meta.handshake with your model name once to get advice measured on models like you."


class Basis(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The figures under a sentence. `low`, `high`: one-sided 95 % bounds of `difference`, Holm-adjusted."""

    action: str
    level: str
    n: int
    right_with: int
    right_without: int
    difference: float
    low: float
    high: float
    p: float
    source: str
    measured: str = ""
    heldout: float | None = None
    when: str = ""
    why: str = ""
    caps: tuple[str, ...] = ()
    records: tuple[str, ...] = ()


def tokens(text: str) -> int:
    """The tokens of a sentence of ours: each word, digit and sign one, and one more before a number.

    Checked against Qwen's tokenizer, which splits numbers the most: never below it on our templates.
    """
    return len(_PIECES.findall(text))


def when(cell: Cell) -> str:
    """The kind of task in words, as a clause; "" for any task."""
    parts = [_GOALS[cell.goal]] if cell.goal in _GOALS else []
    if cell.facts_exceed_ctx is not None:
        parts.append("the facts do not fit your context" if cell.facts_exceed_ctx else "the facts fit your context")
    counts = [(cell.n_vars, "unknowns"), (cell.n_atoms, "conditions")]
    if told := " and ".join(f"{_band(band)} {noun}" for band, noun in counts if band):
        parts.append(f"there are {told}")
    return " and ".join(parts)


def _band(band: tuple[int, int]) -> str:
    return str(band[0]) if band[0] == band[1] else f"{band[0]} to {band[1]}"


def hint(advice: Advice) -> str:
    """The sentence for one piece of advice; "" for neutral."""
    rule, clause = advice.rule, when(advice.rule.cell)
    start = f"When {clause}, " if clause else ""
    figures = _figures(rule)
    sentence = {
        "recommended": f"use {rule.action}: {figures}.",
        "experimental": f"{'consider' if advice.helps else 'be wary of'} {rule.action}: {figures}, not yet certain.",
        "discouraged": f"do without {rule.action}: {'' if rule.harmful else DEARER}{figures}.",
        "neutral": "",
    }[advice.level]
    text = start + sentence
    return text[:1].upper() + text[1:] if sentence else ""


def _figures(rule: Rule) -> str:
    """Counts where they were counted; shares where only shares were published."""
    pairs = rule.pairs
    if rule.published:
        return f"{pairs.right_with / pairs.n:.0%} right with it, {pairs.right_without / pairs.n:.0%} without"
    return f"{pairs.right_with} of {pairs.n} right with it, {pairs.right_without} without"


def source(rule: Rule) -> str:
    """Who was measured, on how much, and whether it was published or measured here."""
    kind = "published figures" if rule.published else "measured"
    thinking = {True: ", thinking on", False: ", thinking off", None: ""}[rule.model.thinking]
    return f"{kind}, {rule.model.name or rule.model.kind}{thinking}, n={rule.pairs.n}"


def basis(advice: Advice) -> Basis:
    """The figures behind one piece of advice."""
    rule = advice.rule
    return Basis(
        action=rule.action,
        level=advice.level,
        n=rule.pairs.n,
        right_with=rule.pairs.right_with,
        right_without=rule.pairs.right_without,
        difference=rule.difference,
        low=rule.low,
        high=rule.high,
        p=rule.p,
        source=source(rule),
        measured=rule.measured,
        heldout=rule.heldout,
        when=when(rule.cell),
        why=rule.why,
        caps=advice.caps,
        records=rule.records,
    )


def ignored(rule: Rule) -> bool:
    """Whether the hint was shown and surely not followed often enough to be worth repeating."""
    shown, followed = rule.compliance.shown, rule.compliance.followed
    return shown > 0 and wilson(min(followed, shown), shown)[1] < COMPLIANCE_MIN


def prompt_hint(advices: Iterable[Advice], limit: int = HINT_MAX_TOKENS) -> tuple[str, tuple[Basis, ...]]:
    """The sentences that fit into `limit` tokens, strongest first, each with what it rests on."""
    order = {"recommended": 0, "discouraged": 1, "experimental": 2}
    speaking = [a for a in advices if hint(a) and not ignored(a.rule)]
    said: list[str] = []
    bases: list[Basis] = []
    for advice in sorted(speaking, key=lambda a: (order[a.level], -abs(a.rule.difference))):
        sentence = hint(advice)
        if tokens(" ".join([*said, sentence])) <= limit:
            said.append(sentence)
            bases.append(basis(advice))
    return " ".join(said), tuple(bases)


def slot(profile: Profile, advices: Iterable[Advice]) -> str:
    """The one sentence for the tool description, from daemon-wide state; "" keeps the general one.

    Without a forced profile the daemon serves any model, so nothing measured is true for all who read it.
    """
    return "" if profile.source == "default" else prompt_hint(advices, SLOT_MAX_TOKENS)[0]


def instructions(profile: Profile, advices: Iterable[Advice]) -> str:
    """The text for the server's `instructions`."""
    if profile.source == "default":
        return HANDSHAKE
    text, _ = prompt_hint(advices)
    return f"Advice measured for {profile.text}: {text}" if text else ""
