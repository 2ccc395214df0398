"""What loads really took: one small file that corrects later estimates for the same model file and flags."""

import json
import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from .profiles import Profile

ENTRIES_MAX: Final = 200
RATIO_MIN: Final = 1.0
RATIO_MAX: Final = 2.0
"""Corrections stay between these: buffers that were not touched yet make a load look smaller than it is."""


class Load(Struct, frozen=True, kw_only=True):
    """One load: what was estimated, and the most that was measured afterwards, in bytes."""

    key: str
    estimated: int
    measured: int


class Error(Struct, frozen=True):
    """The past error of the estimate: what to multiply it with, how many loads say so."""

    ratio: float
    loads: int

    @property
    def text(self) -> str:
        return f"{self.loads} earlier load(s) took {100 * self.ratio:.0f} % of the estimate"


class Ledger:
    """The file of past loads; a damaged one is taken for empty, since it only refines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, key: str) -> Error | None:
        """The worst of the past errors for this file and flags, which is what safety asks for."""
        ratios = [load.measured / load.estimated for load in self._loads() if load.key == key and load.estimated > 0]
        return Error(min(RATIO_MAX, max(RATIO_MIN, *ratios, RATIO_MIN)), len(ratios)) if ratios else None

    def add(self, load: Load) -> None:
        """Remember one load; the oldest go when there are too many."""
        loads = [*self._loads(), load][-ENTRIES_MAX:]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(f".{os.getpid()}.tmp")
        partial.write_bytes(msgspec.json.encode(loads))
        partial.replace(self.path)

    def _loads(self) -> list[Load]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=list[Load])
        except (OSError, msgspec.DecodeError):
            return []


def key_of(profile: Profile, binary: Path) -> str:
    """What an error belongs to: the file by name and size, the binary, and the flags that memory depends on."""
    size = profile.path.stat().st_size
    flags = [profile.ctx, profile.gpu_layers, profile.ubatch, profile.cache_type_k, profile.cache_type_v]
    flags += [profile.parallel, profile.cache_ram_mib, profile.ctx_checkpoints, profile.swa_full]
    return json.dumps([profile.path.name, size, binary.name, int(binary.stat().st_mtime), *flags])
