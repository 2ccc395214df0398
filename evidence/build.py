"""`python -m evidence.build [--check]`: make evidence.json from the result files, or see that it equals them.

The only way to a rule: every record of every `validation/results/*.json` and the published figures go through
`derive`. `--check` exits 1 when the committed file differs by a byte. Who measures a model of their own builds a
file from their own results with `--results FOLDER --out FILE`, and has it used by `CHRYSALIS_EVIDENCE=FILE`.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from .derive import derive
from .published import records as published
from .records import Record, sealed
from .rules import EVIDENCE, Evidence

RESULTS = Path(__file__).resolve().parent.parent / "validation" / "results"


def from_results(folder: Path) -> list[Record]:
    """Every record in the result files of a folder, sealed, with the file's commit and date as provenance.

    Raises:
        ValueError: naming the file and the record that is not one.
    """
    return [
        _record(path.name, index, body, raw)
        for path in sorted(folder.glob("*.json"))
        for body in [msgspec.json.decode(path.read_bytes())]
        if not body.get("quick")
        for index, raw in enumerate(body.get("figures", {}).get("records", []))
    ]


def _record(file: str, index: int, body: dict[str, Any], raw: Any) -> Record:
    try:
        record = msgspec.convert(raw, Record)
    except msgspec.ValidationError as error:
        raise ValueError(f"{file}, record {index}: {error}") from error
    commit = str(body.get("commit", ""))
    provenance = msgspec.structs.replace(
        record.provenance,
        source=file,
        commit=commit.removesuffix("+"),
        dirty=commit.endswith("+"),
        date=str(body.get("date", "")),
    )
    release = record.release or file.removesuffix(".json")
    return sealed(msgspec.structs.replace(record, provenance=provenance, release=release))


def build(folder: Path = RESULTS) -> Evidence:
    """The evidence that follows from a folder of results and the published figures."""
    return derive([*published(), *from_results(folder)])


def to_bytes(evidence: Evidence) -> bytes:
    """The file's content: one canonical form, so that equal evidence is equal bytes."""
    return msgspec.json.format(msgspec.json.encode(evidence, order="deterministic"), indent=1) + b"\n"


def main(argv: list[str] | None = None) -> int:
    """Build or check, as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m evidence.build", description="Build evidence.json.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 on any difference")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of result files")
    parser.add_argument("--out", type=Path, default=EVIDENCE, help="the file to make or compare")
    options = parser.parse_args(argv)
    out: Path = options.out
    evidence = build(options.results)
    content = to_bytes(evidence)
    levels = [rule.level for rule in evidence.rules]
    told = ", ".join(f"{levels.count(level)} {level}" for level in sorted(set(levels)))
    summary = f"{len(evidence.records)} records, {len(evidence.rules)} rules ({told}), {len(evidence.dropped)} dropped"
    if not options.check:
        out.write_bytes(content)
        print(f"{out.name}: {summary}")  # noqa: T201 - a command speaks
        return 0
    if out.exists() and out.read_bytes() == content:
        print(f"{out.name} equals the results: {summary}")  # noqa: T201
        return 0
    print(f"{out.name} differs from what the results give; run python -m evidence.build", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
