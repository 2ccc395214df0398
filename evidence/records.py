"""Evidence records: one measured cell each, with everything needed to judge it and nothing decided.

A benchmark or the model-in-the-loop harness writes its records as a list under `figures.records` of its result
file `validation/results/NAME.json`; `python -m evidence.build` reads them from there. A writer fills a `Record`
and passes it through `to_json`; it leaves `record_id` and `provenance.source/commit/date/dirty` empty, since the
build takes those from the result file itself. Example of one record:

    {"action": "reason.solve", "contrast": "use", "arms": ["offered", "own"], "release": "llm-2026-12",
     "model": {"name": "qwen2.5-coder-1.5b-instruct", "family": "qwen2.5-coder", "class": "basic",
               "params_b": 1.5, "quantisation": "q8_0", "thinking": false},
     "cell": {"goal": "solve", "n_vars": [4, 6], "features_version": 1},
     "task_set": {"name": "zebra", "split": "derive", "items_sha256": "…", "seed": 7},
     "pairs": {"both": 3, "only_with": 14, "only_without": 1, "neither": 2},
     "capability": "…", "cost": {"tokens_with": 410, "tokens_without": 300, "calls": 1.2}}

Rules that a writer keeps: the same items in both arms; one outcome per item; an answer that cannot be read, or
that came too late, counts as wrong (`invalid_*` only says how many of those there were); `split` is `derive`
for what rules may rest on, `heldout` for what confirms their sign, `tune` for what was looked at while building.
`contrast` is `use` when the arms are "with the action" and "without it"; only those become advice. `release`
names the set of cells that are tested together (Holm's family).
"""

import hashlib
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from protocol.action import Action

from .inference import Pairs

SCHEMA = 1
LIFETIME_DAYS = 365
"""How long a record counts in full when it names no date of its own."""

ModelClass = Literal["basic", "middle", "strong", "unknown"]
"""What a model can do by itself, as calibration tells it: not its size."""


class Model(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The model that was measured, or that a session runs; "" / 0 / None = not known."""

    name: str = ""
    family: str = ""
    kind: ModelClass = field(default="unknown", name="class")
    params_b: float = 0.0
    active_params_b: float = 0.0
    quantisation: str = ""
    template: str = ""
    runtime: str = ""
    thinking: bool | None = None


class Cell(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The kind of task measured: closed ranges over the features, None = any."""

    goal: str = ""
    n_vars: tuple[int, int] | None = None
    n_atoms: tuple[int, int] | None = None
    facts_exceed_ctx: bool | None = None
    features_version: int = 1


class TaskSet(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which items: their set, its split, and a hash over their ids so that none counts twice."""

    name: str
    split: Literal["tune", "derive", "heldout", "foreign"] = "derive"
    items_sha256: str = ""
    seed: int = 0


class Cost(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Mean cost an item: tool calls, tokens and milliseconds with the action and without."""

    calls: float = 0.0
    tokens_with: float = 0.0
    tokens_without: float = 0.0
    ms_with: float = 0.0
    ms_without: float = 0.0

    @property
    def dearer(self) -> bool:
        """Whether the action costs more tokens than doing without."""
        return self.tokens_with > self.tokens_without > 0


class Compliance(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How often a hint was shown, and followed."""

    shown: int = 0
    followed: int = 0


class Provenance(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where the counts come from.

    `counts` says how sure they are: `exact`; `pairing` (arms known, their pairing not: the least favourable one
    is taken); `smallest_n` (only rates were published: the smallest n that prints them, least favourable pairing).
    """

    kind: Literal["measured", "published"] = "measured"
    source: str = ""
    commit: str = ""
    date: str = ""
    harness: str = ""
    dirty: bool = False
    counts: Literal["exact", "pairing", "smallest_n"] = "exact"
    note: str = ""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One measured cell. `expires` is an ISO date; "" = `LIFETIME_DAYS` after `provenance.date`."""

    action: str
    model: Model
    cell: Cell
    task_set: TaskSet
    pairs: Pairs
    contrast: Literal["use", "mode", "advice"] = "use"
    arms: tuple[str, str] = ("with", "without")
    release: str = ""
    capability: str = ""
    invalid_with: int = 0
    invalid_without: int = 0
    cost: Cost = Cost()
    compliance: Compliance = Compliance()
    provenance: Provenance = Provenance()
    expires: str = ""
    schema: int = SCHEMA
    record_id: str = ""


def record_id(record: Record) -> str:
    """The record's id: SHA-256 over its content without the id, as canonical JSON (first 16 hex digits)."""
    body = msgspec.json.encode(msgspec.structs.replace(record, record_id=""), order="deterministic")
    return hashlib.sha256(body).hexdigest()[:16]


def sealed(record: Record) -> Record:
    """The record with its id."""
    return msgspec.structs.replace(record, record_id=record_id(record))


def to_json(record: Record) -> dict[str, Any]:
    """The record as JSON-able values, for a result file's `figures.records`."""
    return msgspec.to_builtins(record)


def items_sha256(ids: list[str]) -> str:
    """Hash over the ids of the items, whatever their order."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:16]


def capability(action: Action) -> str:
    """Fingerprint of what was measured: the action's name and the schema of its params."""
    schema = msgspec.json.encode(msgspec.json.schema(action.params), order="deterministic")
    return hashlib.sha256(action.full_name.encode() + b"\n" + schema).hexdigest()[:16]
