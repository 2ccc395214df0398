"""As much MessagePack as the client messages need: nil, booleans, integers, floats, text, bytes, arrays, maps.

Written out because importing a codec costs a bridge more processor time and memory than everything else it
does; tests hold it against `protocol.messages`, whose Structs say what the messages are.
Format: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

# ruff: noqa: PLR2004 - the numbers are the format's own

from __future__ import annotations

import struct

_U16, _U32, _U64 = struct.Struct(">H"), struct.Struct(">I"), struct.Struct(">Q")
_F32, _F64 = struct.Struct(">f"), struct.Struct(">d")
_DEPTH_MAX = 32
_NUMBERS = {
    0xCA: _F32, 0xCB: _F64,
    0xCC: struct.Struct(">B"), 0xCD: _U16, 0xCE: _U32, 0xCF: _U64,
    0xD0: struct.Struct(">b"), 0xD1: struct.Struct(">h"), 0xD2: struct.Struct(">i"), 0xD3: struct.Struct(">q"),
}  # fmt: skip
_LENGTHS = {0xC4: _NUMBERS[0xCC], 0xC5: _U16, 0xC6: _U32, 0xD9: _NUMBERS[0xCC], 0xDA: _U16, 0xDB: _U32,
            0xDC: _U16, 0xDD: _U32, 0xDE: _U16, 0xDF: _U32}  # fmt: skip


class Undecodable(Exception):  # noqa: N818
    """Bytes that are no message of this subset."""


def pack(value: object) -> bytes:
    """One value as MessagePack.

    Raises:
        TypeError: for a type outside of the subset; OverflowError: for an integer beyond 64 bit.
    """
    out = bytearray()
    _pack(value, out)
    return bytes(out)


def _pack(value: object, out: bytearray) -> None:
    if value is None:
        out.append(0xC0)
    elif value is True or value is False:
        out.append(0xC3 if value else 0xC2)
    elif isinstance(value, int):
        _pack_int(value, out)
    elif isinstance(value, float):
        out += b"\xcb" + _F64.pack(value)
    elif isinstance(value, str):
        data = value.encode(errors="replace")
        out += b"\xdb" + _U32.pack(len(data)) + data
    elif isinstance(value, bytes):
        out += b"\xc6" + _U32.pack(len(value)) + value
    elif isinstance(value, dict):
        out += b"\xdf" + _U32.pack(len(value))
        for key, entry in value.items():
            _pack(key, out)
            _pack(entry, out)
    else:
        raise TypeError(f"{type(value).__name__} is not in the subset")


def _pack_int(value: int, out: bytearray) -> None:
    try:
        out += b"\xcf" + _U64.pack(value) if value >= 0 else b"\xd3" + _NUMBERS[0xD3].pack(value)
    except struct.error as error:
        raise OverflowError(str(error)) from None


def unpack(data: bytes) -> object:
    """The one value that `data` is.

    Raises:
        Undecodable: it is truncated, too deep, followed by more, or outside of the subset.
    """
    try:
        value, end = _unpack(data, 0, 0)
    except (IndexError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise Undecodable(str(error)) from None
    if end != len(data):
        raise Undecodable(f"{len(data) - end} bytes too many")
    return value


def _unpack(data: bytes, at: int, depth: int) -> tuple[object, int]:
    kind = data[at]
    at += 1
    if kind <= 0x7F:
        return kind, at
    if kind >= 0xE0:
        return kind - 0x100, at
    if kind <= 0x8F:
        return _map(data, at, kind & 0x0F, depth)
    if kind <= 0x9F:
        return _array(data, at, kind & 0x0F, depth)
    if kind <= 0xBF:
        return _take(data, at, kind & 0x1F, text=True)
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at
    if number := _NUMBERS.get(kind):
        return number.unpack_from(data, at)[0], at + number.size
    if length := _LENGTHS.get(kind):
        return _sized(kind, data, at + length.size, length.unpack_from(data, at)[0], depth)
    raise Undecodable(f"byte {kind:#x} is not in the subset")


def _sized(kind: int, data: bytes, at: int, count: int, depth: int) -> tuple[object, int]:
    if kind <= 0xDB:
        return _take(data, at, count, text=kind >= 0xD9)
    return (_map if kind >= 0xDE else _array)(data, at, count, depth)


def _take(data: bytes, at: int, count: int, *, text: bool) -> tuple[object, int]:
    part = data[at : at + count]
    if len(part) != count:
        raise Undecodable("truncated")
    return (part.decode() if text else part), at + count


def _array(data: bytes, at: int, count: int, depth: int) -> tuple[object, int]:
    _check(data, at, count, depth)
    items: list[object] = []
    for _ in range(count):
        item, at = _unpack(data, at, depth + 1)
        items.append(item)
    return items, at


def _map(data: bytes, at: int, count: int, depth: int) -> tuple[object, int]:
    _check(data, at, count, depth)
    items: dict[object, object] = {}
    for _ in range(count):
        key, at = _unpack(data, at, depth + 1)
        items[key], at = _unpack(data, at, depth + 1)
    return items, at


def _check(data: bytes, at: int, count: int, depth: int) -> None:
    if depth >= _DEPTH_MAX or count > len(data) - at:
        raise Undecodable("too deep or truncated")
