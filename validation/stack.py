"""A real daemon with its actors in a directory of its own, for tests, benchmarks and the demo."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil

from protocol.client import Client, NoDaemon

_ROOT: Final = Path(__file__).resolve().parent.parent
_LOG_TAIL: Final = 4_000


class StackFailed(Exception):  # noqa: N818
    """Raised when the daemon does not come up; carries the end of its log."""


class Stack:
    """A daemon under test: `with Stack() as stack: stack.client().call(...)`.

    Nothing is left behind: on exit the daemon is stopped, every process of its own is gone, the directory too.

    Args:
        environment: further variables for the daemon and everything under it.
        keep: a directory to use and leave; for tests that start several daemons on one database.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, keep: Path | None = None) -> None:
        self._kept = keep is not None
        self.directory = keep or Path(tempfile.mkdtemp(prefix="cz", dir=tempfile.gettempdir()))
        self.runtime = self.directory / "run"
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("CHRYSALIS_")},
            "CHRYSALIS_RUNTIME_DIR": str(self.runtime),
            "XDG_DATA_HOME": str(self.directory / "data"),
            "XDG_CONFIG_HOME": str(self.directory / "config"),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "CHRYSALIS_DATA": os.environ.get("CHRYSALIS_DATA", ""),
            "PYTHONPATH": str(_ROOT),
            **(environment or {}),
        }
        if not self.environment["CHRYSALIS_DATA"]:
            del self.environment["CHRYSALIS_DATA"]
        self.log = self.directory / "daemon.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._clients: list[Client] = []
        self._seen: set[psutil.Process] = set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def endpoint(self) -> str:
        """Where clients connect."""
        return f"ipc://{self.runtime / 'bridge.sock'}"

    def start(self, *, wait_ready: bool = True) -> None:
        """Start the daemon; wait until every actor serves.

        Raises:
            StackFailed: it does not come up.
        """
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "daemon"],
                env=self.environment,
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        if wait_ready:
            self.wait_ready()

    def wait_ready(self, timeout_s: float = 60.0) -> None:
        """Wait until every actor is running.

        Raises:
            StackFailed: in `timeout_s` they are not.
        """
        until = time.monotonic() + timeout_s
        states: Any = {}
        while time.monotonic() < until:
            with contextlib.suppress(NoDaemon), self._connect(1.0) as client:
                states = {
                    name: actor["state"] for name, actor in client.control("status", timeout_s=2.0)["actors"].items()
                }
                if set(states.values()) == {"running"}:
                    self.note_processes()
                    return
            if self.process is not None and self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise StackFailed(f"actors: {states}; the daemon's log ends with:\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The end of the daemon's log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-_LOG_TAIL:] if self.log.exists() else ""

    def _connect(self, timeout_s: float, **options: Any) -> Client:
        return Client(kind="test", endpoint=self.endpoint, connect_timeout_s=timeout_s, **options)

    def client(self, name: str = "test", *, operator: bool = True, timeout_s: float = 10.0) -> Client:
        """A new client; closed with the stack."""
        client = self._connect(timeout_s, client=name, operator=operator)
        self._clients.append(client)
        return client

    def processes(self) -> list[psutil.Process]:
        """The daemon and everything under it that is alive now."""
        if self.process is None:
            return []
        try:
            daemon = psutil.Process(self.process.pid)
            return [daemon, *daemon.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def note_processes(self) -> None:
        """Remember what runs now, so that `close` can tell whether all of it is gone."""
        self._seen.update(self.processes())

    def stop(self, timeout_s: float = 20.0) -> int:
        """End the daemon by SIGTERM and wait; its exit code.

        Raises:
            StackFailed: it does not end in time.
        """
        assert self.process is not None
        self.note_processes()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise StackFailed(f"the daemon did not end; its log ends with:\n{self.log_tail()}") from None

    def kill(self) -> None:
        """KILL the daemon and wait for it; what it leaves is left to itself."""
        assert self.process is not None
        self.note_processes()
        self.process.kill()
        self.process.wait()

    def survivors(self, timeout_s: float = 8.0) -> list[str]:
        """What is still alive of all the processes seen, after waiting for them to end."""
        _, alive = psutil.wait_procs(list(self._seen), timeout=timeout_s)
        return [f"{process.pid} {' '.join(_cmdline(process))}" for process in alive if _is_alive(process)]

    def close(self) -> None:
        """Stop everything and take the directory away.

        Raises:
            StackFailed: a process or a socket of ours is left.
        """
        for client in self._clients:
            client.close()
        if self.process is not None:
            self.stop()
        left = self.survivors()
        sockets = [path.name for path in self.runtime.glob("*.sock")] if self.runtime.exists() else []
        if not self._kept:
            shutil.rmtree(self.directory, ignore_errors=True)
        if left or sockets:
            raise StackFailed(f"left behind: {left} {sockets}")


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
