"""One actor's process: spawned in a session of its own, held by a pipe, ended by a ladder of signals."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from protocol.limits import TERM_GRACE_S

from .states import Cause

_DUMP_S: Final = 0.3
_NOT_INHERITED: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID")


def oom_kills() -> int:
    """How often the kernel has killed for memory since boot; 0 where it does not tell."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


class ActorProcess:
    """A running actor process and what is needed to end it and to say why it ended."""

    def __init__(self, name: str, process: anyio.abc.Process) -> None:
        self.name = name
        self.pid = process.pid
        self.cause: Cause | None = None
        """Set by who ends it: commanded or hung; else told from the exit."""
        self._process = process
        self._oom_kills = oom_kills()

    @classmethod
    async def spawn(cls, name: str, incarnation: str, endpoint: str) -> "ActorProcess":
        """Start `python -m actors.NAME`.

        Raises:
            OSError: the process cannot be started.
        """
        environment = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
        environment |= {"CHRYSALIS_ACTOR_ENDPOINT": endpoint, "CHRYSALIS_INCARNATION": incarnation}
        process = await anyio.open_process(
            [sys.executable, "-m", f"actors.{name}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=None,
            env=environment,
            start_new_session=True,
        )
        return cls(name, process)

    async def wait(self) -> Cause:
        """Wait for its end and say the cause; whatever is left of its group is killed, its pipe closed."""
        code = await self._process.wait()
        self._signal_group(signal.SIGKILL)
        if self._process.stdin is not None:
            with anyio.CancelScope(shield=True):
                await self._process.stdin.aclose()
        return self.cause or self._cause_of(code)

    def _cause_of(self, code: int) -> Cause:
        if code == -signal.SIGKILL and oom_kills() > self._oom_kills:
            return Cause.MEMORY
        return Cause.UNKNOWN if code == 0 else Cause.CRASHED

    async def end(self, cause: Cause, grace_s: float = TERM_GRACE_S) -> None:
        """TERM, then KILL of the whole group; for a hung actor its stacks are written out before."""
        self.cause = cause
        if cause is Cause.HUNG:
            self._signal(signal.SIGUSR1)
            await anyio.sleep(_DUMP_S)
        self._signal(signal.SIGTERM)
        with anyio.move_on_after(grace_s):
            await self._process.wait()
            return
        self._signal_group(signal.SIGKILL)

    def kill(self) -> None:
        """KILL of the whole group, at once."""
        self._signal_group(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all of it is gone
            os.killpg(self.pid, number)
