"""What is wrong with a problem, said so that its writer can mend it."""

import difflib
from collections.abc import Iterable

from msgspec import Struct


class Defect(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault in one constraint: where, what, how to fix it, and what right looks like.

    `add` is what `vars` lacks, as `"ann": "int 1..5"`, where that is what is wrong.
    """

    where: str = ""
    name: str = ""
    text: str = ""
    column: int = 0
    problem: str
    fix: str = ""
    example: str = ""
    add: str = ""


class ExpressionError(Exception):
    """A constraint that is not understood. `column` counts from 1 in the text as written; 0 = as a whole."""

    def __init__(self, problem: str, *, column: int = 0, fix: str = "", example: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.column = column
        self.fix = fix
        self.example = example

    def at(self, column: int) -> "ExpressionError":
        """The same error with a place, when it has none yet."""
        if self.column == 0:
            self.column = column
        return self


class ProblemError(Exception):
    """All faults found in a problem in one pass."""

    def __init__(self, defects: list[Defect]) -> None:
        super().__init__(defects[0].problem if defects else "")
        self.defects = defects


def near(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names most like `word`, likeness of case ignored; at most `count`."""
    by_fold: dict[str, list[str]] = {}
    for name in dict.fromkeys(known):
        by_fold.setdefault(name.casefold(), []).append(name)
    found = difflib.get_close_matches(word.casefold()[:60], list(by_fold), n=count, cutoff=0.6)
    return [name for fold in found for name in by_fold[fold]][:count]


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Names for a message, cut with a count when there are many."""
    all_names = list(names)
    shown = ", ".join(all_names[:limit])
    return shown + (f" and {len(all_names) - limit} more" if len(all_names) > limit else "")
