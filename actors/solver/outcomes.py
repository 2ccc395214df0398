"""How answers read: the sentence, the severity and what to do next, for every way a problem can end."""

from typing import Any

import msgspec

from protocol.action import Outcome
from protocol.actions.reason import Judged, Solved
from protocol.errors import Fault, ParamFault

from .dsl.faults import Defect, ProblemError

_FAULTS_SHOWN = 25
_PLACES_SHOWN = 25
_TEXT_SHOWN = 120


def refused(error: ProblemError) -> Fault:
    """All faults of a problem as one answer; what is wrong in the same way in several places is told once."""
    defects = error.defects
    first = defects[0]
    count = f" ({len(defects)} faults in all)" if len(defects) > 1 else ""
    return Fault(
        "invalid_params",
        f"{_place(first)}: {first.problem}{count}.",
        next_action=_next(defects),
        faults=_told(defects),
        details={"count": len(defects)},
    )


def _told(defects: list[Defect]) -> tuple[ParamFault, ...]:
    kinds: dict[tuple[str, str], list[Defect]] = {}
    for one in defects:
        kinds.setdefault((one.problem, one.fix), []).append(one)
    told: list[ParamFault] = []
    fixes: set[str] = set()
    for (problem, fix), (first, *others) in list(kinds.items())[:_FAULTS_SHOWN]:
        told.append(
            ParamFault(
                path=_place(first),
                problem=problem,
                expected="" if fix in fixes else fix,
                example=first.example or None,
                text=first.text[:_TEXT_SHOWN],
                also=tuple(dict.fromkeys(_place(one) for one in others))[:_PLACES_SHOWN],
            )
        )
        fixes.add(fix)
    return tuple(told)


def _next(defects: list[Defect]) -> str:
    """What to do: the first fault's fix; names that nothing declares are all told at once."""
    missing = list(dict.fromkeys(one.add for one in defects if one.add))
    if len(missing) > 1:
        return f"Add to vars: {', '.join(missing[:_FAULTS_SHOWN])}; or write the names as they are declared."
    fix = defects[0].fix
    return f"{fix[:1].upper()}{fix[1:]}." if fix else "Correct what the faults list and call again."


def _place(defect: Defect) -> str:
    where = defect.where or "constraints"
    name = f" ({defect.name})" if defect.name and defect.name not in where else ""
    return f"{where}{name}, column {defect.column}" if defect.column else f"{where}{name}"


def with_sandbox(outcome: Outcome, sandbox: str) -> Outcome:
    """The outcome with the confinement that its worker had."""
    data: Any = outcome.data
    if isinstance(data, dict):
        return msgspec.structs.replace(outcome, data={**data, "sandbox": sandbox})
    return msgspec.structs.replace(outcome, data=msgspec.structs.replace(data, sandbox=sandbox))


def expired(action: str, interim: Outcome | None, budget_ms: int, *, timed_out: bool) -> Outcome:
    """What is known of a problem whose worker was ended at the deadline, or did not live to finish."""
    why = f"the worker was ended after {budget_ms} ms" if timed_out else "the worker ran out of memory or crashed"
    if interim is not None:
        notes = (*interim.notes, f"{why}; this is what was known by then")
        return msgspec.structs.replace(interim, notes=notes, partial=True, severity="WARN")
    return Outcome(
        summary=f"Unknown: {why} without an answer.",
        data=_unknown(action, "timeout" if timed_out else "memory"),
        severity="WARN",
        next_action="Unknown is not unsat: allow more time (timeout_ms), or make ranges and constraints smaller.",
        partial=True,
    )


def crashed(action: str) -> Outcome:
    """A worker that ended by itself: memory, a crash inside Z3, or the CPU limit."""
    return Outcome(
        summary="Unknown: the worker ran out of memory or Z3 crashed on this problem.",
        data=_unknown(action, "memory"),
        severity="WARN",
        next_action="Unknown is not unsat: make numbers, bit widths and ranges smaller.",
        notes=("the worker ended by itself; nothing else was affected",),
        partial=True,
    )


def _unknown(action: str, reason: str) -> Solved | Judged:
    if action == "reason.check":
        return Judged(result="unknown", reason=reason)
    return Solved(result="unknown", reason=reason)
