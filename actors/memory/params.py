"""What a call asks for, cleaned, or the fault that says what is wrong with it."""

from protocol.actions import memory as words
from protocol.errors import Fault, ParamFault

from . import parse
from .parse import Plan
from .text import NAME_MAX_CHARS, QUERY_MAX_CHARS, TextError, clean


def planned(params: words.Ingest) -> Plan:
    """What an ingest is to store.

    Raises:
        Fault: `invalid_params` when nothing is left of it, or something is malformed and `strict` is asked.
    """
    try:
        plan = parse.plan(params)
    except TextError as error:
        raise _invalid("source", str(error)) from error
    if not (plan.triples or plan.passages or plan.rejected):
        raise _invalid("triples", "there is nothing to store: give triples, text or passages")
    if plan.rejected and (params.strict or not (plan.triples or plan.passages)):
        faults = tuple(ParamFault(item.path, item.problem) for item in plan.rejected[: parse.REJECTED_SHOWN])
        raise Fault(
            "invalid_params",
            f"{len(plan.rejected)} items are malformed; nothing was stored.",
            next_action='Send each triple as ["subject", "relation", "object"].',
            faults=faults,
        )
    return plan


def cleaned(path: str, text: str, *, limit: int = NAME_MAX_CHARS) -> str:
    """A text as it is stored and looked for.

    Raises:
        Fault: `invalid_params` at `path`.
    """
    try:
        return clean(text, limit=limit)
    except TextError as error:
        raise _invalid(path, str(error)) from error


def question(text: str) -> str:
    """The question of a recall.

    Raises:
        Fault: `invalid_params` at `query`.
    """
    return cleaned("query", text, limit=QUERY_MAX_CHARS)


def _invalid(path: str, problem: str) -> Fault:
    return Fault(
        "invalid_params",
        f"{path}: {problem}.",
        next_action="Correct it and call again.",
        faults=(ParamFault(path, problem),),
    )
