"""The bridge's process: one thread, one poll over the client's pipes, the parent and the daemon's socket.

Whatever is slow to import (sockets, the way to the daemon) comes after the first answers are out, since a
client waits for those. It leaves at once, and silently, when the client does: end of input (after a moment
for calls under way), a closed output, a signal, or the parent's end.
"""

from __future__ import annotations

import os
import select
import sys
import time

from . import jsonrpc, tool
from .calls import failure
from .lines import Lines, TooLong
from .session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .calls import Call
    from .link import Link

_READ_BYTES = 1 << 17
_WRITE_BYTES = 4096
"""A pipe that polls writable takes this much without blocking (PIPE_BUF)."""
_OUT_MAX_BYTES = 8 << 20
"""With more unsent, nothing is read on either side: a client that does not listen is not served further."""
_LINGER_S = 0.6
"""How long calls under way may still be answered after the client closed its end."""
_FLUSH_S = 0.2
_PARENT_EVERY_S = 0.5


class Leave(Exception):  # noqa: N818
    """The client is gone, or wants us gone."""


class Loop:
    """Moves bytes between the client, the session and the link."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._lines = Lines()
        self._out = bytearray()
        self._tool = tool.load()
        self._session = Session(
            self._tool, write=self._write, start=self._submit, stop=self._cancel, clock=time.monotonic
        )
        self._link: Link | None = None
        self._eof_at: float | None = None
        self._parent = os.getppid()
        self._pidfd = _watch(self._parent)

    def run(self) -> None:
        """Serve until the client is gone.

        Raises:
            Leave: it is.
        """
        tool.read_advice(self._tool)
        while True:
            self._wait()
            now = time.monotonic()
            if self._session.engaged and not self._out and self._link is None:
                self._engage()
            if self._link and self._session.engaged:
                self._link.tick(now)
            if self._eof_at is not None:
                self._finish(now)
            if self._pidfd < 0 and os.getppid() != self._parent:
                raise Leave

    def close(self) -> None:
        """Say goodbye to the daemon."""
        if self._link:
            self._link.close()

    # waiting

    def _wait(self) -> None:
        poller = select.poll()
        full = len(self._out) >= _OUT_MAX_BYTES
        if self._eof_at is None:
            poller.register(self._stdin, 0 if full else select.POLLIN)
        poller.register(self._stdout, select.POLLOUT if self._out else 0)
        if self._pidfd >= 0:
            poller.register(self._pidfd, select.POLLIN)
        if self._link and not full:
            for fd, events in self._link.wishes():
                poller.register(fd, events)
        for fd, events in poller.poll(self._timeout_ms()):
            self._happened(fd, events)

    def _timeout_ms(self) -> float | None:
        times: list[float] = []
        now = time.monotonic()
        if self._session.engaged and (self._link or not self._out):
            times.append(self._link.next_at() if self._link else now)
        if self._eof_at is not None:
            times.append(self._eof_at + _LINGER_S)
        if self._pidfd < 0:
            times.append(now + _PARENT_EVERY_S)
        return max(0, min(times) - now) * 1000 + 1 if times else None

    def _happened(self, fd: int, events: int) -> None:
        if fd == self._stdout:
            if events & (select.POLLERR | select.POLLNVAL) or (events & select.POLLHUP and not events & select.POLLOUT):
                raise Leave
            self._flush()
        elif fd == self._stdin:
            self._read()
        elif fd == self._pidfd:
            raise Leave
        elif self._link:
            self._link.ready(fd, time.monotonic())

    # the client

    def _read(self) -> None:
        data = os.read(self._stdin, _READ_BYTES)
        if not data:
            self._eof_at = time.monotonic()
        for line in self._lines.feed(data) if data else self._lines.close():
            self._serve(line)

    def _serve(self, line: bytes | TooLong) -> None:
        """The top handler: a fault of ours costs one request an internal error, never the process."""
        try:
            if isinstance(line, TooLong):
                self._session.refuse_too_long(line.head)
            else:
                self._session.receive(line)
        except Exception as error:  # noqa: BLE001 - the process's one top handler
            print(f"chrysalis-mcp: {type(error).__name__}: {error}", file=sys.stderr)
            head = line.head if isinstance(line, TooLong) else line
            self._write(jsonrpc.error(jsonrpc.leading_id(head), jsonrpc.INTERNAL_ERROR, "Internal error"))

    def _write(self, line: bytes) -> None:
        self._out += line
        self._out += b"\n"

    def _flush(self) -> None:
        if self._out:
            sent = os.write(self._stdout, self._out[:_WRITE_BYTES])
            del self._out[:sent]

    def _finish(self, now: float) -> None:
        """The client closed its end: leave when everything is answered, or its time is up."""
        assert self._eof_at is not None
        if now >= self._eof_at + _LINGER_S:
            text = "The client closed its end before the call was done."
            for call in list(self._session.calls.values()):
                self._session.answered(call, failure("cancelled", text, "Keep stdin open."), is_error=True)
            self._session.close()
            self._drain(now + _FLUSH_S)
            raise Leave
        if not self._session.calls:
            self._session.close()
            if not self._out:
                raise Leave

    def _drain(self, until: float) -> None:
        poller = select.poll()
        poller.register(self._stdout, select.POLLOUT)
        while self._out and poller.poll(max(0, until - time.monotonic()) * 1000):
            self._flush()
            if time.monotonic() > until:
                return

    # the daemon

    def _engage(self) -> Link:
        """Load the way to the daemon, once."""
        if self._link is None:
            from .link import Link  # noqa: PLC0415 - after the first answers are out
            from .signals import leave_in_order  # noqa: PLC0415

            leave_in_order()
            self._link = Link(self._session, self._tool)
        return self._link

    def _submit(self, call: Call) -> None:
        self._engage().submit(call, time.monotonic())

    def _cancel(self, call: Call) -> None:
        self._engage().cancel(call)


def _watch(pid: int) -> int:
    """A descriptor that turns readable when the process ends; -1 where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def main() -> int:
    """Be the MCP server on stdin and stdout: the whole of `chrysalis-mcp`."""
    loop = Loop(0, 1)
    try:  # noqa: SIM105 - contextlib is one import more
        loop.run()
    except (Leave, OSError, KeyboardInterrupt, SystemExit):  # OSError: a pipe that is closed, or was never there
        pass
    loop.close()
    os._exit(0)  # nothing is left to tear down, and a second signal has nothing to interrupt
