"""Every trial as one line of a file, written when it ended: what a stopped run goes on from, and what can be reread."""

from pathlib import Path
from typing import Final

import msgspec

from validation.result import ROOT

from .conversation import Trial

FOLDER: Final = ROOT / ".cache" / "eval_llm"
Key = tuple[str, str, bool]


class Transcripts:
    """The trials of one group in one run; the file's name carries the plan and the mode, so that no two are mixed."""

    def __init__(self, run: str, group: str, folder: Path = FOLDER) -> None:
        self._path = folder / run / f"{group}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.trials: dict[Key, Trial] = {}
        if self._path.exists():
            for line in self._path.read_bytes().splitlines():
                self._keep(line)

    def _keep(self, line: bytes) -> None:
        try:
            trial = msgspec.json.decode(line, type=Trial)
        except msgspec.DecodeError:
            return  # the last line of a run that was killed while it wrote
        self.trials[trial.item, trial.arm, trial.thinking] = trial

    def add(self, trial: Trial) -> None:
        """Keep one trial."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(trial) + b"\n")
        self.trials[trial.item, trial.arm, trial.thinking] = trial
