"""What a benchmark measures and how it is written down: figures, goals met or not, and where it ran.

Each file ends with a digest over its content, so that a figure changed by hand is seen; only a run writes one.
"""

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation" / "results"
WRITTEN = ("validation/results/", "validation/transcripts/")
"""What runs write themselves: a tree that differs only there is still that of its commit."""


class Goal(Struct, frozen=True):
    """One promise: what was wanted, what was measured, whether it is met."""

    name: str
    wanted: str
    measured: Any
    met: bool


class Measured(Struct, frozen=True, kw_only=True):
    """What a benchmark returns.

    Attributes:
        headline: the one line that is printed last.
        figures: everything measured, JSON-able; proportions with their n and interval.
        goals: the promises this benchmark carries.
        n: items measured; seed: of every random choice.
    """

    headline: str
    figures: dict[str, Any]
    goals: list[Goal] = []
    n: int = 0
    seed: int = 0
    notes: list[str] = []


class MissingData(Exception):  # noqa: N818
    """A public data set is not there; the benchmark is left out and says why."""


def data_root() -> Path:
    """Where the shared data sets lie: `CHRYSALIS_DATA`, else beside the checkout."""
    return Path(os.environ.get("CHRYSALIS_DATA") or ROOT.parent / "shared" / "data")


def data(relative: str) -> Path:
    """A file of the shared data.

    Raises:
        MissingData: when it is not there.
    """
    path = data_root() / relative
    if not path.exists():
        msg = f"{relative} is not under the shared data; set CHRYSALIS_DATA to where it lies"
        raise MissingData(msg)
    return path


def machine() -> dict[str, Any]:
    """The machine in words that name no host: processor, cores, memory, kernel, Python."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor()
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 2),
    }


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def commit() -> str:
    """The commit measured, with a + when the tree differed from it."""

    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = [line for line in git("status", "--porcelain").splitlines() if not any(out in line for out in WRITTEN)]
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def digest(body: Mapping[str, Any]) -> str:
    """SHA-256 over everything in a result but its digest, as JSON with sorted keys."""
    rest = {key: value for key, value in body.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def seal_of(body: Mapping[str, Any]) -> Literal["sealed", "unsealed", "edited"]:
    """Whether a result is as its run wrote it; unsealed = written before there were digests."""
    if "digest" not in body:
        return "unsealed"
    return "sealed" if body["digest"] == digest(body) else "edited"


def write(name: str, measured: Measured, *, quick: bool, seconds: float) -> Path:
    """Write `validation/results/NAME.json` whole or not at all; a quick run goes to `NAME.quick.json`."""
    body: dict[str, Any] = {
        "name": name,
        "quick": quick,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
        "machine": machine(),
        "seconds": round(seconds, 1),
        **msgspec.to_builtins(measured),
    }
    body = json.loads(json.dumps(body, ensure_ascii=False, allow_nan=False))  # as it will be read again
    body["digest"] = digest(body)
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}{'.quick' if quick else ''}.json"
    partial = path.with_suffix(".tmp")
    partial.write_text(json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    partial.replace(path)
    return path
