"""Tool calls of small models: as the server parsed them, or printed in the text in one of the usual forms."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from .endpoint import Reply

_TAGGED: Final = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FENCED: Final = re.compile(r"```(?:json|tool_call|tool_code)?\s*(\{.*?\})\s*(?:```|\Z)", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r",\s*([}\]])")
TOOL: Final = "chrysalis"


class Call(Struct, frozen=True):
    """The arguments of one call, and whether the server parsed it (native) or it stood in the text (printed)."""

    arguments: dict[str, Any]
    form: Literal["native", "printed"]


def calls(reply: Reply) -> list[Call]:
    """Every call of a reply; printed ones only where there is no native one."""
    native = [Call(found, "native") for one in reply.native if (found := _native(one)) is not None]
    return native or [Call(found, "printed") for text in _candidates(reply.text) if (found := _printed(text))]


def _native(call: dict[str, Any]) -> dict[str, Any] | None:
    arguments = (call.get("function") or {}).get("arguments")
    value = arguments if isinstance(arguments, dict) else _decode(str(arguments or "{}"))
    return value if isinstance(value, dict) else {}


def _candidates(text: str) -> Iterator[str]:
    found = _TAGGED.findall(text) or _FENCED.findall(text)
    yield from found or ([text] if text.lstrip().startswith("{") else [])


def _printed(text: str) -> dict[str, Any] | None:
    """The arguments when the text is a call of our tool: named so, or arguments with an action in them."""
    value = _decode(text)
    if not isinstance(value, dict):
        return None
    inner = value.get("arguments", value.get("parameters", value.get("args")))
    arguments = _decode(inner) if isinstance(inner, str) else inner
    if isinstance(arguments, dict) and value.get("name", TOOL) == TOOL:
        return arguments
    return value if "action" in value or "domain" in value else None


def _decode(text: str) -> Any:
    """The first JSON value in a text, with trailing commas forgiven; None when there is none."""
    start = text.find("{")
    if start < 0:
        return None
    for tried in (text[start:], _TRAILING_COMMA.sub(r"\1", text[start:])):
        try:
            return json.JSONDecoder(strict=False).raw_decode(tried)[0]
        except json.JSONDecodeError:
            continue
    return None
