"""S-expressions read by ourselves: every command with its place, before Z3 sees a word.

Iterative, so that no depth of nesting can hurt; limits on depth and size are checked here.
"""

import re
from typing import Final

from msgspec import Struct

from ..dsl.faults import Defect, ProblemError

DEPTH_MAX: Final = 2_000
COMMANDS_MAX: Final = 20_000
_TOKEN: Final = re.compile(
    r"""(?P<skip>[\s\xa0]+|;[^\n]*)|(?P<open>\()|(?P<close>\))|(?P<string>"(?:[^"]|"")*")|(?P<quoted>\|[^|\\]*\|)|(?P<atom>[^\s()"|;]+)"""
)


class Atom(Struct, frozen=True):
    """A word as written; `string` for string literals, quotes included."""

    text: str
    start: int
    string: bool = False


class Group(Struct):
    """A bracketed expression and where it stands in the text."""

    items: list["Atom | Group"]
    start: int
    end: int = -1


Expression = Atom | Group


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def fault(text: str, offset: int, problem: str, fix: str = "") -> ProblemError:
    """A fault at an offset, told with line and column."""
    line, column = place(text, offset)
    shown = text[offset : offset + 60].split("\n", maxsplit=1)[0]
    return ProblemError([Defect(where=f"smt2 line {line}", column=column, text=shown, problem=problem, fix=fix)])


def read(text: str) -> list[Expression]:
    """The top-level expressions of a script.

    Raises:
        ProblemError: unbalanced brackets, open quotes, too deep, or too many commands.
    """
    found: list[Expression] = []
    stack: list[Group] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise fault(text, at, f"the quote {text[at]} is not closed", "close it")
        kind, start, at = token.lastgroup, at, token.end()
        if kind == "skip":
            continue
        if kind == "open":
            stack.append(Group([], start))
            if len(stack) > DEPTH_MAX:
                raise fault(text, start, f"brackets are nested deeper than {DEPTH_MAX}", "use let or define-fun")
            continue
        if kind == "close":
            if not stack:
                raise fault(text, start, "this ) closes nothing", "remove it")
            done: Expression = stack.pop()
            done.end = at
        else:
            done = Atom(token.group(), start, kind == "string")
        (stack[-1].items if stack else found).append(done)
    if stack:
        raise fault(text, stack[-1].start, "this ( is not closed", "add )")
    if len(found) > COMMANDS_MAX:
        raise fault(text, 0, f"more than {COMMANDS_MAX} commands", "split the script")
    return found


def head(expression: Expression) -> str:
    """The first word of a group; "" when there is none."""
    if isinstance(expression, Group) and expression.items and isinstance(expression.items[0], Atom):
        return expression.items[0].text
    return ""
