"""The files of `chrysalis memory import` and `export`: JSON lines, N-Triples, the official memory server's."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, unquote

from msgspec import Struct

PREFIX: Final = "urn:chrysalis:"
OBSERVED: Final = "has observation"
KIND_OF: Final = "is a"
_TERM: Final = r'(?:<([^<>\s]*)>|_:(\S+)|"((?:[^"\\]|\\.)*)"(?:@[\w-]+|\^\^<[^<>\s]*>)?)'
_STATEMENT: Final = re.compile(rf"\s*{_TERM}\s+{_TERM}\s+{_TERM}\s*\.\s*(?:#.*)?")


class Item(Struct, frozen=True, kw_only=True):
    """One thing to store: a triple as `memory.ingest` takes it, or a passage; from where, when the file says so."""

    triple: dict[str, Any] | None = None
    passage: dict[str, Any] | None = None
    source: str | None = None


class BadLine(Struct, frozen=True):
    """A line that could not be read."""

    number: int
    problem: str


def read(lines: Iterable[str], form: str) -> Iterator[Item | BadLine]:
    """Every item of a file, bad lines among them in place.

    Args:
        lines: with or without line ends; a byte order mark and CRLF are taken off.
        form: jsonl (ours and the official memory server's alike) or nt.
    """
    for number, raw in enumerate(lines, 1):
        line = raw.removeprefix("\ufeff").strip()
        if not line or (form == "nt" and line.startswith("#")):
            continue
        try:
            yield from _statement(line) if form == "nt" else _object(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            yield BadLine(number, str(error) or type(error).__name__)


def _statement(line: str) -> Iterator[Item]:
    match = _STATEMENT.fullmatch(line)
    if match is None:
        raise ValueError("is no N-Triples statement")
    names = [_name(match.groups()[at : at + 3]) for at in (0, 3, 6)]
    yield Item(triple=dict(zip("sro", names, strict=True)))


def _name(term: Any) -> str:
    iri, blank, literal = term
    if literal is not None:
        return str(json.loads(f'"{literal}"'))
    if blank is not None:
        return f"_:{blank}"
    if iri.startswith(PREFIX):
        return unquote(iri.removeprefix(PREFIX))
    return unquote(re.split(r"[/#]", iri.rstrip("/#"))[-1]).replace("_", " ") or iri


def _object(line: str) -> Iterator[Item]:
    row = json.loads(line)
    match row.get("type"):
        case "entity":
            name = row["name"]
            if row.get("entityType"):
                yield Item(triple={"s": name, "r": KIND_OF, "o": row["entityType"]})
            for observation in row.get("observations", []):
                yield Item(triple={"s": name, "r": OBSERVED, "o": observation})
        case "relation":
            yield Item(triple={"s": row["from"], "r": row["relationType"], "o": row["to"]})
        case _ if "text" in row:
            passage = {"text": row["text"], "title": row.get("title"), "id": row.get("key")}
            yield Item(passage={key: value for key, value in passage.items() if value}, source=row.get("source"))
        case _:
            keys = ("s", "r", "o", "valid_from", "valid_to", "weight")
            triple = {key: row[key] for key in keys if key in row}
            if len(triple.keys() & set("sro")) != len("sro"):
                raise ValueError("has neither s, r and o nor text")
            yield Item(triple=triple, source=row.get("source"))


def write_fact(item: dict[str, Any], form: str) -> Iterator[str]:
    """An exported fact as lines, one for each source."""
    if form == "nt":
        yield f"{_iri(item['s'])} {_iri(item['r'])} {_iri(item['o'])} ."
        return
    body = {key: item[key] for key in ("s", "r", "o", "valid_from", "valid_to", "weight") if key in item}
    for source in dict.fromkeys(source for source, _ in json.loads(item["support"])):
        yield json.dumps({**body, "source": source}, ensure_ascii=False)


def write_passage(item: dict[str, Any]) -> str:
    """An exported passage as a line."""
    return json.dumps({key: value for key, value in item.items() if key != "id"}, ensure_ascii=False)


def _iri(name: str) -> str:
    return f"<{PREFIX}{quote(name, safe='')}>"
