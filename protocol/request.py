"""From the raw JSON of a tool call to a validated request, or to a Fault that teaches the right call."""

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from . import contract
from .action import Action, Params
from .errors import Fault, ParamFault
from .limits import JSON_MAX_DEPTH, REQUEST_MAX_BYTES
from .repair import decode_object, find_action, is_absent, lift_strays, mend_params
from .validate import find_faults, params_table, struct_fields

Verbosity = Literal["detail", "summary", "brief", "terse"]
VERBOSITIES: Final = ("detail", "summary", "brief", "terse")
OPTIONS: Final = frozenset(
    {"domain", "action", "params", "verbosity", "session_id", "store_as", "telemetry", "agent_id"}
)


class Request(Struct, frozen=True, kw_only=True):
    """A call that can be served: what to do, with what, and how to answer."""

    action: Action
    params: Params | None
    """None when the call only continues an earlier answer by its cursor."""
    raw: dict[str, Any]
    """The mended params as plain JSON data: what the advisory's extractors read."""
    verbosity: Verbosity = "summary"
    session_id: str = ""
    store_as: str = ""
    telemetry: bool | None = None
    agent_id: str = ""
    request_id: str = ""
    override: bool = False
    cursor: str = ""
    notes: tuple[str, ...] = ()


def decode_arguments(raw: bytes) -> dict[str, Any]:
    """The argument object of a tool call.

    Raises:
        Fault: too_large, or invalid_params when it is not a JSON object or nested too deeply.
    """
    if len(raw) > REQUEST_MAX_BYTES:
        raise Fault(
            "too_large",
            f"The call has {len(raw)} bytes; the limit is {REQUEST_MAX_BYTES}.",
            next_action="Send it in smaller parts, for example several memory.ingest calls.",
        )
    try:
        arguments = msgspec.json.decode(raw or b"{}")
    except RecursionError:
        raise too_deep() from None
    except msgspec.DecodeError as error:
        raise Fault("invalid_params", f"The arguments are not valid JSON: {error}.", next_action=_SHAPE) from None
    if arguments is None:
        arguments = {}
    if isinstance(arguments, str):
        arguments = decode_object(arguments, "arguments", [])
    if not isinstance(arguments, dict):
        raise Fault("invalid_params", "The arguments must be a JSON object.", next_action=_SHAPE)
    if _depth(arguments) > JSON_MAX_DEPTH:
        raise too_deep()
    return arguments


_SHAPE = 'Send {"domain": "memory", "action": "recall", "params": {"query": "..."}}.'


def too_deep() -> Fault:
    """The Fault for JSON nested beyond `JSON_MAX_DEPTH`."""
    return Fault(
        "invalid_params",
        f"The arguments are nested deeper than {JSON_MAX_DEPTH} levels.",
        next_action="Flatten them; long expressions may be written as infix text.",
    )


def _depth(value: Any) -> int:
    level, deepest = [value], 0
    while level and deepest <= JSON_MAX_DEPTH:
        deepest += 1
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
            if isinstance(child, dict | list)
        ]
    return deepest


def parse(
    arguments: dict[str, Any],
    *,
    operator: bool = False,
    readonly: bool = False,
    resolve: Callable[[Any], Any] | None = None,
) -> Request:
    """A validated request from an argument object, mended where that is safe.

    `resolve` replaces references to earlier results in the params before they are validated.

    Raises:
        Fault: unknown_domain, unknown_action or invalid_params; for the last with every fault, the action's
            params and one corrected call.
    """
    notes: list[str] = []
    action = _resolve(arguments, notes, operator=operator, readonly=readonly)
    params = decode_object(arguments.get("params"), "params", notes)
    params = {} if is_absent(params) else params
    if not isinstance(params, dict):
        fault = ParamFault("params", f"is {type(params).__name__}", "an object")
        raise ParamsFault(action, [fault], {})
    params = dict(resolve(params) if resolve and not action.resolves_references else params)
    strays = lift_strays(arguments, OPTIONS, params, action.params, notes)
    notes += [f"{name} is no argument of the tool; it was ignored." for name in strays]
    reserved = _take_reserved(params, action, notes)
    params = mend_params(params, action.params, notes)
    converted = None if reserved["cursor"] else _convert(params, action)
    return Request(
        action=action, params=converted, raw=params, notes=tuple(notes), **_options(arguments, notes), **reserved
    )


def _resolve(arguments: dict[str, Any], notes: list[str], *, operator: bool, readonly: bool) -> Action:
    domain, name = arguments.get("domain"), arguments.get("action")
    usable = contract.visible(operator=operator, readonly=readonly)
    action, near = find_action(domain, name, usable, notes)
    if action is not None:
        return action
    locked = contract.BY_NAME.get(f"{domain}.{name}")
    if locked is not None and not locked.hidden:
        why = (
            "is an operator's action; use the chrysalis command"
            if locked.operator_only
            else "writes, and this is read-only"
        )
        raise Fault(
            "unknown_action", f"{locked.full_name} {why}.", next_action="Call meta.discover for what can be used."
        )
    said = ".".join(str(word) for word in (domain, name) if not is_absent(word)) or "nothing"
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    if domain not in contract.DOMAINS and not near:
        names = ", ".join(contract.DOMAINS)
        raise Fault("unknown_domain", f"{said} names no domain of ours ({names}).", next_action="Call meta.discover.")
    all_names = ", ".join(entry.full_name for entry in usable)
    raise Fault("unknown_action", f"There is no action {said}.", next_action=f"{hint}Actions: {all_names}.")


def _take_reserved(params: dict[str, Any], action: Action, notes: list[str]) -> dict[str, Any]:
    """Take out of params what every action understands: request_id (writes), override, cursor."""
    own = {field.encode_name for field in struct_fields(action.params)}
    taken: dict[str, Any] = {"request_id": "", "override": False, "cursor": ""}
    for name in ("request_id", "cursor"):
        value = params.get(name)
        if name == "request_id" and isinstance(value, str) and not is_absent(value):
            taken[name] = value[:128]
        if name == "cursor" and name not in own and isinstance(value, str) and not is_absent(value):
            taken[name] = value
        if name not in own:
            params.pop(name, None)
    if "override" not in own and "override" in params:
        taken["override"] = params.pop("override") in (True, "true", 1)
        notes.extend([] if taken["override"] else ["override was not true; it was ignored."])
    return taken


def _options(arguments: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name in ("session_id", "store_as", "agent_id"):
        if not is_absent(arguments.get(name)):
            options[name] = str(arguments[name])[:200]
    verbosity = str(arguments.get("verbosity") or "summary").strip().lower()
    if verbosity in VERBOSITIES:
        options["verbosity"] = verbosity
    elif not is_absent(arguments.get("verbosity")):
        notes.append(f"verbosity {verbosity[:40]!r} is not known; summary was used.")
    if not is_absent(arguments.get("telemetry")):
        options["telemetry"] = arguments["telemetry"] in (True, "true", 1)
    return options


def _convert(params: dict[str, Any], action: Action) -> Params:
    faults = find_faults(params, action.params)
    if not faults:
        try:
            return msgspec.convert(params, action.params)
        except (msgspec.ValidationError, RecursionError) as error:
            faults = [ParamFault("params", str(error))]
    raise ParamsFault(action, faults, params)


class ParamsFault(Fault):
    """Raised for bad params: carries every fault, the action's exact params and one call that would work."""

    def __init__(self, action: Action, faults: list[ParamFault], params: dict[str, Any]) -> None:
        first = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(
            "invalid_params",
            f"{action.full_name}: {first.path} {first.problem}{more}.",
            next_action="Copy `example` and put your own values in; see `faults` and `params`.",
            faults=tuple(faults[:50]),
        )
        self.failure = msgspec.structs.replace(
            self.failure, params=params_table(action.params), example=corrected_call(action, params)
        )


def corrected_call(action: Action, params: dict[str, Any]) -> dict[str, Any]:
    """One call that surely validates: the example, with those of the caller's values that fit kept."""
    kept = dict(action.example)
    for field in struct_fields(action.params):
        name = field.encode_name
        if name in params and not find_faults(params[name], field.type):
            trial = {**kept, name: params[name]}
            kept = kept if find_faults(trial, action.params) else trial
    return {"domain": action.domain, "action": action.name, "params": kept}
