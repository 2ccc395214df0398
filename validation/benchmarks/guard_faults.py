"""Thirty-two public complaints about guarded servers, simulated with real processes; each must end right."""

import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from validation.benchmarks import _guard_faults_exit, _guard_faults_memory, _guard_faults_progress
from validation.benchmarks._guard_faults import FAULTS, Fault
from validation.result import Goal, Measured
from validation.run import Context

__all__ = ["_guard_faults_exit", "_guard_faults_memory", "_guard_faults_progress", "run"]
QUICK_S = 5.0


def run(context: Context) -> Measured:
    """Run every scenario once, in order of its number."""
    chosen = sorted((f for f in FAULTS if not context.quick or f.seconds <= QUICK_S), key=lambda f: f.number)
    told: list[dict[str, Any]] = []
    for fault in chosen:
        told.append(_one(fault))
        context.progress(f"{fault.number:2} {'ok    ' if told[-1]['right'] else 'WRONG '} {fault.symptom}")
    right = sum(entry["right"] for entry in told)
    return Measured(
        headline=f"guard faults: {right} of {len(told)} end in the right state with the right words",
        figures={"faults": told, "right": right},
        goals=[Goal("each fault ends right", f"{len(told)}/{len(told)}", f"{right}/{len(told)}", right == len(told))],
        n=len(told),
        notes=[
            "real processes of a misbehaving little server; /proc/meminfo, PSI, vmstat and sysfs are trees of files"
        ],
    )


def _one(fault: Fault) -> dict[str, Any]:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        try:
            words, right = anyio.run(fault.scenario, Path(directory)), True
        except (AssertionError, TimeoutError) as error:
            words, right = str(error), False
        except BaseExceptionGroup as group:
            words, right = _first(group), False
    return {
        "number": fault.number,
        "source": fault.source,
        "symptom": fault.symptom,
        "right": right,
        "seen": words,
        "seconds": round(time.monotonic() - started, 1),
    }


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
