"""The preregistration: n, arms and rule of each group, read from the file that was committed before the run."""

import hashlib
import tomllib
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

FILE: Final = Path(__file__).with_name("preregistration.toml")
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


def load(path: Path = FILE) -> Plan:
    """The plan.

    Raises:
        msgspec.ValidationError: naming what is wrong with it.
    """
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Plan)


def digest(path: Path = FILE) -> str:
    """Which plan it was: SHA-256 of the file, first 16 digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
