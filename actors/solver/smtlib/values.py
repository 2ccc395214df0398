"""Z3's printed answers read back: values as JSON, models as name to value."""

import re
from fractions import Fraction
from typing import Any

from ..encoding.model import parse_int, show
from .reader import Atom, Expression, Group, head, read


def plain(name: str) -> str:
    """A symbol without its bars."""
    return name[1:-1] if len(name) > 1 and name.startswith("|") and name.endswith("|") else name


def value(expression: Expression, text: str) -> Any:
    """A printed value as JSON; what is no number or truth value stays text."""
    exact = number(expression)
    if exact is not None:
        return show(int(exact) if exact.denominator == 1 else exact)
    if isinstance(expression, Atom):
        return {"true": True, "false": False}.get(expression.text, plain(expression.text))
    return " ".join(text[expression.start : expression.end].split())


def number(expression: Expression) -> Fraction | None:
    """An exact number in SMT-LIB's spelling: 5, 1.5, (- 5), (/ 1.0 3.0)."""
    if isinstance(expression, Atom):
        if re.fullmatch(r"\d+", expression.text):
            return Fraction(parse_int(expression.text))
        return Fraction(expression.text) if re.fullmatch(r"\d{1,4000}\.\d{1,4000}", expression.text) else None
    parts = [number(item) for item in expression.items[1:]]
    match head(expression), parts:
        case "-", [Fraction() as one]:
            return -one
        case "/", [Fraction() as one, Fraction() as other] if other != 0:
            return one / other
        case _:
            return None


def model(text: str) -> dict[str, Any]:
    """`(get-model)`'s answer: constants by name; functions as the text of their definition."""
    found: dict[str, Any] = {}
    for expression in read(text):
        for definition in expression.items if isinstance(expression, Group) else []:
            if isinstance(definition, Group) and head(definition) == "define-fun" and len(definition.items) == 5:  # noqa: PLR2004
                _, name, arguments, _, body = definition.items
                if isinstance(name, Atom):
                    constant = isinstance(arguments, Group) and not arguments.items
                    shown = " ".join(text[definition.start : definition.end].split())
                    found[plain(name.text)] = value(body, text) if constant else shown
    return found


def pairs(text: str) -> dict[str, Any]:
    """`(get-value …)`'s answer: printed term to value."""
    found: dict[str, Any] = {}
    for expression in read(text):
        for pair in expression.items if isinstance(expression, Group) else []:
            if isinstance(pair, Group) and len(pair.items) == 2:  # noqa: PLR2004
                term, result = pair.items
                label = plain(term.text) if isinstance(term, Atom) else " ".join(text[term.start : term.end].split())
                found[label] = value(result, text)
    return found
