"""Every trial and sitting as one line of a file, written when it ended: what a stopped run goes on from, and the proof.

The files lie beside the results and are committed with them: a result's figures follow from them alone
(`--collect`), on any machine, without the model.
"""

from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from validation.result import ROOT

from .conversation import Trial

FOLDER: Final = ROOT / "validation" / "transcripts"
Key = tuple[str, str, bool]
T = TypeVar("T")


class Lines(Generic[T]):
    """What one file of a run holds, one JSON value a line.

    Args:
        run: the run's folder; its name carries the plan and the mode, so that no two are mixed.
    """

    def __init__(self, run: str, name: str, kind: type[T], folder: Path | None = None) -> None:
        self._path = (folder or FOLDER) / run / f"{name}.jsonl"
        self.kept: list[T] = []
        written = self._path.read_bytes() if self._path.exists() else b""
        self._torn = bool(written) and not written.endswith(b"\n")
        for line in written.splitlines():
            try:
                self.kept.append(msgspec.json.decode(line, type=kind))
            except msgspec.DecodeError:  # the last line of a run that was killed while it wrote
                continue

    def add(self, value: T) -> None:
        """Keep one more."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(b"\n" * self._torn + msgspec.json.encode(value) + b"\n")
        self._torn = False
        self.kept.append(value)


class Transcripts:
    """The trials of one group in one run."""

    def __init__(self, run: str, group: str) -> None:
        self._lines = Lines(run, group, Trial)
        self.trials: dict[Key, Trial] = {key(trial): trial for trial in self._lines.kept}

    def add(self, trial: Trial) -> None:
        """Keep one trial."""
        self._lines.add(trial)
        self.trials[key(trial)] = trial


def key(trial: Trial) -> Key:
    """What a trial is looked up by: item, arm, thinking."""
    return trial.item, trial.arm, trial.thinking


def sittings(run: str) -> Lines[dict[str, Any]]:
    """The sittings of one run in the product's own calibration."""
    return Lines(run, "cal", dict)
