"""JSON-RPC 2.0 lines: read one, tell what is wrong with it, write answers. Pure.

What is read is judged here and nowhere else: JSON that is none (NaN, broken UTF-8, too deep), messages
that are no requests, ids that are none. `json` of the standard library, since the import of any faster
decoder costs more than the whole budget for answering `initialize`; see docs/decisions/050-bridge.md.
"""

from __future__ import annotations

import json
import re

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_LEADING_ID = re.compile(rb'\s*\{(?:\s*"[a-z]{1,12}"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*("[^"\\]*"|-?\d{1,18})\s*[,}]')
"""The id of a line that does not parse: looked for only before anything nested."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Message:
    """A request (with an id), a notification (without), or a response of the peer (without a method)."""

    __slots__ = ("id", "method", "params")

    def __init__(self, request_id: str | int | None, method: str, params: dict[str, object]) -> None:
        self.id = request_id
        self.method = method
        self.params = params


class Malformed(Exception):  # noqa: N818 - it is answered, not raised to the top
    """A line that cannot be served: the JSON-RPC code, what is wrong, and the id when one can be told."""

    def __init__(self, code: int, message: str, request_id: str | int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = request_id


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def parse(line: bytes) -> object:
    """The JSON value of a line.

    Raises:
        Malformed: it is not JSON, not UTF-8, or nested too deep.
    """
    try:
        return _decode(line.decode())
    except UnicodeDecodeError as error:
        raise Malformed(PARSE_ERROR, f"Parse error: not UTF-8 at byte {error.start}", leading_id(line)) from None
    except RecursionError:
        raise Malformed(PARSE_ERROR, "Parse error: nested too deep", leading_id(line)) from None
    except ValueError as error:
        raise Malformed(PARSE_ERROR, f"Parse error: {error}", leading_id(line)) from None


def leading_id(line: bytes) -> str | int | None:
    """The id that a broken line most surely has; None when it cannot be told."""
    found = _LEADING_ID.match(line)
    return json.loads(found[1].decode(errors="replace")) if found else None


def interpret(value: object) -> Message:
    """The message that a JSON value is.

    Raises:
        Malformed: it is none; with its id, when that is usable.
    """
    if not isinstance(value, dict):
        raise Malformed(INVALID_REQUEST, "Invalid Request: a message is one JSON object")
    request_id = value.get("id")
    if "id" in value and (isinstance(request_id, bool) or not isinstance(request_id, str | int)):
        raise Malformed(INVALID_REQUEST, "Invalid Request: id must be a string or an integer")
    if value.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"', request_id)
    method = value.get("method")
    if method is None and ("result" in value or "error" in value):
        return Message(None, "", {})
    if not isinstance(method, str):
        raise Malformed(INVALID_REQUEST, "Invalid Request: method must be a string", request_id)
    params = value.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise Malformed(INVALID_PARAMS, "Invalid params: must be an object", request_id)
    return Message(request_id, method, params)


def dump(value: object) -> bytes:
    r"""Compact JSON as UTF-8; lone surrogates, which UTF-8 cannot carry, become U+FFFD.

    Raises:
        ValueError, RecursionError: a number beyond JSON (1e999), or nesting that cannot be written.
    """
    text = _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text).encode()


def result(request_id: str | int, value: object) -> bytes:
    """An answer that went well."""
    return result_of_json(request_id, dump(value))


def result_of_json(request_id: str | int, value: bytes) -> bytes:
    """An answer that went well, its result already JSON on one line."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (dump(request_id), value)


def error(request_id: str | int | None, code: int, message: str, data: object = None) -> bytes:
    """An answer that did not."""
    body: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return dump({"jsonrpc": "2.0", "id": request_id, "error": body})


def notification(method: str, params: dict[str, object] | None = None) -> bytes:
    """A message that wants no answer."""
    body: dict[str, object] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        body["params"] = params
    return dump(body)
