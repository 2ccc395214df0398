"""Mend what small models get wrong in arguments, where it is safe, and say each mend in a note.

Repairs never guess a value: they only change the form in which a value was sent, and only where the value
as it stands does not fit. A field that is a string by contract is never decoded.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from .action import Action, Params
from .validate import struct_fields

_EMPTY: Final = frozenset({"", "none", "null", "undefined"})


def is_absent(value: Any) -> bool:
    """Whether a model that wrote this for an optional argument meant to leave it out."""
    return value is None or (isinstance(value, str) and value.strip().lower() in _EMPTY)


def decode_object(value: Any, what: str, notes: list[str]) -> Any:
    """An object that was sent as a JSON string, decoded once or twice; anything else as it is."""
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
        notes.append(f"{what} was a JSON string; it was read as {type(value).__name__}.")
    return value


def find_action(
    domain: Any, action: Any, actions: Iterable[Action], notes: list[str]
) -> tuple[Action | None, list[str]]:
    """The action meant by two words a model wrote, and near matches when none is sure.

    Accepts "memory.recall" in either word, a missing or wrong domain when the action's name is unique, and
    a near miss when what it would run changes nothing.
    """
    known = {entry.full_name: entry for entry in actions}
    wanted = _full_name(domain, action)
    if wanted in known:
        return known[wanted], []
    name = wanted.rpartition(".")[2]
    same = [entry for entry in known.values() if entry.name == name]
    if len(same) == 1:
        notes.append(f"Read {_shown(domain, action)} as {same[0].full_name}.")
        return same[0], []
    near = difflib.get_close_matches(wanted, list(known), n=3, cutoff=0.6)
    sure = [full for full in difflib.get_close_matches(wanted, list(known), n=2, cutoff=0.85) if known[full].read_only]
    if len(sure) == 1:
        notes.append(f"Read {_shown(domain, action)} as {sure[0]}.")
        return known[sure[0]], []
    return None, near


def _full_name(domain: Any, action: Any) -> str:
    words = [str(word).strip().lower().replace("/", ".") for word in (domain, action) if not is_absent(word)]
    if words and "." in words[-1]:
        return words[-1]
    if len(words) == 1:
        return words[0] if "." in words[0] else f".{words[0]}"
    return ".".join(words)


def _shown(domain: Any, action: Any) -> str:
    return ".".join(str(word) for word in (domain, action) if not is_absent(word))


def mend_params(params: Mapping[str, Any], kind: type[Params], notes: list[str]) -> dict[str, Any]:
    """Params with absent optionals left out and misformed values brought into form, each with a note."""
    fields = {field.encode_name: field for field in struct_fields(kind)}
    mended: dict[str, Any] = {}
    for name, value in params.items():
        field = fields.get(name)
        if field is None:
            mended[name] = value
        elif not (is_absent(value) and not field.required and not _fits(value, field.type, blank=True)):
            mended[name] = _mend(name, value, field.type, notes)
    return mended


def _fits(value: Any, kind: Any, *, blank: bool = False) -> bool:
    if blank and isinstance(value, str):
        return False  # "" and "None" fit any string field, and still mean that it was left out
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def _mend(name: str, value: Any, kind: Any, notes: list[str]) -> Any:
    if _fits(value, kind):
        return value
    for mend, words in _MENDS:
        changed = mend(value)
        if changed is not _KEEP and _fits(changed, kind):
            notes.append(f"{name}: {words}.")
            return changed
    return value


_KEEP: Final = object()


def _from_text(value: Any) -> Any:
    if not isinstance(value, str):
        return _KEEP
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return _KEEP


def _lower_text(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else _KEEP


def _truth(value: Any) -> Any:
    return {"true": True, "yes": True, "false": False, "no": False}.get(str(value).strip().lower(), _KEEP)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else _KEEP


def _one_item(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else _KEEP


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else _KEEP


def _one_of_text(value: Any) -> Any:
    decoded = _from_text(value)
    return [decoded] if decoded is not _KEEP else _KEEP


_MENDS: Final[tuple[tuple[Callable[[Any], Any], str], ...]] = (
    (_from_text, "a JSON value sent as text was decoded"),
    (_truth, "a word for true or false was read as such"),
    (_whole, "a whole number sent as a decimal was read as a whole number"),
    (_lower_text, "upper case or blanks were folded"),
    (_one_item, "a single item was read as a list of one"),
    (_one_of_text, "a single item sent as text was read as a list of one"),
    (_text, "a number was read as text"),
)


def lift_strays(
    arguments: Mapping[str, Any], known: frozenset[str], params: dict[str, Any], kind: type[Params], notes: list[str]
) -> list[str]:
    """Move arguments that stand beside `params` into it where they belong; returns the names that belong nowhere."""
    fields = {field.encode_name for field in struct_fields(kind)}
    strays = [name for name in arguments if name not in known]
    for name in strays:
        if name in fields and name not in params:
            params[name] = arguments[name]
            notes.append(f"{name} stood beside params; it was moved into it.")
    return [name for name in strays if name not in fields]


__all__ = ["decode_object", "find_action", "is_absent", "lift_strays", "mend_params"]
