"""Records made for tests: a model, a cell and counts, everything else as it usually is."""

from typing import Any

import msgspec

from evidence.inference import Pairs
from evidence.profiles import complete
from evidence.records import Cell, Model, Provenance, Record, TaskSet, sealed

STRONG_GAIN = Pairs(5, 20, 1, 4)
CLEAR_LOSS = Pairs(5, 1, 20, 4)


def record(
    pairs: Pairs = STRONG_GAIN,
    *,
    action: str = "reason.solve",
    model: Model | str = "qwen3-4b",
    cell: Cell | None = None,
    split: str = "derive",
    items: str = "",
    **fields: Any,
) -> Record:
    """A sealed record; `fields` go to it as they are."""
    named = complete(Model(name=model)) if isinstance(model, str) else model
    fields.setdefault("provenance", Provenance(source="made.json", date="2026-11-30"))
    return sealed(
        Record(
            action=action,
            model=named,
            cell=cell or Cell(),
            task_set=TaskSet(name="made", split=split, items_sha256=items),
            pairs=pairs,
            release=fields.pop("release", "made"),
            **fields,
        )
    )


def confirmed(pairs: Pairs = STRONG_GAIN, **fields: Any) -> list[Record]:
    """The record and a held-out one with the same counts."""
    return [record(pairs, items="d", **fields), record(pairs, split="heldout", items="h", **fields)]


def changed(record_: Record, **fields: Any) -> Record:
    """The record with fields changed and its id left as it was: touched up by hand."""
    return msgspec.structs.replace(record_, **fields)
