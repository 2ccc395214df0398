"""The last lines that the server wrote."""

from collections import deque
from typing import Final

LINES_MAX: Final = 2_000
LINE_MAX_CHARS: Final = 2_000


class LogRing:
    """A ring of lines; what is cut or dropped is counted."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LINES_MAX)
        self._rest = b""
        self.dropped = 0

    def feed(self, data: bytes) -> None:
        """Take in raw output; an unfinished line waits for its end, unless it is too long."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._add(line)
        if len(self._rest) > LINE_MAX_CHARS:
            self._add(self._rest)
            self._rest = b""

    def note(self, text: str) -> None:
        """A line of the guard's own."""
        self._add(f"[guard] {text}".encode())

    def tail(self, count: int) -> list[str]:
        """The last lines, oldest first, an unfinished one included."""
        rest = [self._text(self._rest)] if self._rest else []
        return [*self._lines, *rest][-count:]

    def _add(self, line: bytes) -> None:
        self.dropped += len(self._lines) == LINES_MAX
        self._lines.append(self._text(line))

    def _text(self, line: bytes) -> str:
        return line.rstrip(b"\r").decode("utf-8", "replace")[:LINE_MAX_CHARS]
