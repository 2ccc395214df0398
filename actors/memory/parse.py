"""From what a caller sends to a clean plan: each malformed item is named and left out, the rest goes on."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from protocol.actions.memory import Ingest, Rejected

from . import dates
from .text import PASSAGE_MAX_CHARS, TextError, clean, normal

REJECTED_SHOWN: Final = 20
DEFAULT_SOURCE: Final = "unnamed"
_ALIASES: Final[Mapping[str, str]] = {
    "s": "s", "subject": "s", "r": "r", "relation": "r", "p": "r", "predicate": "r", "o": "o", "object": "o",
    "valid_from": "valid_from", "valid_to": "valid_to", "weight": "weight",
}  # fmt: skip


class Triple(Struct, frozen=True):
    """A clean triple. `valid_from`/`valid_to`: seconds since 1970, half open. `passage`: place in the plan or -1."""

    subject: str
    relation: str
    object: str
    valid_from: int | None = None
    valid_to: int | None = None
    weight: float = 1.0
    passage: int = -1

    @property
    def text(self) -> str:
        """The fact as a phrase, as it is embedded and indexed."""
        return f"{self.subject} {self.relation} {self.object}"


class PassageText(Struct, frozen=True):
    """A clean passage."""

    text: str
    title: str | None = None
    key: str | None = None

    @property
    def full(self) -> str:
        """Title and text, as they are embedded and indexed."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Plan(Struct, frozen=True):
    """What one ingest will store, and what it leaves out."""

    source: str
    triples: list[Triple]
    passages: list[PassageText]
    rejected: list[Rejected]


class ItemError(ValueError):
    """A malformed item; the message says what is wrong."""


def plan(params: Ingest) -> Plan:
    """Check and clean everything in an ingest.

    Raises:
        TextError: when the source's own name cannot be used.
    """
    rejected: list[Rejected] = []
    passages: list[PassageText] = []
    triples: list[Triple] = []
    for index, passage in enumerate(params.passages):
        try:
            passages.append(_passage(passage.text, passage.title, passage.id))
        except TextError as error:
            rejected.append(Rejected(f"passages.{index}", f"the text {error}"))
            triples.extend(_triples(passage.triples, f"passages.{index}.triples", -1, rejected))
            continue
        triples.extend(_triples(passage.triples, f"passages.{index}.triples", len(passages) - 1, rejected))
    if params.text is not None:
        try:
            passages.append(_passage(params.text, None, None))
        except TextError as error:
            rejected.append(Rejected("text", f"the text {error}"))
    mine = len(passages) - 1 if params.text is not None and passages else -1
    triples.extend(_triples(params.triples, "triples", mine, rejected))
    return Plan(clean(params.source or DEFAULT_SOURCE), triples, passages, rejected)


def _passage(text: str, title: str | None, key: str | None) -> PassageText:
    return PassageText(
        clean(text, limit=PASSAGE_MAX_CHARS, fold=False),
        clean(title) if title is not None and title.strip() else None,
        clean(key) if key is not None and key.strip() else None,
    )


def _triples(items: list[Any], path: str, passage: int, rejected: list[Rejected]) -> Iterator[Triple]:
    for index, item in enumerate(items):
        try:
            yield _triple(item, passage)
        except (ItemError, TextError, dates.DateError) as error:
            rejected.append(Rejected(f"{path}.{index}", str(error)))


def _triple(item: Any, passage: int) -> Triple:
    fields = _fields(item)
    parts: list[str] = []
    for key, name in (("s", "subject"), ("r", "relation"), ("o", "object")):
        try:
            parts.append(clean(fields.get(key)))
        except TextError as error:
            raise ItemError(f"the {name} {error if key in fields else 'is missing'}") from error
    begin, end = fields.get("valid_from"), fields.get("valid_to")
    valid_from = None if begin is None else dates.start_of(_date(begin))
    valid_to = None if end is None else dates.end_of(_date(end))
    if valid_from is not None and valid_to is not None and valid_from >= valid_to:
        raise ItemError(f"valid_from {begin} is not before valid_to {end}")
    return Triple(parts[0], parts[1], parts[2], valid_from, valid_to, _weight(fields.get("weight", 1.0)), passage)


def _fields(item: Any) -> Mapping[str, Any]:
    if isinstance(item, list | tuple):
        if len(item) != 3:  # noqa: PLR2004 - a triple has three parts
            raise ItemError(f"has {len(item)} parts, not subject, relation, object")
        return dict(zip("sro", item, strict=True))
    if not isinstance(item, Mapping):
        raise ItemError(f"is {type(item).__name__}, not a list of three or an object with s, r, o")
    unknown = [str(key) for key in item if key not in _ALIASES]
    if unknown:
        raise ItemError(f"has unknown fields {', '.join(unknown[:5])}")
    return {_ALIASES[key]: value for key, value in item.items()}


def _date(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:04d}"
    if not isinstance(value, str):
        raise ItemError(f"a date is {type(value).__name__}, not text")
    return value


def _weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ItemError("the weight is not a number")
    if not math.isfinite(value) or not 0 < value <= 1e6:  # noqa: PLR2004
        raise ItemError("the weight is not between 0 and 1000000")
    return float(value)


def names(parsed: Plan) -> dict[str, str]:
    """Every entity that a plan names, titles of passages among them: normal form to the name first seen."""
    found: dict[str, str] = {}
    for triple in parsed.triples:
        found.setdefault(normal(triple.subject), triple.subject)
        found.setdefault(normal(triple.object), triple.object)
    for passage in parsed.passages:
        if passage.title:
            found.setdefault(normal(passage.title), passage.title)
    return found
