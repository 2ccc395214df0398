"""What the advised arms are told: the product's own hints, from evidence measured in this run, and a shuffled sham."""

import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evidence.build import build, to_bytes
from evidence.records import Model
from validation.result import commit

from .items import Item
from .product import Product

GENERIC: Final = "Use the tool only when it is necessary."


def evidence_file(records: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Evidence built from this run's records by the only way there is, for `CHRYSALIS_EVIDENCE`."""
    date = time.strftime("%Y-%m-%d", time.gmtime())
    body = {"commit": commit(), "date": date, "figures": {"records": list(records)}}
    (folder / "llm.json").write_text(json.dumps(body), encoding="utf-8")
    made = folder / "evidence"
    made.write_bytes(to_bytes(build(folder)))
    return made


def hints(product: Product, model: Model, items: Sequence[Item], *, thinking: bool) -> dict[str, str]:
    """What the product advises on each item, by item; "" where it is silent."""
    told: dict[str, Any] = {"model": model.name, "params_b": model.params_b, "quantisation": model.quantisation}
    product.do("meta", "handshake", {"thinking": thinking, **{key: value for key, value in told.items() if value}})
    found: dict[str, str] = {}
    for item in items:
        task = {"goal": "solve", "n_vars": item.n_vars, "n_atoms": item.n_atoms}
        advised = product.do("meta", "advise", {"domain": "reason", "action": "solve", "task": task})
        found[item.id] = without_condition(str(advised["hint"]))
    return found


def without_condition(hint: str) -> str:
    """The sentence without its "When …, ": with it a shuffled hint would give itself away."""
    if not hint.startswith("When "):
        return hint
    rest = hint.partition(", ")[2]
    return rest[:1].upper() + rest[1:]


def sham(real: Mapping[str, str], seed: int) -> dict[str, str]:
    """The same sentences, dealt to the items at random."""
    texts = list(real.values())
    random.Random(seed).shuffle(texts)
    return dict(zip(real, texts, strict=True))
