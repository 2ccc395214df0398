"""Right or wrong by fixed rules: the answer line where there is one, else the last line; never a judge."""

import re
from typing import Final

from msgspec import Struct

LONGEST: Final = 200
_MARKED: Final = re.compile(r"answer\s*(?:is)?\s*[:=]\s*\**\s*(.*)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")


class Grade(Struct, frozen=True):
    """`readable`: whether there was anything that could be an answer; what cannot be read is wrong."""

    right: bool
    readable: bool
    given: str


def given(text: str) -> str:
    """What follows the last "ANSWER:", else the last line that is not empty."""
    marked = [one.strip() for one in _MARKED.findall(text) if one.strip()]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (marked[-1] if marked else lines[-1] if lines else "")[:LONGEST]


def plain(text: str) -> str:
    """Lower case, letters and digits only, single blanks."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def grade(text: str, gold: str) -> Grade:
    """A number is right when it is the last number given; a name when it stands there as a whole, alone or in words."""
    answer = given(text)
    if re.fullmatch(_NUMBER, gold):
        numbers = _NUMBER.findall(answer.replace(",", ""))
        return Grade(bool(numbers) and float(numbers[-1]) == float(gold), bool(numbers), answer)
    words = f" {plain(answer)} "
    return Grade(f" {plain(gold)} " in words, bool(words.strip()), answer)
