"""`chrysalis client add NAME`: put our entry into an MCP client's configuration, and nothing else."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .clients import CLIENTS, NotJson, Place, entry, merged, read, with_member

SERVER = "chrysalis"


class Refused(Exception):  # noqa: N818
    """The file is left as it is; the message says why and what to do."""


def register(subparsers: Any) -> None:
    """Add `client` to the command line."""
    parser = subparsers.add_parser("client", help="set up an MCP client", description="Set up an MCP client.")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add = verbs.add_parser(
        "add",
        help="add this server to a client's configuration",
        description="Merge the entry into the client's file; other entries and comments stay, a backup is kept.",
    )
    add.add_argument("name", choices=sorted(CLIENTS), help="the client")
    add.add_argument("--print", action="store_true", dest="only_print", help="show the entry, change nothing")
    add.add_argument("--file", type=Path, help="another file than the client's usual one")
    add.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Add the entry, or show it; 0 when it is there afterwards, 1 when the file was refused."""
    place = CLIENTS[options.name]
    file: Path = options.file or place.file()
    new = entry(place.extra)
    if options.only_print:
        print(f"{file}:", file=sys.stderr)
        print(json.dumps({place.key: {SERVER: new}}, indent=2, ensure_ascii=False))
        return 0
    try:
        backup = add(file, place, new)
    except (Refused, OSError) as refused:
        print(f"{place.title}: {refused}", file=sys.stderr)
        return 1
    _tell(place, file, backup)
    return 0


def add(file: Path, place: Place, new: dict[str, Any]) -> Path | bool | None:
    """Merge the entry into the file.

    Returns:
        The backup of what was there; None when there was no file; False when nothing had to be changed.

    Raises:
        Refused: the file is not what it should be; it is untouched.
    """
    file = Path(os.path.realpath(file))  # a link into a dotfiles repository stays a link
    before = _text(file)
    text = before if before and before.strip() else "{}\n"
    try:
        servers = _servers(read(text), place.key)
        wanted = merged(servers.get(SERVER), new)
        if servers.get(SERVER) == wanted:
            return False
        after = with_member(text, (place.key, SERVER), wanted)
    except NotJson as error:
        raise Refused(f"{file} was left untouched: {error}. Mend it, or use --print and paste by hand.") from None
    assert _servers(read(after), place.key) == {**servers, SERVER: wanted}
    backup = _keep(file) if before is not None else None
    _write(file, after)
    return backup


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise Refused(f"{file} was left untouched: it is not UTF-8 ({error.reason} at byte {error.start}).") from None


def _servers(document: Any, key: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise NotJson("the document is not an object")
    servers = document.get(key, {})
    if not isinstance(servers, dict):
        raise NotJson(f"{key} is not an object")
    return servers


def _keep(file: Path) -> Path:
    """Copy the file beside itself under a name that says when; never over another backup."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    names = (f"{file.name}.{stamp}{'' if n == 0 else f'-{n}'}.bak" for n in range(1000))
    backup = next(path for path in map(file.with_name, names) if not path.exists())
    shutil.copy2(file, backup)
    return backup


def _write(file: Path, text: str) -> None:
    """Replace the file whole or not at all, keeping its mode."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        if file.exists():
            shutil.copymode(file, partial)
        Path(partial).replace(file)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _tell(place: Place, file: Path, backup: Path | bool | None) -> None:
    if backup is False:
        print(f"{place.title} has it already: {file}")
        return
    print(f"{place.title}: added to {file}")
    if isinstance(backup, Path):
        print(f"Backup: {backup}")
    print(place.then.format(file=file))
