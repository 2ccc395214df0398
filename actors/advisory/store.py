"""advisory.db: profiles, calibrations under way, answered request ids and the outcome log, on SQLite.

One connection in one process, WAL with synchronous=FULL, an exclusive lock file beside the database. A write
and the id of the request that asked for it are one transaction, so that a retried request is answered, not redone.
"""

import fcntl
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw
import msgspec
from msgspec import Struct

from evidence.records import Model, ModelClass

APPLICATION_ID: Final = 0x43485259
SCHEMA_VERSION: Final = 1
LOCK_WAIT_S: Final = 10.0
APPLIED_MAX: Final = 10_000
SESSIONS_KEPT: Final = 5_000
LOG_MAX: Final = 20_000

_SCHEMA = """
CREATE TABLE facts(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions(session_id TEXT PRIMARY KEY, state BLOB NOT NULL, updated_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE calibrations(session_id TEXT PRIMARY KEY, state BLOB NOT NULL, updated_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE applied(request_id TEXT PRIMARY KEY, reply BLOB NOT NULL, at_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE advice(advice_id TEXT PRIMARY KEY, state BLOB NOT NULL, at_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX sessions_by_age ON sessions(updated_ns);
CREATE INDEX applied_by_age ON applied(at_ns);
CREATE INDEX advice_by_age ON advice(at_ns);
"""


class StoreError(Exception):
    """The database cannot be used; the message says why and what to do."""


class Measured(Struct, frozen=True, kw_only=True):
    """What a calibration found; `kind` counts until `expires_ns`."""

    kind: ModelClass
    confidence: float
    asked: int
    expires_ns: int


class SessionState(Struct, frozen=True, kw_only=True):
    """What one session told or showed of its model. `puzzles`, `hints`: can solve small ones, follows conditions."""

    declared: Model | None = None
    context: int = 0
    measured_context: int = 0
    client: str = ""
    measured: Measured | None = None
    puzzles: bool | None = None
    hints: bool | None = None


class Store:
    """The open database. Methods run in the actor's lane, never on its loop.

    Raises:
        StoreError: when another process holds it, or the file is not ours, newer, damaged or not writable.
    """

    def __init__(self, path: Path | None, *, lock_wait_s: float = LOCK_WAIT_S) -> None:
        self.kept = path is not None
        self._lock = _locked(path, lock_wait_s) if path else -1
        try:
            self._db = apsw.Connection(str(path) if path else ":memory:")
            self._open()
            self.secret = self.fact("secret") or self._new_secret()
        except (apsw.Error, OSError) as error:
            self._unlock()
            raise StoreError(f"{path}: {error}; move the file away to start anew.") from error
        except StoreError:
            self._unlock()
            raise

    def _open(self) -> None:
        run = self._db.execute
        self._db.set_busy_timeout(5_000)
        run("PRAGMA trusted_schema=OFF")
        application, version = run("PRAGMA application_id").get, run("PRAGMA user_version").get
        if application not in (0, APPLICATION_ID) or version > SCHEMA_VERSION:
            raise StoreError(f"{self._db.filename} is of another program or a newer version; move it away.")
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        if version == 0:
            with self._db:
                run(_SCHEMA)
                run(f"PRAGMA application_id={APPLICATION_ID}")
                run(f"PRAGMA user_version={SCHEMA_VERSION}")
        elif (found := run("PRAGMA quick_check(1)").get) != "ok":
            raise StoreError(f"{self._db.filename} is damaged: {found}; move it away.")

    def _new_secret(self) -> bytes:
        secret = secrets.token_bytes(32)
        self.set_fact("secret", secret)
        return secret

    def close(self) -> None:
        """Checkpoint, close and let go of the lock."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def fact(self, name: str) -> bytes | None:
        """One named value; None when it was never set."""
        return self._db.execute("SELECT value FROM facts WHERE name=?", (name,)).get

    def set_fact(self, name: str, value: bytes) -> None:
        """Set one named value."""
        self._db.execute("INSERT OR REPLACE INTO facts VALUES(?,?)", (name, value))

    def sessions(self) -> dict[str, SessionState]:
        """Every session kept, by its id."""
        rows: list[tuple[str, bytes]] = self._db.execute(
            "SELECT session_id, state FROM sessions ORDER BY updated_ns"
        ).fetchall()  # pyright: ignore[reportAssignmentType] - apsw knows no column types
        return {sid: msgspec.msgpack.decode(state, type=SessionState) for sid, state in rows}

    def calibration(self, session_id: str) -> bytes | None:
        """The calibration under way in a session."""
        return self._db.execute("SELECT state FROM calibrations WHERE session_id=?", (session_id,)).get

    def replay(self, request_id: str) -> bytes | None:
        """The reply that this request already got."""
        return self._db.execute("SELECT reply FROM applied WHERE request_id=?", (request_id,)).get

    def apply(
        self, request_id: str, reply: bytes, session_id: str, state: SessionState | None, calibration: bytes | None
    ) -> None:
        """Store what a request changed together with its reply: all of it or nothing.

        Args:
            request_id: of the request; never stored twice.
            reply: what it was answered.
            session_id: whose state it is.
            state: the session's new state; None = unchanged.
            calibration: the calibration under way; None = none any more.
        """
        now = time.time_ns()
        with self._db:
            run = self._db.execute
            if state is not None:
                run("INSERT OR REPLACE INTO sessions VALUES(?,?,?)", (session_id, msgspec.msgpack.encode(state), now))
            if calibration is None:
                run("DELETE FROM calibrations WHERE session_id=?", (session_id,))
            else:
                run("INSERT OR REPLACE INTO calibrations VALUES(?,?,?)", (session_id, calibration, now))
            run("INSERT INTO applied VALUES(?,?,?)", (request_id, reply, now))
            self._trim("applied", "at_ns", APPLIED_MAX)
            self._trim("sessions", "updated_ns", SESSIONS_KEPT)

    def log(self, rows: list[tuple[str, bytes]]) -> None:
        """Add or replace lines of the outcome log."""
        now = time.time_ns()
        with self._db:
            for advice_id, state in rows:
                self._db.execute("INSERT OR REPLACE INTO advice VALUES(?,?,?)", (advice_id, state, now))
            self._trim("advice", "at_ns", LOG_MAX)

    def logged(self) -> list[bytes]:
        """The outcome log, oldest first."""
        return [state for (state,) in self._db.execute("SELECT state FROM advice ORDER BY at_ns")]

    def _trim(self, table: str, age: str, most: int) -> None:
        count = self._db.execute(f"SELECT count(*) FROM {table}").get  # noqa: S608 - names of our own tables
        if count > most:
            oldest = f"SELECT {age} FROM {table} ORDER BY {age} LIMIT 1 OFFSET ?"  # noqa: S608
            self._db.execute(f"DELETE FROM {table} WHERE {age} <= ({oldest})", (count - most + most // 10,))  # noqa: S608


def _locked(path: Path, wait_s: float) -> int:
    """The descriptor of the exclusive lock beside the database; a killed predecessor may hold it for a moment."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}.") from error
    end = time.monotonic() + wait_s
    while not _try_lock(descriptor):
        if time.monotonic() >= end:
            os.close(descriptor)
            raise StoreError(f"{path} is held by another process; end it first.")
        time.sleep(0.05)
    return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_store(path: Path, say: Callable[[str], None], *, lock_wait_s: float = LOCK_WAIT_S) -> Store:
    """The store at `path`, or one in memory when it cannot be had; `say` is told why, since nothing is then kept."""
    try:
        return Store(path, lock_wait_s=lock_wait_s)
    except StoreError as error:
        say(f"Profiles and calibrations are not kept: {error}")
        return Store(None)
