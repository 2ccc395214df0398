"""Edit JSON with comments as text: one member is set, every other byte stays as it was.

A scanner finds where values begin and end; comments and trailing commas are passed over, as VS Code and Zed
allow them. Whatever it does not understand is refused with line and column.
"""

import json
from typing import Any, Final

from msgspec import Struct

_SPACE: Final = " \t\r\n\ufeff"
_DEPTH_MAX: Final = 200
_INDENT: Final = "  "


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


class NotJson(Exception):  # noqa: N818
    """The text is not JSON (with comments); says where and what."""


class Member(Struct, frozen=True):
    """One member of an object: where its key begins, and where its value begins and ends."""

    key: str
    start: int
    value: "Value"


class Value(Struct, frozen=True):
    """One value: what it is and where; `members` of an object in order."""

    data: Any
    start: int
    end: int
    members: tuple[Member, ...] = ()
    comma: bool = False
    """Whether the last member is followed by a comma."""


def read(text: str) -> Any:
    """What the text says.

    Raises:
        NotJson: it is not JSON with comments.
    """
    return _Scanner(text).document().data


def with_member(text: str, path: tuple[str, ...], data: Any) -> str:
    """The text with the member at `path` set to `data`; objects on the way are made where they lack.

    Raises:
        NotJson: the text is not JSON with comments, or something on the way is not an object.
    """
    value = _Scanner(text).document()
    for depth, key in enumerate(path):
        if not isinstance(value.data, dict):
            raise NotJson(f"{'.'.join(path[:depth]) or 'the document'} is not an object")
        found = [member for member in value.members if member.key == key]
        if not found:
            for outer in reversed(path[depth + 1 :]):
                data = {outer: data}
            return _insert(text, value, key, data)
        value = found[-1].value
    return text[: value.start] + _render(data, _indent_at(text, value.start), _newline(text)) + text[value.end :]


def _insert(text: str, owner: Value, key: str, data: Any) -> str:
    """Add a member at the end of an object, in the object's own layout."""
    newline = _newline(text)
    outer = _indent_at(text, owner.start)
    last = owner.members[-1] if owner.members else None
    inner = _indent_at(text, last.start) if last and "\n" in text[owner.start : last.start] else outer + _INDENT
    member = f"{newline}{inner}{json.dumps(key, ensure_ascii=False)}: {_render(data, inner, newline)}"
    if last is None:
        close = owner.end - 1
        between = text[owner.start + 1 : close].rstrip(" \t\r\n")
        return text[: owner.start + 1] + between + member + newline + outer + text[close:]
    tail = text[last.value.end : owner.end - 1]
    kept = tail.rstrip(" \t\r\n")
    if not owner.comma:
        kept = "," + kept
    ending = tail[len(tail.rstrip(" \t\r\n")) :] if "\n" in tail else newline + outer
    return text[: last.value.end] + kept + member + ending + text[owner.end - 1 :]


def _render(data: Any, indent: str, newline: str) -> str:
    return json.dumps(data, indent=len(_INDENT), ensure_ascii=False).replace("\n", newline + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


class _Scanner:
    """Reads one document, remembering positions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> Value:
        """The whole text as one value."""
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("something follows the end of the document")
        return value

    def _wrong(self, what: str) -> NotJson:
        line = self._text.count("\n", 0, self._at) + 1
        return NotJson(f"line {line}, column {self._at - self._text.rfind(chr(10), 0, self._at)}: {what}")

    def _skip(self) -> None:
        """Pass over white space and comments."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in _SPACE:
                self._at += 1
            elif text.startswith("//", self._at):
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif text.startswith("/*", self._at):
                end = text.find("*/", self._at + 2)
                if end < 0:
                    raise self._wrong("a comment that does not end")
                self._at = end + 2
            else:
                return

    def _peek(self) -> str:
        self._skip()
        if self._at >= len(self._text):
            raise self._wrong("the document ends too soon")
        return self._text[self._at]

    def _value(self, depth: int) -> Value:
        if depth > _DEPTH_MAX:
            raise self._wrong("nested too deep")
        char = self._peek()
        start = self._at
        if char == "{":
            return self._object(start, depth)
        if char == "[":
            return self._array(start, depth)
        return Value(self._scalar(), start, self._at)

    def _scalar(self) -> Any:
        """A string, number or word, as the standard library reads it."""
        try:
            data, self._at = _DECODER.raw_decode(self._text, self._at)
        except ValueError as error:
            raise self._wrong(str(getattr(error, "msg", error))) from None
        return data

    def _object(self, start: int, depth: int) -> Value:
        self._at += 1
        members: list[Member] = []
        comma = False
        while self._peek() != "}":
            if members and not comma:
                raise self._wrong("a comma is expected")
            if self._peek() != '"':
                raise self._wrong("a member's name in double quotes is expected")
            key_start = self._at
            key = self._scalar()
            if self._peek() != ":":
                raise self._wrong("a colon is expected")
            self._at += 1
            members.append(Member(key, key_start, self._value(depth + 1)))
            comma = self._comma()
        self._at += 1
        data = {member.key: member.value.data for member in members}
        return Value(data, start, self._at, tuple(members), comma)

    def _array(self, start: int, depth: int) -> Value:
        self._at += 1
        items: list[Any] = []
        comma = False
        while self._peek() != "]":
            if items and not comma:
                raise self._wrong("a comma is expected")
            items.append(self._value(depth + 1).data)
            comma = self._comma()
        self._at += 1
        return Value(items, start, self._at)

    def _comma(self) -> bool:
        if self._peek() != ",":
            return False
        self._at += 1
        return True
