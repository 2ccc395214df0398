"""Invented names and two-hop facts about them, from a seed: nothing of it can be known to any model or embedder."""

import random
from collections.abc import Sequence

from msgspec import Struct

_HEADS = (
    "Bra",
    "Cor",
    "Dal",
    "Fen",
    "Gri",
    "Hol",
    "Jar",
    "Kes",
    "Lum",
    "Mor",
    "Nev",
    "Pol",
    "Quin",
    "Ros",
    "Sal",
    "Tev",
)
_MIDDLES = ("ba", "de", "li", "mo", "na", "ro", "sti", "ta", "vi", "ze")
_ENDS = ("dan", "fex", "gor", "lin", "mar", "nek", "pol", "rus", "sen", "tov", "wyn", "zar")
CHAINS = (
    ("works for", "has its head office in", "In which town is the head office of the company that {0} works for?"),
    ("is the captain of", "was built in", "In which town was the ship built that {0} is the captain of?"),
    ("studies at", "was founded by", "Who founded the school that {0} studies at?"),
    ("owns", "was painted by", "Who painted the picture that {0} owns?"),
    ("lives in", "lies on the river", "On which river lies the town that {0} lives in?"),
)
Triple = tuple[str, str, str]


class TwoHop(Struct, frozen=True):
    """A question, the two facts that answer it, and the answer."""

    question: str
    first: Triple
    second: Triple

    @property
    def answer(self) -> str:
        return self.second[2]


class Names:
    """Distinct invented names."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._given: set[str] = set()

    def one(self) -> str:
        """A name that was not given yet."""
        while True:
            parts = [self._rng.choice(_HEADS), self._rng.choice(_MIDDLES), self._rng.choice(_ENDS)]
            name = "".join(parts) + self._rng.choice(("", " " + self._rng.choice(_HEADS) + self._rng.choice(_ENDS)))
            if name not in self._given:
                self._given.add(name)
                return name


def two_hops(names: Names, count: int) -> list[TwoHop]:
    """Questions over distinct names, the kinds of chain in turn."""
    found: list[TwoHop] = []
    for place in range(count):
        near, far, text = CHAINS[place % len(CHAINS)]
        one, middle, end = names.one(), names.one(), names.one()
        found.append(TwoHop(text.format(one), (one, near, middle), (middle, far, end)))
    return found


def distractors(names: Names, count: int) -> list[Triple]:
    """Facts of the same kinds about others."""
    return [fact for item in two_hops(names, count // 2) for fact in (item.first, item.second)]


def sentence(triple: Sequence[str]) -> str:
    """A fact in words."""
    return " ".join(triple)
