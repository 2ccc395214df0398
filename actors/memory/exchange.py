"""Reading the store out page by page, as `memory.ingest` takes it in again."""

from typing import Any, Final

from protocol.actions.memory import Exported

from . import dates
from .substrate import Substrate

PAGE_BYTES: Final = 400_000


def export(store: Substrate, kind: str, after: int, limit: int) -> Exported:
    """One page of live facts or passages after an id, at most about PAGE_BYTES long."""
    return _facts(store, after, limit) if kind == "facts" else _passages(store, after, limit)


def _facts(store: Substrate, after: int, limit: int) -> Exported:
    rows = store.database.rows(
        "SELECT e.id, s.name, r.name, o.name, e.valid_from, e.valid_to, e.weight, "
        "(SELECT json_group_array(json_array(x.name, u.passage)) FROM support u JOIN source x ON x.id = u.source "
        "WHERE u.edge = e.id AND u.ended_ns IS NULL) "
        "FROM edge e JOIN node s ON s.id = e.subject JOIN relation r ON r.id = e.relation "
        "JOIN node o ON o.id = e.object WHERE e.id > ? AND e.invalidated_ns IS NULL ORDER BY e.id LIMIT ?",
        (after, limit + 1),
    )
    items: list[Any] = []
    for row in rows:
        item = {"id": row[0], "s": row[1], "r": row[2], "o": row[3], "support": row[7]}
        dated = {"valid_from": dates.show(row[4]), "valid_to": dates.last_day(row[5])}
        item |= {key: value for key, value in dated.items() if value}
        if row[6] != 1:
            item["weight"] = row[6]
        items.append(item)
    total = store.database.scalar("SELECT count(*) FROM edge WHERE invalidated_ns IS NULL")
    return _page(items, limit, total)


def _passages(store: Substrate, after: int, limit: int) -> Exported:
    rows = store.database.rows(
        "SELECT p.id, s.name, p.key, p.title, p.text FROM passage p JOIN source s ON s.id = p.source "
        "WHERE p.id > ? AND p.ended_ns IS NULL ORDER BY p.id LIMIT ?",
        (after, limit + 1),
    )
    items = [
        {"id": row[0], "source": row[1], "text": row[4]}
        | ({"key": row[2]} if row[2] else {})
        | ({"title": row[3]} if row[3] else {})
        for row in rows
    ]
    total = store.database.scalar("SELECT count(*) FROM passage WHERE ended_ns IS NULL")
    return _page(items, limit, total)


def _page(items: list[Any], limit: int, total: int) -> Exported:
    size, kept = 0, 0
    for item in items[:limit]:
        size += len(str(item))
        if kept and size > PAGE_BYTES:
            break
        kept += 1
    more = kept < len(items)
    return Exported(items=items[:kept], next=items[kept - 1]["id"] if more and kept else 0, total=total)
