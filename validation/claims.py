"""The claims manifest: every claim of README and ARCHITECTURE with its words, its result and its tests."""

import re
import tomllib
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from validation.result import ROOT

MANIFEST: Final = Path(__file__).with_name("claims.toml")


class Quote(Struct, frozen=True, forbid_unknown_fields=True):
    """Words of a document that make the claim, exactly as they stand there (line breaks count as spaces)."""

    file: str
    text: str


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One claim.

    A hypothesis has `effect`, `interval` and `claimed`: paths into the result (keys joined by "/") and the effect
    that was claimed, in the same unit; a positive effect is in favour. A promise has `goal`: the name of a goal in
    the result, or the start of it; `short` names it in a plot. A property that only tests show has neither.
    """

    id: str
    says: str
    short: str = ""
    result: str = ""
    effect: str = ""
    interval: str = ""
    count: str = "n"
    claimed: float = 0.0
    claimed_by: str = ""
    unit: str = "points"
    scale: float = 1.0
    goal: str = ""
    quotes: tuple[Quote, ...] = ()
    tests: tuple[str, ...] = ()

    @property
    def hypothesis(self) -> bool:
        """Whether it is judged by its interval."""
        return bool(self.effect)


class _Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    claim: tuple[Claim, ...]


def load(path: Path = MANIFEST) -> tuple[Claim, ...]:
    """Every claim, in the manifest's order.

    Raises:
        msgspec.ValidationError: naming the field that is wrong.
    """
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Manifest).claim


def document(name: str) -> str:
    """A document's text on one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


_FIGURE: Final = re.compile(r"\d[\d.,]*\s?(?:%|ms\b|s\b|MiB\b|GiB\b|kB\b|MB\b|GB\b|tokens?\b|times\b|points\b)")
_FENCE: Final = re.compile(r"```.*?```", re.DOTALL)
_GENERATED: Final = re.compile(r"<!-- results -->.*?<!-- /results -->", re.DOTALL)


def statements(name: str) -> list[str]:
    """What a document says that needs evidence: promises in its lists, and every sentence with a measured figure.

    Promises are the bold points at the head of the README and the numbered points under "What must hold".
    """
    text = _GENERATED.sub("", _FENCE.sub("", (ROOT / name).read_text(encoding="utf-8")))
    promised = re.findall(r"^- \*\*[^\n]*(?:\n  [^\n]*)*", text.partition("\n## ")[0], re.MULTILINE)
    _, _, held = text.partition("## What must hold, always\n")
    promised += re.findall(r"^\d+\. [^\n]*(?:\n   [^\n]*)*", held.partition("\n## ")[0], re.MULTILINE)
    told = " ".join(text.split())
    sentences = re.split(r"(?<=[.:;])\s+(?=[A-Z`*|#-])", told)
    return [" ".join(one.split()) for one in promised] + [one for one in sentences if _FIGURE.search(one)]


def uncovered(name: str, claims: tuple[Claim, ...]) -> list[str]:
    """Statements of a document of which no claim quotes a part."""
    quotes = [quote.text for claim in claims for quote in claim.quotes if quote.file == name]
    return [statement for statement in statements(name) if not any(quote in statement for quote in quotes)]
