"""Recall: seeds from search, a walk over the graph, and what the walk's mass says of nodes, facts and passages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from . import fact_order, fact_paths, pagerank, seeding
from .graph import SYNONYM_LINK, Graph, vertex_of_node, vertex_of_passage
from .seeding import Scored, Tuning
from .substrate import Substrate
from .text import content_words, spans, words
from .vectors import Floats, Ints
from .view import View

NEAR_MAX: Final = 400
NAME_WORDS_MAX: Final = 10
DOCUMENTS_MAX: Final = 400


class Question(Struct, frozen=True, kw_only=True):
    """A recall, decoded. `vector` searches (dimension,); `foreign` searches texts of other languages beside that."""

    text: str
    vector: Floats
    foreign: Floats | None = None
    max_facts: int = 1_000
    walk: bool = True
    as_of: int | None = None
    sources: tuple[str, ...] | None = None
    lifted: Mapping[int, float] = {}
    """Nodes that the query was taught to mean, with weights relative to the other seeds."""


class Found(Struct, frozen=True, kw_only=True):
    """Scores of what was found, best first, by id; `near`: vertices by mass; and how the walk went."""

    nodes: Scored
    facts: Scored
    passages: Scored
    seeds: Scored
    near: Sequence[int] = ()
    residual: float = 0.0
    complete: bool = True


class Recaller:
    """One recall over one view; used within the actor's lane."""

    def __init__(self, substrate: Substrate, question: Question, tuning: Tuning) -> None:
        self._substrate = substrate
        self._database = substrate.database
        self._question = question
        self._tuning = tuning
        self._view: View = substrate.view(question.as_of, question.sources)
        self._ends: dict[int, tuple[int, int]] = {}
        self._named: list[int] = []

    def run(self) -> Found:
        """Search, walk, rank."""
        facts = self._seed_facts()
        passages = self._seed_passages() if self._tuning.use_passages else []
        nodes = self._seed_nodes(facts)
        nodes = self._lift(nodes)
        if not self._question.walk:
            return self._without_walk(facts, passages, nodes)
        weights = {vertex_of_node(node): weight for node, weight in nodes.items()}
        seeded = seeding.passage_weights(passages, self._tuning)
        weights.update((vertex_of_passage(passage), weight) for passage, weight in seeded.items())
        if not weights:
            return self._without_walk(facts, passages, nodes)
        return self._walk(weights, nodes, facts)

    def _seed_facts(self) -> Scored:
        limit, question = self._tuning.candidates, self._question
        lexical = dict(self._substrate.facts.search(question.text, limit))
        shown = self._view.facts
        cosines = self._near("fact", limit, shown)
        if shown is not None:
            allowed = set(shown.tolist())
            lexical = {fact: score for fact, score in lexical.items() if fact in allowed}
            lexical.update(self._closed_facts())
        self._fill(cosines, lexical, "fact")
        fused = seeding.fuse(cosines, lexical, self._tuning.lexical_fact)
        return [(fact, score) for fact, score in fused if self._view.shows(fact)]

    def _near(self, kind: str, limit: int, shown: Ints | None) -> dict[int, float]:
        """The nearest of a kind with their cosines; texts of other languages by what they mean in any of them."""
        index, question = self._substrate.index(kind), self._question
        ids, scores = index.search(question.vector, limit, shown)
        cosines = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        others = self._substrate.foreign[kind]
        if question.foreign is not None and others:
            allowed = np.fromiter(others, np.int64, len(others))
            if shown is not None:
                allowed = np.intersect1d(allowed, shown)
            ids, scores = index.search(question.foreign, limit, allowed)
            for id, score in zip(ids.tolist(), scores.tolist(), strict=True):
                cosines[id] = max(score, cosines.get(id, -1.0))
        return cosines

    def _fill(self, cosines: dict[int, float], lexical: Mapping[int, float], kind: str) -> None:
        """Give what only the lexical search found its cosine (0 where it has no vector)."""
        alone = [id for id in lexical if id not in cosines]
        ids, vectors = self._substrate.index(kind).vectors(alone)
        cosines.update(dict.fromkeys(alone, 0.0))
        cosines.update(zip(ids.tolist(), (vectors @ self._question.vector).tolist(), strict=True))

    def _closed_facts(self) -> dict[int, float]:
        """Facts of the past that the indexes no longer hold, scored by the words shared with the question."""
        wanted = set(content_words(self._question.text))
        texts = self._texts(self._view.closed[:5_000].tolist())
        shared = {fact: len(wanted & set(words(text))) for fact, text in texts.items()}
        return {fact: float(count) for fact, count in shared.items() if count}

    def _texts(self, facts: Sequence[int]) -> dict[int, str]:
        return dict(
            self._database.rows(
                "SELECT e.id, s.name || ' ' || r.name || ' ' || o.name FROM edge e JOIN node s ON s.id = e.subject "
                "JOIN relation r ON r.id = e.relation JOIN node o ON o.id = e.object "
                "WHERE e.id IN (SELECT value FROM json_each(?))",
                (json.dumps(facts),),
            )
        )

    def _seed_passages(self) -> Scored:
        question, limit = self._question, self._tuning.passages
        lexical = dict(self._substrate.passages.search(question.text, limit))
        shown = self._view.passages
        cosines = self._near("passage", limit, shown)
        if shown is not None:
            allowed = set(shown.tolist())
            lexical = {passage: score for passage, score in lexical.items() if passage in allowed}
        self._fill(cosines, lexical, "passage")
        return seeding.fuse(cosines, lexical, self._tuning.lexical_passage)

    def _seed_nodes(self, facts: Scored) -> dict[int, float]:
        chosen = facts[: self._tuning.facts]
        self._ends.update(self._ends_of([fact for fact, _ in chosen]))
        exact = self._exact_names()
        self._named.extend(exact)
        nodes = {node for fact, _ in chosen for node in self._ends[fact]} | set(exact)
        return seeding.node_weights(chosen, self._ends, exact, self._documents(nodes), self._tuning)

    def _exact_names(self) -> dict[int, float]:
        """Nodes that the question names; a name inside a longer name that was found counts less."""
        forms = spans(self._question.text[:2_000], longest=NAME_WORDS_MAX)
        rows = self._database.rows(
            "SELECT norm, id FROM node WHERE linked >= 0 AND norm IN (SELECT value FROM json_each(?))",
            (json.dumps(forms, ensure_ascii=False),),
        )
        found = sorted(rows, key=lambda row: -len(row[0]))
        taken: list[str] = []
        exact: dict[int, float] = {}
        for norm, node in found:
            if not self._visible(node) or any(norm in longer for longer in taken):
                continue
            taken.append(norm)
            exact[node] = self._tuning.exact
        return exact

    def _visible(self, node: int) -> bool:
        return self._view.graph.degrees([vertex_of_node(node)])[0] > 0

    def _ends_of(self, facts: Sequence[int]) -> dict[int, tuple[int, int]]:
        rows = self._database.rows(
            "SELECT id, subject, object FROM edge WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(facts),)
        )
        return {fact: (subject, object_) for fact, subject, object_ in rows}

    def _documents(self, nodes: set[int]) -> dict[int, int]:
        """In how many documents (passages, else sources) each node is named; counted over its first facts."""
        sql = (
            "SELECT n.value, (SELECT count(*) FROM (SELECT DISTINCT s.source, s.passage FROM (SELECT id FROM edge "
            f"WHERE (subject = n.value OR object = n.value) AND invalidated_ns IS NULL LIMIT {DOCUMENTS_MAX}) e "
            "JOIN support s ON s.edge = e.id AND s.ended_ns IS NULL)) FROM json_each(?) n"
        )
        return dict(self._database.rows(sql, (json.dumps(list(nodes)),)))

    def _lift(self, nodes: dict[int, float]) -> dict[int, float]:
        total = sum(nodes.values()) or 1.0
        for node, weight in self._question.lifted.items():
            if self._visible(node):
                nodes[node] = nodes.get(node, 0.0) + weight * total
                self._named.append(node)
        return nodes

    def _without_walk(self, facts: Scored, passages: Scored, nodes: Mapping[int, float]) -> Found:
        best = sorted(nodes.items(), key=lambda item: (-item[1], item[0]))
        return Found(nodes=best, facts=facts, passages=passages, seeds=best)

    def _walk(self, weights: Mapping[int, float], nodes: Mapping[int, float], facts: Scored) -> Found:
        graph = self._view.graph if self._tuning.synonyms else self._view.graph.without(SYNONYM_LINK)
        graph.reserve(max(weights) + 1)
        seeds = np.array(list(weights), np.int64)
        walk = pagerank.push(
            graph,
            seeds,
            np.array(list(weights.values())),
            damping=self._tuning.damping,
            epsilon=self._tuning.epsilon,
        )
        order = np.lexsort((walk.vertices, -walk.mass))
        vertices, mass = walk.vertices[order], walk.mass[order]
        odd = vertices % 2 == 1
        near = list(zip((vertices[~odd] // 2).tolist(), mass[~odd].tolist(), strict=True))
        read = list(zip((vertices[odd] // 2).tolist(), mass[odd].tolist(), strict=True))
        return Found(
            nodes=near,
            facts=self._rank_facts(graph, walk, vertices[~odd], facts),
            passages=read,
            seeds=sorted(nodes.items(), key=lambda item: (-item[1], item[0])),
            near=vertices[:NEAR_MAX].tolist(),
            residual=walk.residual,
            complete=walk.complete,
        )

    def _rank_facts(self, graph: Graph, walk: pagerank.Walk, nodes: Ints, seeds: Scored) -> Scored:
        limit = self._question.max_facts
        taught = vertex_of_node(np.array(list(self._question.lifted), np.int64))
        asked, lead = fact_order.by_walk(
            graph, walk, nodes, seeds, self._ends, taught, self._cosines, self._tuning, limit
        )
        named = np.array(list(dict.fromkeys(self._named)), np.int64)
        known = fact_paths.Known(self._substrate.parts.of, self._cosines)
        paths = fact_paths.rank(graph, vertex_of_node(named), known, limit)
        return fact_order.in_turns(asked, lead, paths, limit)

    def _cosines(self, facts: Ints) -> Floats:
        """Cosine of each fact with the question; NaN where it has no vector, or the question none."""
        question = self._question.vector
        if not question.any():
            return np.full(len(facts), np.nan, np.float32)
        return self._substrate.index("fact").cosines(facts, question, np.nan)


def describe_nodes(substrate: Substrate, nodes: Sequence[int]) -> dict[int, str]:
    """Display names by id."""
    return dict(
        substrate.database.rows(
            "SELECT id, name FROM node WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(nodes)),)
        )
    )


def describe_facts(
    substrate: Substrate, facts: Sequence[int], as_of_ns: int | None = None
) -> dict[int, dict[str, Any]]:
    """Subject, relation, object, dates and sources by fact id."""
    listed = json.dumps(list(facts))
    rows = substrate.database.rows(
        "SELECT e.id, s.name, r.name, o.name, e.valid_from, e.valid_to FROM edge e JOIN node s ON s.id = e.subject "
        "JOIN relation r ON r.id = e.relation JOIN node o ON o.id = e.object "
        "WHERE e.id IN (SELECT value FROM json_each(?))",
        (listed,),
    )
    ended = "s.ended_ns IS NULL AND ? IS NULL" if as_of_ns is None else "coalesce(s.ended_ns, 9223372036854775807) > ?"
    told: dict[int, list[str]] = {}
    for fact, name in substrate.database.rows(
        "SELECT DISTINCT s.edge, o.name FROM support s JOIN source o ON o.id = s.source "
        f"WHERE s.edge IN (SELECT value FROM json_each(?)) AND {ended} ORDER BY s.edge, o.name",
        (listed, as_of_ns),
    ):
        told.setdefault(fact, []).append(name)
    names = ("id", "subject", "relation", "object", "valid_from", "valid_to")
    return {row[0]: {**dict(zip(names, row, strict=True)), "sources": told.get(row[0], [])} for row in rows}
