"""The one connection to the memory file: exclusive, durable, checked at open; transactions and request ids."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import sqlite_vec

from protocol.errors import Fault

from . import schema

LOCK_WAIT_S: Final = 10.0
"""A freshly killed predecessor may hold the lock for a moment."""
REQUESTS_KEPT_NS: Final = 7 * 24 * 3600 * 1_000_000_000
FULL_NEXT: Final = "Free some disk space, then send the same request again; nothing was changed."
CORRUPT_NEXT: Final = (
    "Stop, then `chrysalis backup list` and `chrysalis backup restore NAME`; the file is left as it is."
)


class Lock:
    """An exclusive lock beside the database, held for the life of the process."""

    def __init__(self, path: Path, *, wait_s: float = LOCK_WAIT_S) -> None:
        """Take it.

        Raises:
            Fault: `conflict` when another process keeps it longer than `wait_s`.
        """
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        give_up = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < give_up:
                    time.sleep(0.05)
                    continue
                os.close(self._fd)
                raise Fault(
                    "conflict",
                    f"Another process holds {path}.",
                    next_action="Stop the other daemon (`chrysalis stop`) or choose another CHRYSALIS_DB.",
                ) from None
            return

    def release(self) -> None:
        """Give it back."""
        os.close(self._fd)


def connect(path: str | Path, *, flags: int | None = None) -> apsw.Connection:
    """A connection with sqlite-vec loaded and nothing else changed."""
    flags = flags if flags is not None else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    return connection


@contextlib.contextmanager
def told(path: Path) -> Generator[None]:
    """Turn what SQLite says about disk and file into faults with the way out."""
    try:
        yield
    except apsw.FullError as error:
        raise Fault("unavailable", f"The disk is full ({error}).", next_action=FULL_NEXT) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise Fault("internal", f"{path} is damaged ({error}).", next_action=CORRUPT_NEXT) from error
    except apsw.IOError as error:
        raise Fault("unavailable", f"{path} cannot be read or written ({error}).", next_action=FULL_NEXT) from error
    except apsw.CantOpenError as error:
        text = f"{path} cannot be opened ({error})."
        raise Fault("unavailable", text, next_action="Check that its folder exists and may be written.") from error


class Database:
    """The open memory file. All calls come from one thread at a time (the actor's lane)."""

    def __init__(self, path: Path, *, before_migration: Callable[[Path], None] | None = None) -> None:
        """Open or create it.

        Raises:
            Fault: `unavailable` or `internal` when it is foreign, newer, damaged or out of reach.
        """
        self.path = path
        with told(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = not path.exists() or path.stat().st_size == 0
            if fresh:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self.connection = connect(path)
            try:
                self._prepare(before_migration)
            except BaseException:
                self.connection.close()
                raise

    def _prepare(self, before_migration: Callable[[Path], None] | None) -> None:
        run = self.connection.execute
        empty = self.scalar("SELECT count(*) FROM sqlite_master") == 0
        if not empty:
            check_identity(self.connection, self.path)  # before anything that would write into a foreign file
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            run(f"PRAGMA {pragma}").fetchall()
        for pragma in ("trusted_schema=OFF", "temp_store=MEMORY", "cache_size=-65536", "journal_size_limit=67108864"):
            run(f"PRAGMA {pragma}").fetchall()
        if empty:
            with self.transaction():
                schema.create(self.connection)
            return
        version = self.scalar("PRAGMA user_version")
        if version < schema.VERSION:
            if before_migration:
                before_migration(self.path)
            schema.migrate(self.connection, version)
        if self.meta("clean") != 1:
            self._check_after_crash()
        self.set_meta("clean", 0)

    def _check_after_crash(self) -> None:
        found = self.connection.execute("PRAGMA quick_check(1)").fetchall()
        if found != [("ok",)]:
            raise apsw.CorruptError(str(found[0][0]))

    def scalar(self, sql: str, args: tuple[Any, ...] = ()) -> Any:
        """The first column of the first row; None when there is none."""
        row = self.connection.execute(sql, args).fetchone()
        return None if row is None else row[0]

    def rows(self, sql: str, args: tuple[Any, ...] = ()) -> list[Any]:
        """All rows; no cursor stays open."""
        return self.connection.execute(sql, args).fetchall()

    def meta(self, key: str) -> Any:
        """A value of the file's own settings; None when unset."""
        return self.scalar("SELECT value FROM meta WHERE key = ?", (key,))

    def set_meta(self, key: str, value: Any) -> None:
        """Store a value of the file's own settings."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """One write transaction: committed as a whole or rolled back as a whole."""
        with told(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def applied(self, request_id: str, action: str, kind: type[msgspec.Struct]) -> Any:
        """The stored reply of a write that was applied before; None when it was not.

        Raises:
            Fault: `conflict` when the id was used for another action.
        """
        row = self.connection.execute("SELECT action, reply FROM request WHERE id = ?", (request_id,)).fetchone()
        if row is None:
            return None
        if row[0] != action:
            raise Fault(
                "conflict",
                f"The request id {request_id!r} was used for {row[0]}.",
                next_action="Use a new request_id for a new write.",
            )
        return msgspec.msgpack.decode(row[1], type=kind)

    def remember(self, request_id: str, action: str, reply: msgspec.Struct, now_ns: int) -> None:
        """Store a write's reply in the write's own transaction, so that a retry is answered, not applied."""
        self.connection.execute(
            "INSERT INTO request VALUES (?, ?, ?, ?)", (request_id, action, msgspec.msgpack.encode(reply), now_ns)
        )
        self.connection.execute("DELETE FROM request WHERE applied_ns < ?", (now_ns - REQUESTS_KEPT_NS,))

    def checkpoint(self) -> None:
        """Move the log into the file and truncate it."""
        self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Mark the file as left in order, checkpoint and close."""
        with told(self.path):
            self.set_meta("clean", 1)
            self.checkpoint()
            self.connection.close()


def number(connection: apsw.Connection, sql: str) -> int:
    """The one whole number that a statement gives."""
    rows: list[Any] = connection.execute(sql).fetchall()
    return int(rows[0][0])


def check_identity(connection: apsw.Connection, path: Path) -> None:
    """Refuse files of other programs and of newer versions.

    Raises:
        Fault: `unavailable`, with the way out.
    """
    identity, version = (number(connection, f"PRAGMA {name}") for name in ("application_id", "user_version"))
    if identity != schema.APPLICATION_ID:
        raise Fault(
            "unavailable",
            f"{path} is a database of another program.",
            next_action="Set CHRYSALIS_DB to a path of its own.",
        )
    if version > schema.VERSION:
        raise Fault(
            "unavailable",
            f"{path} has schema {version}; this Chrysalis knows up to {schema.VERSION}.",
            next_action="Update Chrysalis, or set CHRYSALIS_DB to another file; this one is left as it is.",
        )
