"""What a service tells systemd (sd_notify): one datagram a message; silent where nobody listens.

Written out instead of depended on: the packages that do it are stale or bind to libsystemd. The variables
are read once and taken from the environment, so that no child mistakes itself for the service.
"""

import os
import socket
from collections.abc import MutableMapping


class Notifier:
    """The service's end of the notification socket.

    Args:
        environment: where NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID are read from and removed.
    """

    def __init__(self, environment: MutableMapping[str, str] | None = None) -> None:
        given = os.environ if environment is None else environment
        self._address = given.pop("NOTIFY_SOCKET", "")
        interval_us, pid = given.pop("WATCHDOG_USEC", ""), given.pop("WATCHDOG_PID", "")
        self._watchdog_us = int(interval_us) if interval_us.isdigit() and pid in {"", str(os.getpid())} else 0

    @property
    def listening(self) -> bool:
        """Whether a service manager started us and wants to be told."""
        return bool(self._address)

    @property
    def watchdog_interval_s(self) -> float | None:
        """How often to send WATCHDOG=1: half of what systemd allows; None when it does not watch."""
        return self._watchdog_us / 2e6 if self._watchdog_us else None

    def notify(self, message: str) -> bool:
        """Send assignments such as READY=1 or STATUS=… (one a line); False when nobody listens or it cannot be sent."""
        if not self._address:
            return False
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.setblocking(False)
                channel.sendto(message.encode(), address)
        except OSError:
            return False
        return True


_process: list[Notifier] = []


def _notifier() -> Notifier:
    if not _process:
        _process.append(Notifier())
    return _process[0]


def notify(message: str) -> bool:
    """Tell this process's service manager; the first call takes the variables out of the environment."""
    return _notifier().notify(message)


def watchdog_interval_s() -> float | None:
    """Seconds between WATCHDOG=1 messages, or None when no watchdog is set for this process."""
    return _notifier().watchdog_interval_s
