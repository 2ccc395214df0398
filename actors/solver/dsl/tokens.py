"""Text to tokens: numbers exact, names plain or quoted, operators with all their spellings."""
# ruff: noqa: RUF001 - the signs that people write are the point

import re
from fractions import Fraction
from typing import Final, Literal

from msgspec import Struct

from .faults import ExpressionError

CONSTRAINT_MAX_CHARS: Final = 4096
_DIGITS_MAX: Final = 2000
_EXPONENT_MAX: Final = 400

Kind = Literal["number", "name", "quoted", "op", "end"]


class Token(Struct, frozen=True):
    """One token; `text` is canonical for operators; `value` for numbers; `column` counts from 1."""

    kind: Kind
    text: str
    column: int
    value: Fraction = Fraction(0)
    decimal: bool = False


SYMBOLS: Final[dict[str, str]] = {
    "<=>": "iff", "<->": "iff", "↔": "iff", "⇔": "iff", "≡": "iff",
    "=>": "=>", "->": "=>", "→": "=>", "⇒": "=>", "⊃": "=>", "-->": "=>", "==>": "=>", ">>>": "=>",
    "||": "or", "|": "|", "∨": "or", "&&": "and", "&": "and", "∧": "and", "/\\": "and", "\\/": "or",
    "⊕": "xor", "↑": "nand", "↓": "nor", "!": "not", "¬": "not", "~": "not",
    "==": "=", "=": "=", "!=": "distinct", "<>": "distinct", "≠": "distinct", "=/=": "distinct", "/=": "distinct",
    "<=": "<=", "≤": "<=", "=<": "<=", ">=": ">=", "≥": ">=", "<": "<", ">": ">",
    "+": "+", "-": "-", "−": "-", "*": "*", "×": "*", "·": "*", "/": "/", "÷": "/", "//": "//", "%": "%",
    "^": "^", "**": "^", "..": "..", "∈": "in", "∉": "notin", "∀": "forall", "∃": "exists", "∑": "sum",
    "(": "(", ")": ")", "[": "[", "]": "]", "{": "{", "}": "}", ",": ",", ":": ":", "?": "?", ";": ";", ".": ".",
}  # fmt: skip
_WORDS: Final[dict[str, str]] = {
    "and": "and", "or": "or", "not": "not", "xor": "xor", "implies": "=>", "iff": "iff", "equiv": "iff",
    "in": "in", "if": "if", "then": "then", "else": "else", "div": "div", "mod": "mod", "for": "for",
    "where": "where", "true": "true", "false": "false",
}  # fmt: skip
_SYMBOL = "|".join(re.escape(symbol) for symbol in sorted(SYMBOLS, key=len, reverse=True))
_PATTERN: Final = re.compile(
    rf"""(?P<space>\s+)
    |(?P<comment>\#.*|:::.*)
    |(?P<number>(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![^\W\d]))
    |(?P<name>[^\W\d]\w*'*)
    |(?P<backtick>`[^`]*`)
    |(?P<quoted>"[^"]*"|'[^']*'|“[^”]*”|‘[^’]*’)
    |(?P<op>{_SYMBOL})""",
    re.VERBOSE,
)


def tokenize(text: str) -> list[Token]:
    """All tokens of one expression, an end token last; comments (`#`, `:::`) are dropped.

    Raises:
        ExpressionError: too long, an unknown character, an open quote, a number out of bounds.
    """
    if len(text) > CONSTRAINT_MAX_CHARS:
        raise ExpressionError(
            f"the constraint has {len(text)} characters, more than {CONSTRAINT_MAX_CHARS}",
            fix="split it into several constraints",
        )
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        found = _PATTERN.match(text, place)
        if found is None:
            raise _unreadable(text, place)
        token = _token(found, place + 1)
        if token is not None:
            tokens.append(token)
        place = found.end()
    tokens.append(Token("end", "end of text", len(text) + 1))
    return tokens


def _token(found: re.Match[str], column: int) -> Token | None:
    text = found.group()
    match found.lastgroup:
        case "number":
            return _number(text, column)
        case "name":
            word = _WORDS.get(text.lower()) if text.lower() != "in" or text in {"in", "IN"} else None
            return Token("op", word, column) if word else Token("name", text, column)
        case "backtick":
            return Token("name", text[1:-1].strip(), column)
        case "quoted":
            return Token("quoted", text[1:-1].strip(), column)
        case "op":
            return Token("op", SYMBOLS[text], column)
        case _:
            return None


def _number(text: str, column: int) -> Token:
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > _DIGITS_MAX or (exponent and abs(int(exponent[:8])) > _EXPONENT_MAX):
        raise ExpressionError(
            f"the number is out of bounds ({_DIGITS_MAX} digits, exponent {_EXPONENT_MAX})",
            column=column,
            fix="scale the problem down",
        )
    value = Fraction(mantissa if mantissa != "." else "0") * Fraction(10) ** int(exponent or 0)
    return Token("number", text, column, value, decimal="." in text or "e" in text.lower())


def _unreadable(text: str, place: int) -> ExpressionError:
    character = text[place]
    if character in "\"'`“‘":
        return ExpressionError(
            f"the quote {character} is not closed",
            column=place + 1,
            fix=f"close it: {text[place : place + 20]}{character}",
        )
    if character.isdigit():
        return ExpressionError(
            "a name cannot begin with a digit",
            column=place + 1,
            fix='write the product with * (2*x), or put the name in quotes ("3rd")',
        )
    return ExpressionError(
        f"the character {character!r} is not part of the language",
        column=place + 1,
        fix="remove it or write it in words",
    )
