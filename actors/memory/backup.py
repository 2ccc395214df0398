"""Backups: made with VACUUM INTO, verified before they count, rotated, and put back in one atomic step."""

import contextlib
import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from protocol.actions.memory import Backup
from protocol.errors import Fault

from .database import check_identity, number, told

KEPT: Final = 10
SUFFIX: Final = ".db"
COUNTED: Final = ("node", "edge", "support", "passage", "association", "example")


class Backups:
    """The backups beside one database."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.folder = database.with_name(database.name + ".backups")

    def listed(self) -> list[Backup]:
        """Every backup with a manifest, newest first."""
        found: list[Backup] = []
        for path in self.folder.glob(f"*{SUFFIX}.json"):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                backup = msgspec.json.decode(path.read_bytes(), type=Backup)
                if (self.folder / backup.name).exists():
                    found.append(backup)
        return sorted(found, key=lambda backup: backup.name, reverse=True)

    def make(self, connection: apsw.Connection, reason: str) -> Backup:
        """Take a verified backup of an open database.

        Raises:
            Fault: it could not be written or is not as it must be; the database is untouched.
        """
        with told(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            name = self._name(reason)
            partial = self.folder / f"{name}.partial"
            for leftover in self.folder.glob("*.partial*"):
                leftover.unlink()
            try:
                connection.execute("VACUUM INTO ?", (str(partial),))
                backup = self._verified(partial, name, reason, fingerprint(connection))
                _sync(partial)
                _write(self.folder / f"{name}.json", msgspec.json.encode(backup))
                partial.rename(self.folder / name)
                _sync(self.folder)
            except OSError as error:
                partial.unlink(missing_ok=True)
                raise _full(error) from error
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
            self._rotate()
            return backup

    def _name(self, reason: str) -> str:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time_ns() // 1_000_000_000))
        name = f"{stamp}-{reason}{SUFFIX}"
        number = 2
        while (self.folder / name).exists():
            name = f"{stamp}-{reason}-{number}{SUFFIX}"
            number += 1
        return name

    def _verified(self, path: Path, name: str, reason: str, expected: str) -> Backup:
        with contextlib.closing(read_only(path)) as copy:
            check(copy, path)
            if fingerprint(copy) != expected:
                text = f"The backup {name} does not hold what the database holds."
                raise Fault("internal", text, next_action="Check the disk; the database was left untouched.")
            counts = _counts(copy)
            version = number(copy, "PRAGMA user_version")
        return Backup(
            name=name,
            made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time_ns() // 1_000_000_000)),
            reason=reason,
            size_bytes=path.stat().st_size,
            nodes=counts["node"],
            edges=counts["edge"],
            sha256=_sha256(path),
            schema=version,
        )

    def _rotate(self) -> None:
        """Keep the newest ones; called only after a new one was verified."""
        for backup in self.listed()[KEPT:]:
            (self.folder / backup.name).unlink(missing_ok=True)
            (self.folder / f"{backup.name}.json").unlink(missing_ok=True)

    def find(self, name: str) -> Backup:
        """A backup by name, its file checked against its manifest.

        Raises:
            Fault: `not_found`, or `conflict` when the file was changed or damaged.
        """
        listed = self.listed()
        found = next((backup for backup in listed if backup.name == name), None)
        if found is None:
            names = ", ".join(backup.name for backup in listed[:5]) or "none"
            raise Fault("not_found", f"There is no backup {name!r}.", next_action=f"Choose one of: {names}.")
        path = self.folder / found.name
        if _sha256(path) != found.sha256:
            text = f"The backup {name} is not as it was made: its content hash differs."
            raise Fault("conflict", text, next_action="Restore another backup.")
        with contextlib.closing(read_only(path)) as copy:
            check_identity(copy, path)
            check(copy, path)
        return found

    def put_back(self, backup: Backup) -> None:
        """Replace the closed database by a backup, in steps of which each leaves a whole database behind.

        The copy is written and synced beside it; what the log still held is gone before the one rename that
        counts, since a stale log would be replayed into the restored file.
        """
        target = self.database
        partial = target.with_name(target.name + ".restoring")
        try:
            shutil.copyfile(self.folder / backup.name, partial)
            partial.chmod(0o600)
            _sync(partial)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise _full(error) from error
        for ending in ("-wal", "-shm", "-journal"):
            target.with_name(target.name + ending).unlink(missing_ok=True)
        _sync(target.parent)
        partial.rename(target)
        _sync(target.parent)

    def set_aside(self) -> str:
        """Keep a damaged database and its log under another name, without ever leaving the path empty."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time_ns() // 1_000_000_000))
        name = f"{self.database.name}.damaged-{stamp}"
        for ending in ("", "-wal"):
            path = self.database.with_name(self.database.name + ending)
            if path.exists():
                shutil.copyfile(path, self.database.with_name(name + ending))
        return name


def read_only(path: Path) -> apsw.Connection:
    """A file opened so that nothing is written beside it, also in a folder that cannot be written."""
    uri = f"file:{str(path).replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?immutable=1"
    return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def check(connection: apsw.Connection, path: Path) -> None:
    """SQLite's own integrity check.

    Raises:
        Fault: with the first thing found.
    """
    with told(path):
        found = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if found != [("ok",)]:
        raise Fault("conflict", f"{path.name} is damaged: {found[0][0]}.", next_action="Use another backup.")


def fingerprint(connection: apsw.Connection) -> str:
    """A hash over counts and content of what matters: names, facts, support, passages, what was taught."""
    digest = hashlib.sha256(json.dumps(_counts(connection)).encode())
    for sql in (
        "SELECT id, norm FROM node ORDER BY id",
        "SELECT id, subject, relation, object, supports, invalidated_ns FROM edge ORDER BY id",
        "SELECT node, cell, weight FROM association ORDER BY node, cell",
        "SELECT id, digest, ended_ns FROM passage ORDER BY id",
    ):
        for row in connection.execute(sql):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _counts(connection: apsw.Connection) -> dict[str, int]:
    return {table: number(connection, f"SELECT count(*) FROM {table}") for table in COUNTED}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write(path: Path, body: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(body)
    _sync(partial)
    partial.rename(path)


def _full(error: Any) -> Fault:
    return Fault(
        "unavailable",
        f"The backup could not be written ({error}).",
        next_action="Free some disk space; nothing was changed.",
    )
