"""The sentence of an answer: what is so, and what is not known."""

from typing import Any

from protocol.action import Outcome
from protocol.actions.reason import Conflict, Remedy, Solved

from .dsl.faults import listing

_SHOWN = 6
_NAMES_SHOWN = 12


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
    if conflict.ranges and len(conflict.members) == 1:
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
    """What to do about the conflict, and what is then so."""
    conflict = answer.conflict
    if conflict is None or not conflict.members:
        return None
    left_out = [_left_out(remedy, conflict) for remedy in conflict.remedies if remedy.without]
    wider = [_wider(remedy) for remedy in conflict.remedies if remedy.ranges]
    if left_out:
        which = [] if len(left_out) == 1 else ["Leave out what was not meant."]
        return " ".join([*which, *left_out, *(f"Or {text}" for text in wider)])
    if wider:
        return f"{wider[0][0].upper()}{wider[0][1:]}"
    if conflict.ranges and len(conflict.members) == 1:
        told = "; ".join(
            f"{listing(names, _SHOWN)}: {range_}" for range_, names in list(conflict.ranges.items())[:_SHOWN]
        )
        return f"Widen these ranges in vars ({told}), or leave out {conflict.members[0].name}."
    helpful = [member.name for member in conflict.members if member.dropping_it_helps]
    if helpful:
        return f"Leave out one of these and the rest is satisfiable: {', '.join(helpful)}."
    if any(member.dropping_it_helps is None for member in conflict.members):
        return None
    return "No single one of these helps: there is another conflict besides. Leave one of these out and solve again."


def _left_out(remedy: Remedy, conflict: Conflict) -> str:
    texts = {member.name: f" ({_short(member.text)})" for member in conflict.members}
    which = " and ".join(f"{name}{texts.get(name, '')}" for name in remedy.without)
    return f"Without {which}: {_then(remedy) or 'satisfiable.'}"


def _wider(remedy: Remedy) -> str:
    told = "; ".join(f"{range_} for {listing(names, _NAMES_SHOWN)}" for range_, names in remedy.ranges.items())
    then = _then(remedy)
    return f"declare {told} in vars: {then}" if then else f"declare {told} in vars and solve again."


def _then(remedy: Remedy) -> str:
    """The solution of a remedy as half a sentence; "" when it has none."""
    if remedy.model is None:
        return ""
    only = {True: "; the only solution", False: "; not the only solution", None: ""}[remedy.unique]
    return f"{_values(remedy.model)}{only}."


def _next(answer: Solved) -> str | None:
    if answer.options and not answer.answer:
        return "No option is forced: a constraint may be missing, or the question asks what may hold."
    if answer.unique is False and answer.second is not None and answer.optimum is None and not answer.options:
        return "If one answer is expected, a constraint is missing: compare model and second."
    return None
