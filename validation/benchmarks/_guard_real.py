"""What the real-server checks need: the wheel's server as a binary, the server's own figures, PyPI's reader."""

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from actors.guard.gguf import Header, read_model
from validation.result import MissingData

SERVER = Path(__file__).with_name("_guard_xllamacpp.py")
BUFFER = re.compile(r"(\S+)\s+(KV|compute|output|model) buffer size\s*=\s*([\d.]+) MiB")
ORACLE = """
import json, sys, time
from gguf import GGUFReader
begun = time.process_time()
reader = GGUFReader(sys.argv[1])
seconds = time.process_time() - begun
plain = {}
for name, field in reader.fields.items():
    if len(field.data) == 1 and not name.startswith("GGUF."):
        value = field.contents()
        if isinstance(value, (int, float, str, bool)):
            plain[name] = value
tensors = {t.name: [int(t.n_bytes), [int(n) for n in t.shape]] for t in reader.tensors}
print(json.dumps({"seconds": seconds, "metadata": plain, "tensors": tensors}))
"""


def python() -> str:
    """The interpreter of an environment with `xllamacpp` and `gguf`: CHRYSALIS_LLM_PYTHON.

    Raises:
        MissingData: it is not set.
    """
    found = os.environ.get("CHRYSALIS_LLM_PYTHON", "")
    if not found or not Path(found).exists():
        raise MissingData("set CHRYSALIS_LLM_PYTHON to the Python of an environment with xllamacpp and gguf")
    return found


def models() -> list[Path]:
    """The GGUF files to check with: CHRYSALIS_GGUF, separated as in PATH.

    Raises:
        MissingData: it names none.
    """
    found = [Path(name) for name in os.environ.get("CHRYSALIS_GGUF", "").split(os.pathsep) if name]
    if not found or not all(path.is_file() for path in found):
        raise MissingData("set CHRYSALIS_GGUF to one or more GGUF files, separated by a colon")
    return found


def write_binary(directory: Path) -> Path:
    """A `llama-server` that runs the wheel's server."""
    path = directory / "llama-server"
    path.write_text(f'#!/bin/sh\nexec "{python()}" "{SERVER}" "$@"\n')
    path.chmod(0o755)
    return path


def buffers(lines: list[str]) -> dict[str, float]:
    """The buffer sizes that the server reported, in MiB by kind; mapped and repacked weights apart."""
    found: dict[str, float] = {}
    for line in lines:
        if match := BUFFER.search(line):
            device, kind, size = match.groups()
            name = "copies" if kind == "model" and "REPACK" in device else "weights" if kind == "model" else kind
            found[name] = found.get(name, 0.0) + float(size)
    return found


def compare_header(model: Path) -> dict[str, Any]:
    """Our reading of a header beside PyPI's: CPU seconds of both, and every difference."""
    ours, seconds = _timed(model)
    done = subprocess.run([python(), "-c", ORACLE, str(model)], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    metadata = [name for name, value in theirs["metadata"].items() if ours.metadata.get(name) != value]
    tensors = {t.name: [t.bytes, list(t.shape)] for t in ours.tensors}
    return {
        "model": model.name,
        "cpu_s": round(seconds, 3),
        "cpu_s_of_gguf": round(theirs["seconds"], 2),
        "tensors": len(tensors),
        "different": metadata + [name for name in theirs["tensors"] if tensors.get(name) != theirs["tensors"][name]],
        "missing": sorted(set(theirs["tensors"]) ^ set(tensors)),
    }


def _timed(model: Path) -> tuple[Header, float]:
    """The header and the median CPU time of five readings."""
    times: list[float] = []
    header = read_model(model)
    for _ in range(5):
        begun = time.process_time()
        header = read_model(model)
        times.append(time.process_time() - begun)
    return header, sorted(times)[2]


def available_mib() -> float:
    """MemAvailable now."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable"))
