"""The sentence of an answer: what is so, and what is not known."""

from typing import Any

from protocol.action import Outcome
from protocol.actions.reason import Solved

from .dsl.faults import listing

_SHOWN = 6


def sentence(answer: Solved, notes: tuple[str, ...]) -> Outcome:
    """The outcome of a solve, told in one sentence."""
    if answer.result == "unknown":
        return Outcome(
            summary=f"Unknown: Z3 gave up ({answer.reason or 'no reason given'}).",
            data=answer,
            severity="WARN",
            notes=notes,
            partial=True,
            next_action="Unknown is not unsat: allow more time (timeout_ms), add bounds, or make ranges smaller.",
        )
    if answer.result == "unsat":
        return Outcome(summary=_unsat(answer), data=answer, notes=notes, next_action=_repair(answer))
    wrong = answer.verified is False
    return Outcome(
        summary=_sat(answer),
        data=answer,
        notes=notes,
        severity="ERROR" if wrong else "INFO",
        partial=answer.optimum == "best_so_far",
        next_action="Do not trust this solution: the re-check failed. Please report it." if wrong else _next(answer),
    )


def _sat(answer: Solved) -> str:
    parts = [f"Satisfiable: {_values(answer.model or {})}"]
    match answer.optimum:
        case "proved":
            parts.append(f"optimum {answer.objective}, proved" if answer.objective is not None else "optimum proved")
        case "best_so_far":
            found = "" if answer.objective is None else f" {answer.objective}"
            parts.append(f"best found so far{found}, not proved optimal")
        case "unbounded":
            parts.append("the objective is unbounded, so there is no optimum")
        case "not_attained":
            parts.append(f"the objective comes as near to {answer.objective} as wanted without attaining it")
        case None:
            pass
    if answer.solutions is not None:
        parts.append(
            f"{len(answer.solutions)} solutions" + (", these are all" if answer.complete else ", there may be more")
        )
    elif answer.unique is not None:
        parts.append("the only solution" if answer.unique else "not the only solution")
    if answer.options:
        words = ", ".join(f"{one.label} {one.verdict}" for one in answer.options[:_SHOWN])
        parts.append(words + (f"; answer {', '.join(answer.answer)}" if answer.answer else ""))
    return "; ".join(parts) + "."


def _values(model: dict[str, Any]) -> str:
    shown = ", ".join(f"{name}={_short(value)}" for name, value in list(model.items())[:_SHOWN])
    return shown + (f" and {len(model) - _SHOWN} more" if len(model) > _SHOWN else "") if model else "(no variables)"


def _short(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "…"  # noqa: PLR2004


def _unsat(answer: Solved) -> str:
    conflict = answer.conflict
    if conflict is None:
        return "Unsatisfiable: no values satisfy all constraints."
    if not conflict.members:
        return "Unsatisfiable: the declared ranges alone leave no solution."
    if conflict.ranges:
        (alone,) = conflict.members
        return f"Unsatisfiable: {alone.name} ({_short(alone.text)}) cannot hold within the ranges that vars declares."
    names = ", ".join(member.name for member in conflict.members[:_SHOWN])
    kind = (
        "the smallest conflict is"
        if conflict.smallest
        else "a minimal conflict is"
        if conflict.minimal
        else "a conflict is within"
    )
    return f"Unsatisfiable: {kind} {names}" + (
        f" and {len(conflict.members) - _SHOWN} more." if len(conflict.members) > _SHOWN else "."
    )


def _repair(answer: Solved) -> str | None:
    conflict = answer.conflict
    if conflict is None or not conflict.members:
        return None
    if conflict.ranges:
        told = "; ".join(
            f"{listing(names, _SHOWN)}: {range_}" for range_, names in list(conflict.ranges.items())[:_SHOWN]
        )
        return f"Widen these ranges in vars ({told}), or relax {conflict.members[0].name}."
    helpful = [member.name for member in conflict.members if member.dropping_it_helps]
    if helpful:
        return f"Drop or relax one of these and the rest is satisfiable: {', '.join(helpful)}."
    if any(member.dropping_it_helps is None for member in conflict.members):
        return None
    return "No single one of these helps: there is another conflict besides. Relax one of these and solve again."


def _next(answer: Solved) -> str | None:
    if answer.options and not answer.answer:
        return "No option is forced: a constraint may be missing, or the question asks what may hold."
    if answer.unique is False and answer.second is not None and answer.optimum is None and not answer.options:
        return "If one answer is expected, a constraint is missing: compare model and second."
    return None
