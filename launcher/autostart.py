"""Find the daemon, or start it: exactly one, however many clients want it in the same instant.

Whoever takes the start lock starts it, the others only look for its socket. The systemd user unit is started
where it is installed; otherwise the daemon is spawned in a session of its own with nothing of ours open but
the pipe on which it says READY or what is wrong. Nothing here blocks except `ensure`.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import time

from protocol.endpoints import EndpointError, bridge_socket, runtime_dir, state_dir
from protocol.limits import DAEMON_START_MAX_S

_TEXT_MAX_BYTES = 4_000
_LOOK_EVERY_S = 0.05


class StartError(Exception):
    """No daemon could be had; the message says why and what to do."""


def connect() -> socket.socket | None:
    """A non-blocking stream to the daemon's socket, or None when nobody listens there.

    Raises:
        EndpointError: the runtime directory is not usable.
    """
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        stream.connect(bridge_socket())
    except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
        stream.close()
        return None
    except BaseException:
        stream.close()
        raise
    return stream


def listening() -> bool:
    """Whether a daemon listens."""
    if (stream := connect()) is None:
        return False
    stream.close()
    return True


def log_file() -> str:
    """Where a daemon that was not started by systemd writes."""
    return os.path.join(state_dir(), "daemon.log")


class Start:
    """A start of the daemon under way.

    Attributes:
        fd: readable when there is news; then call `advance`.
        error: what went wrong, once over; "" when nothing did.
    """

    def __init__(self, lock: int, pipe: int, *, by_systemd: bool) -> None:
        self.fd = pipe
        self.error = ""
        self._lock = lock
        self._by_systemd = by_systemd
        self._text = b""

    def advance(self) -> bool:
        """Take in what the pipe holds; True when the start is over and its lock given back."""
        try:
            data = os.read(self.fd, 4096)
        except BlockingIOError:
            return False
        self._text += data[: _TEXT_MAX_BYTES - len(self._text)]
        if data and not self._text.endswith(b"\n"):
            return False
        if data and self._by_systemd:
            return False
        self.error = self._verdict()
        self.close()
        return True

    def close(self) -> None:
        """Let go of pipe and lock; the daemon goes on starting."""
        if self.fd >= 0:
            os.close(self.fd)
            os.close(self._lock)
            self.fd = -1

    def _verdict(self) -> str:
        text = self._text.decode(errors="replace").strip()
        if self._by_systemd:
            return text and f"systemd could not start chrysalis.service: {text}"
        if text == "READY":
            return ""
        if text:
            return text.removeprefix("ERROR").strip()
        return f"The daemon ended while it started; see {log_file()}"


def begin() -> Start | None:
    """Start a daemon; None when another client is at it or one listens by now.

    Raises:
        StartError, EndpointError: it cannot even be tried.
    """
    lock = os.open(os.path.join(runtime_dir(), "start.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if listening():
            os.close(lock)
            return None
        from . import spawn  # noqa: PLC0415 - most bridges find a daemon, and never pay for this

        by_systemd = spawn.unit_installed()
        return Start(lock, spawn.start_unit() if by_systemd else spawn.start_daemon(), by_systemd=by_systemd)
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError as error:
        os.close(lock)
        raise StartError(f"The daemon could not be started: {error}") from error


def ensure(timeout_s: float = DAEMON_START_MAX_S) -> None:
    """Wait until a daemon listens, starting one when there is none.

    Raises:
        StartError: there is none in time; says why.
        EndpointError: the runtime directory is not usable.
    """
    until = time.monotonic() + timeout_s
    start, error = None, ""
    try:
        while not listening():
            if time.monotonic() > until:
                raise StartError(error or f"No daemon within {timeout_s:.0f} s; see {log_file()}")
            if error and not start:
                raise StartError(error)
            start = start or begin()
            if start is None:
                time.sleep(_LOOK_EVERY_S)
            elif select.select([start.fd], [], [], _LOOK_EVERY_S)[0] and start.advance():
                error, start = start.error, None
    finally:
        if start:
            start.close()


__all__ = ["EndpointError", "Start", "StartError", "begin", "connect", "ensure", "listening", "log_file"]
