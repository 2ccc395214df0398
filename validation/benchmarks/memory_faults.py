"""Every public fault of memories as a named case; kills, torn files and full disks: nothing lost, doubled or reset."""

import importlib
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from validation.result import Goal, Measured

from ._memory_cases import CASES, Case
from ._memory_damage import damaged_files, full_disk
from ._memory_kills import kill_rounds

for _module in ("_memory_cases_store", "_memory_cases_recall"):
    importlib.import_module(f"validation.benchmarks.{_module}")  # the cases register themselves

KILLS = {"ingest": 300, "update": 300, "consolidate": 150, "backup": 125, "restore": 125}
AT_ONCE = 4
DAMAGED = 60
SEED = 2026


def run(context: Any) -> Measured:
    """The cases, then the kills, then the damage."""
    figures: dict[str, Any] = {"cases": [_run(context, one) for one in sorted(CASES, key=lambda one: one.number)]}
    right = sum(one["right"] for one in figures["cases"])
    share = 50 if context.quick else 1
    with ThreadPoolExecutor(AT_ONCE) as pool:
        rounds = [
            pool.submit(kill_rounds, kind, n // share, seed=SEED, progress=context.progress)
            for kind, n in KILLS.items()
        ]
        kills = [one.result() for one in rounds]
    figures["kills"] = kills
    figures["damaged files"] = damaged = damaged_files(DAMAGED // min(share, 10), seed=SEED, progress=context.progress)
    figures["full disk"] = full = full_disk(context.progress)
    total = sum(one["kills"] for one in kills)
    bad = {key: sum(one[key] for one in kills) for key in ("lost", "doubled", "half", "unhealthy")}
    fine = sum(one["right"] for one in full.values())
    goals = [
        Goal("public faults right", "53 of 53", f"{right} of {len(CASES)}", right == len(CASES) == 53),
        Goal(f"{total} kill -9: lost, doubled, half, unhealthy", "0", str(bad), not any(bad.values())),
        Goal("damaged files silently wrong", "0", damaged["silently wrong"], damaged["silently wrong"] == 0),
        Goal("full disk at each step", "refused, nothing changed", f"{fine} of {len(full)}", fine == len(full)),
    ]
    headline = f"{right} of {len(CASES)} faults right; {total} kills: {bad['lost']} lost, {bad['doubled']} doubled; "
    headline += f"{damaged['n']} damaged files: {damaged['silently wrong']} silently wrong"
    return Measured(headline=headline, figures=figures, goals=goals, n=len(CASES), seed=SEED)


def _run(context: Any, one: Case) -> dict[str, Any]:
    begun = time.monotonic()
    context.progress(f"case {one.number}: {one.report}")
    wrong = ""
    try:
        one.check()
    except BaseException as error:  # noqa: BLE001 - whatever a case raises is its result
        wrong = "".join(traceback.format_exception_only(error)).strip()[-400:] or type(error).__name__
    return {
        "number": one.number,
        "report": one.report,
        "right outcome": one.right,
        "right": not wrong,
        "seconds": round(time.monotonic() - begun, 1),
    } | ({"wrong": wrong} if wrong else {})
