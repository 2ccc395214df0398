"""`chrysalis memory import|export|reindex|graph` and `chrysalis backup make|list|restore`."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from protocol.client import Client, NoDaemon

from . import autostart
from .memory_formats import BadLine, Item, read, write_fact, write_passage

LONG_MS: Final = 3_600_000
AWAY_MAX_S: Final = 20.0
"""A daemon that went away is waited for so long: with clients connected, the next one is there in two seconds."""
CHUNK_ITEMS: Final = 400
CHUNK_BYTES: Final = 300_000
AGAIN: Final = {
    "ingest": "Run the same command again: what was stored is kept, and nothing is stored twice.",
    "reindex": "Run the same command again: it goes on where it stopped.",
    "backup": "Run `chrysalis backup list`: only a whole, verified backup is there.",
    "restore": "Run `chrysalis backup list`: the state before is there when the backup was put back.",
    "export": "Run the same command again.",
    "graph": "Run the same command again.",
}
"""What to do when the daemon went away in the middle of an action."""
BAD_SHOWN: Final = 10
Envelope = dict[str, Any]


def register(subparsers: Any) -> None:
    """Add `memory` and `backup` to the command line."""
    memory = subparsers.add_parser("memory", help="bring facts in and out, look at them, embed them anew")
    verbs = memory.add_subparsers(dest="verb", metavar="VERB", required=True)
    load = _add(verbs, "import", "store the facts of a file", run_import)
    load.add_argument("file", help="JSON lines, N-Triples or the official memory server's JSONL; - is stdin")
    load.add_argument("--source", default="", help="name of the source (default: the file's name)")
    load.add_argument("--format", choices=("jsonl", "nt"), help="default: by the file's ending")
    save = _add(verbs, "export", "write every fact and passage to a file", run_export)
    save.add_argument("file", help="- is stdout")
    save.add_argument("--format", choices=("jsonl", "nt"), help="default: by the file's ending; nt has facts only")
    _add(verbs, "reindex", "embed everything anew with the embedder in force", run_reindex)
    draw = _add(verbs, "graph", "draw a neighbourhood or a recall as an HTML page", run_graph)
    draw.add_argument("node", nargs="?", help="an entity (default: the best connected)")
    draw.add_argument("--query", help="draw what this question recalls")
    draw.add_argument("--depth", type=int, default=2, help="steps around the entity (default: %(default)s)")
    draw.add_argument("--nodes", type=int, default=60, help="entities at most (default: %(default)s)")
    draw.add_argument("-o", "--output", default="memory.html", help="where to (default: %(default)s)")
    backup = subparsers.add_parser("backup", help="verified backups of the memory")
    verbs = backup.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add(verbs, "make", "take one now", run_make)
    _add(verbs, "list", "show them", run_list)
    restore = _add(verbs, "restore", "put one back; the present state is kept as another", run_restore)
    restore.add_argument("name", help="as `chrysalis backup list` shows it")


def _add(verbs: Any, name: str, text: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
    parser.add_argument("--json", action="store_true", help="the result as JSON, for machines")
    parser.set_defaults(run=run)
    return parser


def _connect() -> Client:
    """A client of the daemon, which is started when none runs, as a bridge does.

    Raises:
        NoDaemon: none could be started; says why.
    """
    try:
        autostart.ensure()
    except autostart.StartError as error:
        raise NoDaemon(str(error)) from error
    return Client(away_max_s=AWAY_MAX_S)


def _call(client: Client, action: str, params: dict[str, Any], **options: Any) -> Envelope:
    envelope = client.call("memory", action, params, verbosity="detail", deadline_ms=LONG_MS, **options)
    if client.away_too_long():
        text = "The daemon went away, and no other came."
        return {**envelope, "summary": text, "next_action": AGAIN[action]}
    return envelope


def _end(options: argparse.Namespace, body: Any, *, ok: bool, text: str) -> int:
    """Say how it ended; the exit code."""
    if options.json:
        print(json.dumps(body, ensure_ascii=False))
    else:
        Console(stderr=not ok, markup=False).print(text, highlight=False)
    return 0 if ok else 1


def _failed(options: argparse.Namespace, envelope: Envelope, before: str = "") -> int:
    text = f"{before}{envelope['summary']} {envelope.get('next_action') or ''}".strip()
    return _end(options, envelope, ok=False, text=text)


def _form(options: argparse.Namespace) -> str:
    return options.format or ("nt" if options.file.endswith(".nt") else "jsonl")


def run_import(options: argparse.Namespace) -> int:
    """Store a file chunk by chunk; stopped and run again, it stores nothing twice."""
    source = options.source or (Path(options.file).name if options.file != "-" else "stdin")
    if options.file == "-":
        lines: Sequence[str] = sys.stdin.readlines()
    else:
        lines = Path(options.file).read_text(encoding="utf-8-sig").splitlines()
    bad: list[BadLine] = []
    notes: list[str] = []
    total = {"lines": len(lines), "stored": 0, "new": 0, "passages": 0, "malformed": 0}
    with _connect() as client, Progress(disable=options.json, console=Console(stderr=True, markup=False)) as bar:
        task = bar.add_task("storing", total=len(lines))
        for params, seen in _chunks(lines, _form(options), source, bad):
            envelope = _call(client, "ingest", params)
            if envelope["status"] != "ok" and not (envelope["data"] or {}).get("faults"):
                bar.stop()
                return _failed(options, envelope, f"{total['stored']} of {len(lines)} lines are stored. ")
            notes = envelope.get("notes") or notes
            data: Envelope = envelope["data"] if envelope["status"] == "ok" else {}
            for key, field in (("stored", "stored"), ("new", "new_edges"), ("passages", "passages")):
                total[key] += data.get(field, 0)
            rejected = len(params["triples"]) + len(params["passages"])
            total["malformed"] += data.get("malformed", 0) if data else rejected
            bar.update(task, completed=seen)
        bar.update(task, completed=len(lines))
    body = {**total, "unreadable": len(bad), "bad": [{"line": b.number, "problem": b.problem} for b in bad[:BAD_SHOWN]]}
    text = f"Stored {total['stored']} facts ({_told(total)}) and {total['passages']} passages from {source}."
    for one in bad[:BAD_SHOWN]:
        text += f"\nline {one.number}: {one.problem}"
    if len(bad) > BAD_SHOWN or total["malformed"]:
        text += f"\n{len(bad)} lines unreadable, {total['malformed']} items malformed; the rest is stored."
    text += "".join(f"\n{note}." for note in notes)
    return _end(options, body, ok=True, text=text)


def _told(total: dict[str, int]) -> str:
    known = total["stored"] - total["new"]
    return f"{total['new']} new, {known} were there already" if known else f"{total['new']} new"


def _chunks(lines: Sequence[str], form: str, source: str, bad: list[BadLine]) -> Iterator[tuple[dict[str, Any], int]]:
    """Params of one ingest after another, each of one source and of bounded size, with the lines read so far."""
    held: dict[str, list[Item]] = {}
    size = 0
    seen = 0
    for item in read(lines, form):
        if isinstance(item, BadLine):
            bad.append(item)
            continue
        seen += 1
        held.setdefault(item.source or source, []).append(item)
        size += len(str(item.triple or item.passage))
        if size > CHUNK_BYTES or sum(map(len, held.values())) >= CHUNK_ITEMS:
            yield from ((_params(name, items), min(seen, len(lines))) for name, items in held.items())
            held, size = {}, 0
    yield from ((_params(name, items), len(lines)) for name, items in held.items())


def _params(source: str, items: Sequence[Item]) -> dict[str, Any]:
    return {
        "source": source,
        "triples": [item.triple for item in items if item.triple is not None],
        "passages": [item.passage for item in items if item.passage is not None],
    }


def run_export(options: argparse.Namespace) -> int:
    """Write every live fact, and in JSON lines every passage too."""
    form = _form(options)
    counts = {"facts": 0, "passages": 0}
    target = sys.stdout if options.file == "-" else Path(options.file).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        with _connect() as client, Progress(disable=options.json, console=Console(stderr=True, markup=False)) as bar:
            for kind in ("facts",) if form == "nt" else ("facts", "passages"):
                task = bar.add_task(kind, total=None)
                for page in _pages(client, kind):
                    if page.get("status") == "error":
                        return _failed(options, page)
                    for item in page["items"]:
                        rows = write_fact(item, form) if kind == "facts" else [write_passage(item)]
                        target.writelines(f"{row}\n" for row in rows)
                    counts[kind] += len(page["items"])
                    bar.update(task, completed=counts[kind], total=page["total"])
    finally:
        if target is not sys.stdout:
            target.close()
    if options.file == "-":
        return 0
    text = f"Wrote {counts['facts']} facts and {counts['passages']} passages to {options.file}."
    return _end(options, counts, ok=True, text=text)


def _pages(client: Client, kind: str) -> Iterator[Envelope]:
    after = 0
    while True:
        envelope = _call(client, "export", {"kind": kind, "after": after, "limit": CHUNK_ITEMS})
        if envelope["status"] != "ok":
            yield envelope
            return
        yield envelope["data"]
        after = envelope["data"]["next"]
        if not after:
            return


def run_reindex(options: argparse.Namespace) -> int:
    """Embed everything anew, with progress; stopped, the daemon goes on by itself."""
    with _connect() as client, Progress(disable=options.json, console=Console(stderr=True, markup=False)) as bar:
        task = bar.add_task("embedding", total=None)

        def take(step: Any) -> None:
            bar.update(task, completed=step.done, total=step.total)

        envelope = _call(client, "reindex", {}, on_progress=take)
    if envelope["status"] != "ok":
        return _failed(options, envelope)
    text = f"{envelope['summary']} {envelope.get('next_action') or ''}".strip()
    return _end(options, envelope["data"], ok=True, text=text)


def run_graph(options: argparse.Namespace) -> int:
    """Write the page."""
    params = {"node": options.node, "query": options.query, "depth": options.depth, "max_nodes": options.nodes}
    with _connect() as client:
        envelope = _call(client, "graph", {key: value for key, value in params.items() if value is not None})
    if envelope["status"] != "ok":
        return _failed(options, envelope)
    path = Path(options.output)
    path.write_text(envelope["data"]["html"], encoding="utf-8")
    body = {"file": str(path), "nodes": envelope["data"]["nodes"], "edges": envelope["data"]["edges"]}
    return _end(options, body, ok=True, text=f"{envelope['summary']} {path}")


def run_make(options: argparse.Namespace) -> int:
    """Take a backup now."""
    with _connect() as client:
        envelope = _call(client, "backup", {})
    if envelope["status"] != "ok":
        return _failed(options, envelope)
    return _end(options, envelope["data"], ok=True, text=envelope["summary"])


def run_list(options: argparse.Namespace) -> int:
    """Show the backups, newest first."""
    with _connect() as client:
        envelope = _call(client, "restore", {})
    if envelope["status"] != "ok":
        return _failed(options, envelope)
    backups = envelope["data"]["backups"]
    if options.json:
        print(json.dumps(backups, ensure_ascii=False))
        return 0
    table = Table(box=None)
    for heading in ("name", "made", "reason", "facts", "MiB"):
        table.add_column(heading, justify="right" if heading in {"facts", "MiB"} else "left", no_wrap=True)
    for one in backups:
        table.add_row(one["name"], one["made"], one["reason"], str(one["edges"]), f"{one['size_bytes'] / 2**20:.1f}")
    none = "There are no backups yet: `chrysalis backup make` takes one; forget and consolidate do so before they act."
    Console(markup=False).print(table if backups else none)
    return 0


def run_restore(options: argparse.Namespace) -> int:
    """Put one back, with clients connected."""
    with _connect() as client:
        envelope = _call(client, "restore", {"name": options.name})
    if envelope["status"] != "ok":
        return _failed(options, envelope)
    text = f"{envelope['summary']} {envelope.get('next_action') or ''}".strip()
    return _end(options, envelope["data"], ok=True, text=text)
