"""Storing a plan: every row of one ingest inside the caller's transaction, and what the indexes must learn of it."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from .database import Database
from .graph import PASSAGE_LINK, vertex_of_node, vertex_of_passage
from .lexical import Lexical
from .parse import Plan, Triple, names
from .text import looks_foreign, named_spans, normal

Entry = tuple[int, int, float, int]
Key = tuple[int, int, int, int | None, int | None]
BATCH: Final = 20_000
TEXT_READ_CHARS: Final = 20_000
LANGUAGE_CHARS: Final = 500


class Written(Struct, kw_only=True):
    """What a write changed, for the indexes in memory, once the transaction is committed."""

    nodes: dict[int, str] = {}
    facts: dict[int, str] = {}
    passages: dict[int, str] = {}
    gone_nodes: list[int] = []
    gone_facts: list[int] = []
    gone_passages: list[int] = []
    foreign_facts: list[int] = []
    foreign_passages: list[int] = []
    entries: list[Entry] = []
    dated: bool = False
    stored: int = 0


class Writer:
    """Writes one plan; made anew for each, used inside one transaction."""

    def __init__(self, database: Database, facts: Lexical, passages: Lexical, now_ns: int) -> None:
        self._database = database
        self._run = database.connection.executemany
        self._facts, self._passages = facts, passages
        self._now = now_ns
        self.written = Written()

    def write(self, plan: Plan) -> Written:
        """Store everything in the plan."""
        source = self.source(plan.source)
        nodes = self._nodes(names(plan))
        relations = self._relations(plan.triples)
        passages = self._store_passages(source, plan)
        edges = self._edges(plan.triples, nodes, relations, source, passages)
        self._mention(plan, passages, nodes)
        self.written.stored = len(edges)
        return self.written

    def source(self, name: str) -> int:
        """The id of a source, made when new."""
        self._run("INSERT OR IGNORE INTO source (name, created_ns) VALUES (?, ?)", [(name, self._now)])
        return int(self._database.scalar("SELECT id FROM source WHERE name = ?", (name,)))

    def _known(self, table: str, norms: Iterable[str]) -> dict[str, int]:
        listed, found = list(norms), {}
        for start in range(0, len(listed), BATCH):
            text = json.dumps(listed[start : start + BATCH], ensure_ascii=False)
            found.update(
                self._database.rows(
                    f"SELECT norm, id FROM {table} WHERE norm IN (SELECT value FROM json_each(?))", (text,)
                )
            )
        return found

    def _next(self, table: str) -> int:
        return int(self._database.scalar("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)) or 0) + 1

    def _nodes(self, wanted: Mapping[str, str]) -> dict[str, int]:
        known = self._known("node", wanted)
        new = [norm for norm in wanted if norm not in known]
        ids = range(self._next("node"), self._next("node") + len(new))
        self._run(
            "INSERT INTO node (id, name, norm, created_ns) VALUES (?, ?, ?, ?)",
            ((id, wanted[norm], norm, self._now) for id, norm in zip(ids, new, strict=True)),
        )
        known.update(zip(new, ids, strict=True))
        self.written.nodes.update((id, wanted[norm]) for id, norm in zip(ids, new, strict=True))
        self._revive([known[norm] for norm in wanted], wanted, known)
        return known

    def _revive(self, ids: Sequence[int], wanted: Mapping[str, str], known: Mapping[str, int]) -> None:
        """Nodes whose every fact was forgotten lost their vectors; named again they need them again."""
        rows = self._database.rows(
            "SELECT id FROM node WHERE linked < 0 AND id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
        )
        back = {id for (id,) in rows}
        if back:
            self._run("UPDATE node SET linked = 0 WHERE id = ?", ((id,) for id in back))
            self.written.nodes.update((known[norm], name) for norm, name in wanted.items() if known[norm] in back)

    def _relations(self, triples: Sequence[Triple]) -> dict[str, int]:
        wanted: dict[str, str] = {}
        for triple in triples:
            wanted.setdefault(normal(triple.relation), triple.relation)
        known = self._known("relation", wanted)
        new = [(wanted[norm], norm) for norm in wanted if norm not in known]
        if new:
            self._run("INSERT INTO relation (name, norm) VALUES (?, ?)", new)
            known = self._known("relation", wanted)
        return known

    def _store_passages(self, source: int, plan: Plan) -> list[int]:
        ids: list[int] = []
        following = self._next("passage")
        for passage in plan.passages:
            digest = hashlib.sha256(passage.full.encode()).digest()[:16]
            known = self._database.scalar(
                "SELECT id FROM passage WHERE source = ? AND digest = ? AND ended_ns IS NULL", (source, digest)
            )
            if known is None:
                known, following = following, following + 1
                foreign = looks_foreign(passage.text[:LANGUAGE_CHARS])
                self.written.foreign_passages += [known] * foreign
                row = (known, source, passage.key, passage.title, passage.text, digest, self._now, foreign)
                self._run(
                    "INSERT INTO passage (id, source, key, title, text, digest, recorded_ns, foreign_text) "
                    "VALUES (?,?,?,?,?,?,?,?)",
                    [row],
                )
                self.written.passages[known] = passage.full
            ids.append(int(known))
        self._passages.add(list(self.written.passages.items()))
        return ids

    def _edges(
        self,
        triples: Sequence[Triple],
        nodes: Mapping[str, int],
        relations: Mapping[str, int],
        source: int,
        passages: Sequence[int],
    ) -> dict[Key, int]:
        keys: dict[Key, list[Triple]] = {}
        for triple in triples:
            subject, object_ = nodes[normal(triple.subject)], nodes[normal(triple.object)]
            key = (subject, relations[normal(triple.relation)], object_, triple.valid_from, triple.valid_to)
            keys.setdefault(key, []).append(triple)
        known = self._known_edges(keys)
        supported = self._supported(known.values(), source)
        following = self._next("edge")
        edges, supports, weights = [], [], []
        for key, told in keys.items():
            edge = known.get(key)
            by = {passages[t.passage] if t.passage >= 0 else 0 for t in told}
            fresh = by - supported.get(edge, set()) if edge else by
            weight = max(t.weight for t in told)
            if edge is None:
                edge, following = following, following + 1
                foreign = looks_foreign(told[0].text)
                edges.append((edge, *key[:3], weight, len(by), key[3], key[4], self._now, foreign))
                self.written.foreign_facts += [edge] * foreign
                self.written.facts[edge] = told[0].text
                known[key] = edge
            elif fresh:
                weights.append((len(fresh), edge))
            supports.extend((edge, source, passage, self._now) for passage in fresh)
            self._entry(key, weight * len(fresh), edge)
        self._insert_edges(edges, supports, weights)
        return known

    def _entry(self, key: Key, weight: float, edge: int) -> None:
        if key[3] is not None or key[4] is not None:
            self.written.dated = True
        elif weight:
            self.written.entries.append((vertex_of_node(key[0]), vertex_of_node(key[2]), weight, edge))

    def _insert_edges(self, edges: list[Any], supports: list[Any], weights: list[Any]) -> None:
        self._run(
            "INSERT INTO edge (id, subject, relation, object, weight, supports, valid_from, valid_to, recorded_ns, "
            "foreign_text) VALUES (?,?,?,?,?,?,?,?,?,?)",
            edges,
        )
        self._run(
            "INSERT INTO support (edge, source, passage, recorded_ns) VALUES (?,?,?,?) "
            "ON CONFLICT (edge, source, passage) DO UPDATE SET ended_ns = NULL, recorded_ns = excluded.recorded_ns",
            supports,
        )
        self._run("UPDATE edge SET supports = supports + ? WHERE id = ?", weights)
        self._facts.add(list(self.written.facts.items()))

    def _known_edges(self, keys: Iterable[Key]) -> dict[Key, int]:
        new = self.written.nodes
        listed = [key for key in keys if key[0] not in new and key[2] not in new]
        found: dict[Key, int] = {}
        for start in range(0, len(listed), BATCH):
            rows = self._database.rows(
                "SELECT e.subject, e.relation, e.object, e.valid_from, e.valid_to, e.id FROM json_each(?) j "
                "JOIN edge e ON e.subject = j.value->>0 AND e.relation = j.value->>1 AND e.object = j.value->>2 "
                "WHERE e.invalidated_ns IS NULL",
                (json.dumps([key[:3] for key in listed[start : start + BATCH]]),),
            )
            found.update((tuple(row[:5]), row[5]) for row in rows)
        return {key: found[key] for key in listed if key in found}

    def _supported(self, edges: Iterable[int], source: int) -> dict[int, set[int]]:
        rows = self._database.rows(
            "SELECT s.edge, s.passage FROM json_each(?) j JOIN support s ON s.edge = j.value "
            "WHERE s.source = ? AND s.ended_ns IS NULL",
            (json.dumps(list(edges)), source),
        )
        found: dict[int, set[int]] = {}
        for edge, passage in rows:
            found.setdefault(edge, set()).add(passage)
        return found

    def _mention(self, plan: Plan, passages: Sequence[int], nodes: Mapping[str, int]) -> None:
        """Link passages to the entities of their triples, and to known entities that their text names."""
        named: dict[int, set[int]] = {passage: set() for passage in passages}
        for triple in plan.triples:
            if triple.passage >= 0:
                named[passages[triple.passage]].update((nodes[normal(triple.subject)], nodes[normal(triple.object)]))
        for passage, text in zip(passages, plan.passages, strict=True):
            if not named[passage]:
                named[passage].update(self._known("node", named_spans(text.text[:TEXT_READ_CHARS])).values())
            if text.title:
                named[passage].add(nodes[normal(text.title)])
        pairs = [(passage, node) for passage, mentioned in named.items() for node in mentioned]
        already = set(
            self._database.rows(
                "SELECT passage, node FROM mention WHERE passage IN (SELECT value FROM json_each(?))",
                (json.dumps([p for p in passages if p not in self.written.passages]),),
            )
        )
        fresh = [pair for pair in pairs if pair not in already]
        self._run("INSERT OR IGNORE INTO mention VALUES (?, ?)", fresh)
        self.written.entries.extend((vertex_of_passage(p), vertex_of_node(n), 1.0, PASSAGE_LINK) for p, n in fresh)
