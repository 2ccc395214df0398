"""The memory file that is open: its lock, its substrate, and the fault in its place when it cannot be used."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from actors.base import Job
from protocol.actions import memory as words
from protocol.errors import Fault

from .backup import Backups, read_only
from .database import Lock
from .substrate import Substrate

T = TypeVar("T")


class MemoryFile:
    """Opens, closes and exchanges the file. Every method runs in the lane of the database.

    Attributes:
        substrate: what is open; None before `open`, after `close`, and while the file is `broken`.
        broken: why the file could not be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backups = Backups(path)
        self.substrate: Substrate | None = None
        self.broken: Fault | None = None
        self._lock: Lock | None = None

    def open(self) -> None:
        """Take the lock and open the file, or keep the reason why that cannot be.

        Raises:
            Fault: `conflict` when another process holds it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = Lock(self.path.with_name(self.path.name + ".lock"))
        try:
            self.substrate = Substrate(self.path, before_migration=self._before_migration)
            self.substrate.load_vectors()
            self.substrate.present()
        except Fault as fault:
            self.broken = fault

    def close(self) -> None:
        """Checkpoint, close, and give the lock back."""
        if self.substrate is not None:
            self.substrate.close()
            self.substrate = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def store(self) -> Substrate:
        """What is open.

        Raises:
            Fault: the file is broken, or being closed.
        """
        if self.broken is not None:
            raise self.broken
        if self.substrate is None:
            raise Fault("unavailable", "The memory is closing.", next_action="Retry in a few seconds.")
        return self.substrate

    def if_open(self, step: Callable[..., T], *args: Any, store: Substrate | None = None) -> T | None:
        """A step of background work; nothing once the file is closed, or is no longer `store` where that is given."""
        if self.substrate is None or (store is not None and store is not self.substrate):
            return None
        return step(self.substrate, *args)

    def restore(self, job: Job, name: str, now_ns: int) -> words.Restored:
        """Put a backup in place of the file, which is kept before; the reply is stored in what was restored.

        Raises:
            Fault: there is no such backup, or it is damaged; the file stays as it is.
        """
        backup = self.backups.find(name)
        before = self._leave()
        self.backups.put_back(backup)
        self.broken = None
        self.substrate = Substrate(self.path, before_migration=self._before_migration)
        self.substrate.load_vectors()
        reply = words.Restored(backups=self.backups.listed(), restored=name, before=before)
        with self.substrate.database.transaction():
            if self.substrate.database.applied(job.id, job.action, words.Restored) is None:
                self.substrate.database.remember(job.id, job.action, reply, now_ns)
        return reply

    def _leave(self) -> str:
        """Keep the present state, then close it: as a backup, or set aside when it is damaged."""
        if self.substrate is None:
            return self.backups.set_aside()
        kept = self.backups.make(self.substrate.database.connection, "restore").name
        self.substrate.close()
        self.substrate = None
        return kept

    def _before_migration(self, path: Path) -> None:
        with contextlib.closing(read_only(path)) as connection:
            self.backups.make(connection, "migration")
