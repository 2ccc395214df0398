"""`$cache.KEY.path` in params: replaced by what an earlier result holds there."""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from protocol.errors import Fault

_REFERENCE: Final = re.compile(r"\$cache\.([A-Za-z0-9_-]+)((?:\.[A-Za-z0-9_-]+|\[\d+\])*)")
Lookup = Callable[[str], Any]


def keys_used(value: Any) -> set[str]:
    """The cache keys that a value refers to, at any depth."""
    if isinstance(value, str):
        return {match[1] for match in _REFERENCE.finditer(value)}
    if isinstance(value, list):
        return set().union(*map(keys_used, value))
    if isinstance(value, dict):
        return set().union(*map(keys_used, value.values()))
    return set()


def resolve(value: Any, lookup: Lookup) -> Any:
    """A copy of `value` with each reference replaced.

    A string that is one whole reference becomes the value itself, of whatever type; a reference inside a
    longer string becomes its text.

    Raises:
        Fault: not_found, when the key is not kept or nothing lies at the path.
    """
    if isinstance(value, str):
        whole = _REFERENCE.fullmatch(value)
        if whole:
            return _look(whole, lookup)
        return _REFERENCE.sub(lambda match: _text(_look(match, lookup)), value)
    if isinstance(value, list):
        return [resolve(entry, lookup) for entry in value]
    if isinstance(value, dict):
        return {key: resolve(entry, lookup) for key, entry in value.items()}
    return value


def _look(match: re.Match[str], lookup: Lookup) -> Any:
    data = lookup(match[1])
    try:
        return dig(data, match[2])
    except (KeyError, IndexError, TypeError, ValueError):
        raise Fault(
            "not_found",
            f"Nothing lies at {match[0]}.",
            next_action=f"The result {match[1]} holds: {_outline(data)}.",
        ) from None


def dig(data: Any, path: str) -> Any:
    """The value at a path of dots and indexes, as ".nodes.0.name" or "nodes[0].name".

    Raises:
        KeyError, IndexError, TypeError, ValueError: when nothing lies there.
    """
    for word in path.replace("[", ".").replace("]", "").split("."):
        if word:
            data = data[int(word)] if isinstance(data, list) else data[word]
    return data


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _outline(data: Any) -> str:
    if isinstance(data, dict):
        return ", ".join(
            f"{key} ({len(entry)} items)" if isinstance(entry, list) else str(key) for key, entry in data.items()
        )
    return f"{len(data)} items" if isinstance(data, list) else type(data).__name__


def select(data: Any, fields: list[str]) -> dict[str, Any]:
    """The parts of `data` at dot paths; over a list, "nodes.name" takes that field of each item."""
    return {field: _select(data, field.split(".")) for field in fields}


def _select(data: Any, words: list[str]) -> Any:
    if not words:
        return data
    if isinstance(data, list) and not words[0].isdigit():
        return [_select(entry, words) for entry in data]
    try:
        return _select(dig(data, words[0]), words[1:])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
