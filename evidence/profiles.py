"""Model profiles: what is known of the model that asks, from the best source there is.

Forced by the operator > calibrated > declared in a handshake > the default, which knows nothing.
"""

import re
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from .records import Model, ModelClass

Source = Literal["forced", "calibrated", "declared", "default"]
_TABLE = Path(__file__).parent / "data" / "models.json"
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s?b(?![a-z])")
_ACTIVE = re.compile(r"(?<![a-z0-9.])a(\d+(?:\.\d+)?)b(?![a-z])")
CLASSES: tuple[ModelClass, ...] = ("basic", "middle", "strong")


class Profile(Struct, frozen=True, kw_only=True):
    """The model as advice sees it. `note` tells of a disagreement between what was declared and measured."""

    model: Model = Model()
    source: Source = "default"
    context: int = 0
    note: str = ""

    @property
    def text(self) -> str:
        """One phrase for people: name or class, thinking, source."""
        thinking = {True: ", thinking on", False: ", thinking off", None: ""}[self.model.thinking]
        return f"{self.model.name or self.model.kind}{thinking} ({self.source})"


class Known(Struct, frozen=True, array_like=True):
    """One line of the table: models whose name contains `pattern`."""

    pattern: str
    family: str
    kind: ModelClass
    params_b: float = 0.0
    active_params_b: float = 0.0


class Band(Struct, frozen=True, array_like=True):
    """The class of a model of which only the size is known, up to and without `below_b` billion parameters."""

    below_b: float
    kind: ModelClass


class Table(Struct, frozen=True):
    """`evidence/data/models.json`: known models, the first match wins, then size bands."""

    known: tuple[Known, ...]
    bands: tuple[Band, ...]


@cache
def table() -> Table:
    """The class table that ships with the evidence."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=Table)


def complete(model: Model) -> Model:
    """The declared facts filled up from the name and the class table; declared values are never changed."""
    name = f"{model.name} {model.family}".lower().replace("_", "-")
    known = next((line for line in table().known if line.pattern in name), None)
    active = model.active_params_b or (known.active_params_b if known else 0.0) or _number(_ACTIVE, name)
    params = model.params_b or (known.params_b if known else 0.0) or _number(_SIZE, name)
    return msgspec.structs.replace(
        model,
        family=model.family or (known.family if known else ""),
        params_b=params,
        active_params_b=active,
        kind=_first_known(model.kind, known.kind if known else "unknown", _by_size(active or params)),
    )


def _first_known(*kinds: ModelClass) -> ModelClass:
    for kind in kinds:
        if kind != "unknown":
            return kind
    return "unknown"


def _number(pattern: re.Pattern[str], name: str) -> float:
    found = pattern.search(name)
    return float(found.group(1)) if found else 0.0


def _by_size(params_b: float) -> ModelClass:
    if not 0 < params_b < table().bands[-1].below_b:
        return "unknown"
    return next(band.kind for band in table().bands if params_b < band.below_b)


def parse_forced(text: str) -> Model | None:
    """The profile that `CHRYSALIS_MODEL_PROFILE` names: `NAME_OR_CLASS[:thinking|:no-thinking]`; None when empty.

    A class (basic, middle, strong) stands for itself; anything else is a model's name.
    """
    name, _, mode = text.strip().partition(":")
    thinking = {"thinking": True, "think": True, "no-thinking": False, "no-think": False}.get(mode.strip().lower())
    name = name.strip().lower()
    if not name:
        return None
    if name in CLASSES:
        return Model(kind=name, thinking=thinking)
    return complete(Model(name=name, thinking=thinking))


def resolve(forced: Model | None, calibrated: ModelClass | None, declared: Model | None, context: int = 0) -> Profile:
    """The profile in force, by precedence; a calibrated class that contradicts the declared one wins and says so."""
    if forced is not None:
        return Profile(model=forced, source="forced", context=context)
    if calibrated is not None:
        base = declared or Model()
        if base.kind in ("unknown", calibrated):
            return Profile(model=msgspec.structs.replace(base, kind=calibrated), source="calibrated", context=context)
        # what the session runs is not what it says, so evidence of the declared model is no longer its own
        note = f"Declared {base.name or base.kind} ({base.kind}), measured {calibrated}: the measurement counts."
        model = Model(kind=calibrated, thinking=base.thinking)
        return Profile(model=model, source="calibrated", context=context, note=note)
    if declared is not None:
        return Profile(model=declared, source="declared", context=context)
    return Profile(context=context)
