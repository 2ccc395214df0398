"""Names and words: what may be stored, when two names are the same, and how text is cut for search."""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

NAME_MAX_CHARS: Final = 1_000
PASSAGE_MAX_CHARS: Final = 200_000
QUERY_MAX_CHARS: Final = 20_000

LATIN_LAST: Final = 0x24F

_ACRONYM = re.compile(r"(?:\w\.){2,}")
_CJK = re.compile(r"([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u3040-\u30ff]|[\U00020000-\U0003ffff])")
_BETWEEN = re.compile(r"[\s,;:!?()\[\]\"“”]+")
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


ENGLISH_WORDS: Final = STOP_WORDS - frozenset(
    ["a", "am", "an", "as", "at", "be", "by", "do", "he", "i", "in", "me", "my", "no", "on", "or", "so", "was", "we"]
)
FOREIGN_WORDS: Final = frozenset(
    """
    alla auf bei che chi come como con cosa cuál cuándo cuánto da dans das de del della dem den der di dos dove du
    dónde ein eine einem einen einer el em en es est et für gibt gli haben hat heeft het il im ist la lag las le les
    lo los mein meine meines mit naar nach nicht niet nous ont os où para per pour quale quand quando que quel
    quelle quem qui quien quién quoi qué sa se ses sind sono sont sur são têm um uma un una und une van vom von voor
    waar wann wanneer warum wat welche welchem welchen welcher welches welke wem wen wer wie wo wohin wovor wurde y
    zijn zu zum zur à è é
    """.split()  # noqa: SIM905
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


def looks_foreign(text: str) -> bool:
    """Whether a text is in another language than English, by its function words and its script.

    Names alone count as English: what has no telling sign is not foreign.
    """
    found = words(text)
    strange = sum(not word.isascii() and any(ord(ch) > LATIN_LAST for ch in word) for word in found)
    if strange * 2 > len(found):
        return True
    other = sum(word in FOREIGN_WORDS for word in found)
    return other > sum(word in ENGLISH_WORDS for word in found)


def segment(text: str) -> str:
    """A text with spaces around each sign of scripts that write without spaces, for the lexical index."""
    return _CJK.sub(r" \1 ", text)


def named_spans(text: str) -> list[str]:
    """As `spans`, but only runs that begin as names do: with a capital, a digit, or in a script without capitals."""
    return spans(text, begins=lambda piece: not piece[0].islower())


def spans(text: str, *, longest: int = 6, begins: Callable[[str], bool] = bool) -> list[str]:
    """Normal forms of every run of up to `longest` words, longest first, as candidates for exact names.

    Args:
        begins: whether a run may begin with a word.
    """
    pieces = [piece for piece in _BETWEEN.split(text) if piece]
    forms = [normal(piece) for piece in pieces]  # nothing in a normal form depends on what stands across a space
    first = [place for place, piece in enumerate(pieces) if begins(piece)]
    found: dict[str, None] = {}
    for size in range(min(longest, len(pieces)), 0, -1):
        for start in first:
            if start + size > len(pieces):
                break
            run = " ".join(forms[start : start + size])
            for form in (run, run.rstrip(".'’"), run[:-2] if run.endswith(("'s", "’s")) else run):  # noqa: RUF001
                if form and (size > 1 or form not in STOP_WORDS):
                    found.setdefault(form, None)
    return list(found)
