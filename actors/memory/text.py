"""Names and words: what may be stored, when two names are the same, and how text is cut for search."""

import re
import unicodedata
from typing import Final

NAME_MAX_CHARS: Final = 1_000
PASSAGE_MAX_CHARS: Final = 200_000
QUERY_MAX_CHARS: Final = 20_000

_ACRONYM = re.compile(r"(?:\w\.){2,}")
_CJK = re.compile(r"([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u3040-\u30ff]|[\U00020000-\U0003ffff])")
_WORD = re.compile(r"\w+(?:['’]\w+)?")  # noqa: RUF001 - the typographic apostrophe is meant

STOP_WORDS: Final = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could did do
    does doing down during each few for from further had has have having he her here hers him his how i if in into
    is it its itself just like me more most my no nor not now of off on once only or other our out over own same she
    should so some such than that the their them then there these they this those through to too under until up very
    was we were what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905 - sixty quoted words are no easier to read
)


class TextError(ValueError):
    """A text that cannot be stored; the message says why."""


def clean(value: object, *, limit: int = NAME_MAX_CHARS, fold: bool = True) -> str:
    """A text as it is stored: NFC, outer white space gone, inner white space single when `fold`.

    Raises:
        TextError: not a string, empty, with NUL or lone surrogates, or longer than `limit` characters.
    """
    if not isinstance(value, str):
        raise TextError(f"is {type(value).__name__}, not text")
    if "\0" in value:
        raise TextError("contains a NUL character")
    if any("\ud800" <= ch <= "\udfff" for ch in value):
        raise TextError("contains a lone surrogate (broken Unicode)")
    text = unicodedata.normalize("NFC", " ".join(value.split()) if fold else value.strip())
    if not text:
        raise TextError("is empty")
    if len(text) > limit:
        raise TextError(f"has {len(text)} characters, more than {limit}")
    return text


def normal(name: str) -> str:
    """The normal form under which a name is one entity: "New  york" is "new york", "U.S." is "us", "C" is not "C++"."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    folded = " ".join(folded.split())
    return _ACRONYM.sub(lambda match: match[0].replace(".", ""), folded)


def words(text: str) -> list[str]:
    """The words of a text, case-folded; each Han, kana or hangul sign counts as one word."""
    return _WORD.findall(segment(text.casefold()))


def content_words(text: str) -> list[str]:
    """The words that carry meaning; all words where only stop words are left."""
    found = words(text)
    return [word for word in found if word not in STOP_WORDS] or found


def segment(text: str) -> str:
    """A text with spaces around each sign of scripts that write without spaces, for the lexical index."""
    return _CJK.sub(r" \1 ", text)


def spans(text: str, *, longest: int = 6) -> list[str]:
    """Normal forms of every run of up to `longest` words, longest first, as candidates for exact names."""
    pieces = re.split(r"[\s,;:!?()\[\]\"“”]+", text)
    pieces = [piece for piece in pieces if piece]
    found: dict[str, None] = {}
    for size in range(min(longest, len(pieces)), 0, -1):
        for start in range(len(pieces) - size + 1):
            run = normal(" ".join(pieces[start : start + size]))
            for form in (run, run.rstrip(".'’"), re.sub(r"['’]s$", "", run)):  # noqa: RUF001
                if form and (size > 1 or form not in STOP_WORDS):
                    found.setdefault(form, None)
    return list(found)
