"""Bytes to lines, with a limit: a line that is too long is told once and skipped, never stored."""

from __future__ import annotations

LINE_MAX_BYTES = 4 << 20
"""Longer lines are refused; the tool's own limit on arguments (1 MiB) lies well below."""
_HEAD_BYTES = 200


class TooLong:
    """A line that was skipped; `head` is its beginning, where its id may be."""

    __slots__ = ("head",)

    def __init__(self, head: bytes) -> None:
        self.head = head


class Lines:
    """Splits a byte stream at newlines."""

    def __init__(self, limit: int = LINE_MAX_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that `data` completes, without their ends; blank ones are left out."""
        found: list[bytes | TooLong] = []
        *ends, rest = data.split(b"\n")
        for part in ends:
            self._take(part, found)
            self._end(found)
        self._take(rest, found)
        return found

    def close(self) -> list[bytes | TooLong]:
        """What came after the last newline, when the stream ends."""
        found: list[bytes | TooLong] = []
        self._end(found)
        return found

    def _take(self, part: bytes, found: list[bytes | TooLong]) -> None:
        if self._skipping:
            return
        self._rest += part
        if len(self._rest) > self._limit:
            found.append(TooLong(bytes(self._rest[:_HEAD_BYTES])))
            self._rest.clear()
            self._skipping = True

    def _end(self, found: list[bytes | TooLong]) -> None:
        if not self._skipping and (line := bytes(self._rest).strip()):
            found.append(line)
        self._rest.clear()
        self._skipping = False
