"""The measured per-item outcomes of four 3-8B models, read for the advisory benchmarks.

Source: raw results of Tool-Cognition-Action: for each arithmetic question how many of ten answers without a tool
were right, and whether the model called its calculator when it was offered one.
"""

import csv
import gzip
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from actors.advisory.calibration import ProbeTable
from actors.advisory.probes import product_family
from evidence.profiles import CLASSES
from evidence.records import ModelClass
from validation.result import data

MODELS: dict[str, ModelClass] = {
    "Llama-3.2-3B-Instruct": "basic",
    "Llama-3.1-8B-Instruct": "middle",
    "Qwen3-4B": "strong",
    "Qwen3-8B": "strong",
}
SOURCE = "Tool-Cognition-Action, arithmetic, 4 models x 10 answers an item; fitted on the items of even hash"


class Item(Struct, frozen=True):
    """One question as one model met it: P(right alone), and whether it called the tool by itself."""

    id: str
    model: str
    question: str
    right_alone: float
    called: bool


def items() -> list[Item]:
    """Every arithmetic item of every model.

    Raises:
        MissingData: when the data set is not there.
    """
    path = data("advisory/toolcog/necessity_table.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [
            Item(r["id"], r["model"], r["question"], int(r["correct_no_tool_of_10"]) / 10, r["called"] == "1")
            for r in csv.DictReader(file)
            if r["domain"] == "math_arithmetic_union"
        ]


def in_fit_half(item_id: str) -> bool:
    """Half of the items by hash: what the probe table is fitted on; the rest tests it."""
    return hashlib.sha256(item_id.encode()).digest()[-1] % 2 == 0


def probe_family(question: str) -> str:
    """The probe family that a question belongs to; "" for none."""
    found = re.fullmatch(r"What is (\d{3}) \* (\d{3})\?", question)
    return product_family(int(found[1]), int(found[2])) if found else ""


def fit(measured: Iterable[Item]) -> ProbeTable:
    """P(right | family, class) from the fit half, with half a pseudo-item each way; the strong models as one."""
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item in measured:
        if (family := probe_family(item.question)) and in_fit_half(item.id):
            shares[family][MODELS[item.model]].append(item.right_alone)
    table = {
        family: tuple(round((sum(by[c]) + 0.5) / (len(by[c]) + 1), 3) for c in CLASSES)
        for family, by in sorted(shares.items(), reverse=True)
    }
    return ProbeTable(source=SOURCE, shares=table, items={f: len(shares[f]["basic"]) for f in table})  # pyright: ignore[reportArgumentType] - three classes give three shares
