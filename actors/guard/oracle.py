"""llama.cpp's own estimate, `llama-fit-params --fit-print on`, where it lies beside the server; corrected and checked.

Its compute figure counts logits for a whole micro-batch, which a server does not hold, and it leaves out
repacked weights, caches on the host and the process itself. What it prints is believed only when plausible.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .command import ask_tool
from .estimate import MIB, Part, Shape, compute_bytes
from .gguf import Header
from .profiles import Profile

ORACLE_MAX_S: Final = 20.0
LINE = re.compile(r"^(\S+)\s+(-?\d+)\s+(-?\d+)\s+(-?\d+)\s*$", re.MULTILINE)
PLAUSIBLE_SHARE: Final = 0.5


class OracleError(ValueError):
    """Raised when the tool is not there, fails, or prints what cannot be right; the message says which."""


def ask(profile: Profile, binary: Path, header: Header, shape: Shape | None) -> tuple[Part, ...]:
    """Weights, KV and compute as llama.cpp reckons them, in bytes. Blocks for about a second.

    Raises:
        OracleError: no usable answer; the formulas stand in.
    """
    tool = binary.with_name("llama-fit-params")
    if not os.access(tool, os.X_OK):
        raise OracleError("llama-fit-params is not beside the server")
    return parse(_run(tool, profile), profile, header, shape)


def _run(tool: Path, profile: Profile) -> str:
    layers = "999" if profile.gpu_layers == "all" else profile.gpu_layers
    flags = ["-m", str(profile.path), "-c", str(profile.ctx), "-ub", str(profile.ubatch), "-b", str(profile.batch)]
    flags += ["-np", str(profile.parallel), "-ngl", layers, "-ctk", profile.cache_type_k, "-ctv", profile.cache_type_v]
    flags += ["--swa-full"] if profile.swa_full else []
    try:
        code, text = ask_tool([str(tool), *flags, "--fit", "off", "--fit-print", "on"], ORACLE_MAX_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OracleError(f"llama-fit-params did not answer ({type(error).__name__})") from error
    if code:
        raise OracleError(f"llama-fit-params ended with {code}")
    return text


def parse(text: str, profile: Profile, header: Header, shape: Shape | None) -> tuple[Part, ...]:
    """The parts from what the tool printed, one `device model context compute` line per device, in MiB.

    Raises:
        OracleError: no such line, a negative number, or less than half of the weights.
    """
    rows = [tuple(int(number) for number in found.groups()[1:]) for found in LINE.finditer(text)]
    if not rows or any(number < 0 for row in rows for number in row):
        raise OracleError("llama-fit-params printed no usable figures")
    weights, context, compute = (sum(column) * MIB for column in zip(*rows, strict=True))
    if weights < PLAUSIBLE_SHARE * header.tensor_bytes:
        raise OracleError("llama-fit-params counts less than half of the weights")
    source = "llama-fit-params"
    return (
        Part("weights", max(weights, header.tensor_bytes), source),
        Part("KV cache", context, source),
        Part("compute", _without_logits(compute, profile, shape), f"{source}, without the batch's logits"),
    )


def _without_logits(compute: int, profile: Profile, shape: Shape | None) -> int:
    if shape is None:
        return compute
    return max(compute - profile.ubatch * shape.vocabulary * 4, compute_bytes(shape, profile))


def merged(formula: Sequence[Part], oracle: Sequence[Part]) -> tuple[Part, ...]:
    """The oracle's parts, with the formulas' for what it leaves out."""
    told = {part.name for part in oracle}
    return (*oracle, *(part for part in formula if part.name not in told))
