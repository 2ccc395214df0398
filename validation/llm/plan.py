"""The preregistration: n, arms and rule of each group, read from the file that was committed before the run.

One file for each seed; earlier ones stay, since results name theirs by its hash.
"""

import hashlib
import tomllib
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

FOLDER: Final = Path(__file__).with_name("preregistrations")
HYPOTHESES: Final = ("H-a", "H-a-ctx", "H-a-scale", "H-b-e2e", "H-c", "H-c-hard", "H-adv", "H-adv-sham")
"""Always written, also when not measured, so that the verdict table can tell."""


class GroupPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One group: items, arms, which arm is compared with which, and what its records may be used for."""

    n: int
    arms: tuple[str, ...]
    compare: dict[str, tuple[str, str]]
    split: Literal["tune", "derive", "heldout", "foreign"]
    sizes: tuple[int, ...] = ()


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was fixed beforehand."""

    rule: str
    answer: str
    temperature: float
    seed: int
    max_calls: int
    call_tokens: int
    answer_tokens: int
    thinking_tokens: int
    fit_share: float
    verbosity: Literal["terse", "brief", "summary", "detail"]
    groups: dict[str, GroupPlan]


def seeds() -> list[int]:
    """The plans there are, oldest first; the last one is in force."""
    return sorted(int(path.stem) for path in FOLDER.glob("*.toml"))


def load(seed: int = 0) -> Plan:
    """The plan of a seed, or the one in force.

    Raises:
        FileNotFoundError: there is none of that seed.
        msgspec.ValidationError: naming what is wrong with it.
    """
    return msgspec.convert(tomllib.loads(_path(seed).read_text(encoding="utf-8")), Plan)


def digest(seed: int = 0) -> str:
    """Which plan it is: SHA-256 of the file, first 16 digits."""
    return hashlib.sha256(_path(seed).read_bytes()).hexdigest()[:16]


def _path(seed: int) -> Path:
    return FOLDER / f"{seed or seeds()[-1]}.toml"
